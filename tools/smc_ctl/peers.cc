// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "names.hpp"
#include "netlink.hpp"
#include "peers_family.hpp"

#include <smc/genl.h>

#include <cstdio>

namespace smc_ctl {
namespace {

constexpr unsigned long long kMsPerSecond = 1000;

std::string endpoint_of(const Attributes &peer)
{
	std::string address = text_of(peer_address(peer));
	const unsigned scope = number32(peer, SMC_NL_PEER_A_SCOPE_ID);

	if (scope != 0)
		address += "%" + netdev_name(scope);
	if (address.find(':') != std::string::npos)
		address = "[" + address + "]";
	return address + ":" + std::to_string(peer.number(SMC_NL_PEER_A_PORT));
}

} // namespace

std::vector<PeerInfo> peers()
{
	std::vector<PeerInfo> found;

	peers_family().dump(SMC_NL_PEERS_GET, [&](std::uint8_t, const Attributes &peer) {
		found.push_back({.smc = peer.number(SMC_NL_PEER_A_IS_SERVER) != 0,
				 .endpoint = endpoint_of(peer),
				 .rest_s = number64(peer, SMC_NL_PEER_A_REST_MS) / kMsPerSecond});
	});
	return found;
}

void peers_show(bool json)
{
	Json rows = Json::array();

	for (const PeerInfo &peer : peers()) {
		if (json)
			rows.push_back({{"smc", peer.smc},
					{"endpoint", peer.endpoint},
					{"rest_s", peer.rest_s}});
		else
			std::printf("%-8s %s for %llu s\n", peer.smc ? "smc" : "plain",
				    peer.endpoint.c_str(), peer.rest_s);
	}
	if (json)
		print(rows);
}

void peers_flush()
{
	peers_family().request(SMC_NL_PEERS_FLUSH);
}

} // namespace smc_ctl
