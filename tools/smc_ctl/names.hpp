// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "netlink.hpp"

#include <net/if.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

namespace smc_ctl {

// The types that printf() has letters for.
[[nodiscard]] inline unsigned number32(const Attributes &attributes, int type)
{
	return static_cast<unsigned>(attributes.number(type));
}

[[nodiscard]] inline unsigned long long number64(const Attributes &attributes, int type)
{
	return attributes.number(type);
}

// What the kernel makes of EIDs and PNET IDs.
[[nodiscard]] inline std::string upper(std::string text)
{
	std::transform(text.begin(), text.end(), text.begin(),
		       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
	return text;
}

// "-" if it is empty.
[[nodiscard]] inline std::string netdev_name(unsigned ifindex)
{
	char name[IF_NAMESIZE];
	if (ifindex == 0)
		return "-";
	return if_indextoname(ifindex, name) ? name : "#" + std::to_string(ifindex);
}

} // namespace smc_ctl
