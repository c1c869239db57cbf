// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace smc_ctl {
namespace {

Family pnet_family()
{
	return {SMC_NL_PNET_FAMILY, SMC_NL_PNET_VERSION};
}

std::string upper(std::string text)
{
	std::transform(text.begin(), text.end(), text.begin(),
		       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
	return text;
}

std::string device_of(const Attributes &entry)
{
	// The number of an entry without an RDMA device.
	constexpr std::uint64_t kNoPort = 0xff;

	const std::uint64_t port = entry.number(SMC_NL_PNET_A_IB_PORT);
	if (port == kNoPort)
		return "netdev " + entry.text(SMC_NL_PNET_A_ETH);
	return "rdma " + entry.text(SMC_NL_PNET_A_IB) + " port " + std::to_string(port);
}

} // namespace

void pnet_add(const std::string &id, const PnetDevice &device)
{
	pnet_family().request(SMC_NL_PNET_ADD, [&](nl_msg &message) {
		put_text(message, SMC_NL_PNET_A_NAME, id);
		if (!device.eth.empty())
			put_text(message, SMC_NL_PNET_A_ETH, device.eth);
		if (!device.ib.empty()) {
			put_text(message, SMC_NL_PNET_A_IB, device.ib);
			put_u8(message, SMC_NL_PNET_A_IB_PORT, device.ib_port);
		}
	});
}

void pnet_del(const std::string &id)
{
	pnet_family().request(SMC_NL_PNET_DEL, [&](nl_msg &message) {
		put_text(message, SMC_NL_PNET_A_NAME, upper(id));
	});
}

void pnet_flush()
{
	pnet_family().request(SMC_NL_PNET_FLUSH);
}

void pnet_show(const std::string &id)
{
	pnet_family().dump(SMC_NL_PNET_GET, [&](std::uint8_t, const Attributes &entry) {
		const std::string name = entry.text(SMC_NL_PNET_A_NAME);
		if (id.empty() || name == upper(id))
			std::printf("%-16s %s\n", name.c_str(), device_of(entry).c_str());
	});
}

} // namespace smc_ctl
