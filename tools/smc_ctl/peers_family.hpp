// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "address.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <algorithm>

namespace smc_ctl {

// Which the kernel's own module does not have.
[[nodiscard]] inline Family peers_family()
{
	return {SMC_NL_PEERS_FAMILY, SMC_NL_PEERS_VERSION};
}

// Of a peer, or of a rule.
[[nodiscard]] inline Address peer_address(const Attributes &attributes)
{
	Address address{};

	if (const void *bytes = attributes.data(SMC_NL_PEER_A_ADDRESS, address.size()))
		std::copy_n(static_cast<const std::uint8_t *>(bytes), address.size(),
			    address.begin());
	return address;
}

} // namespace smc_ctl
