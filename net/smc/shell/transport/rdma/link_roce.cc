// SPDX-License-Identifier: GPL-2.0-only
//
// Link and what RoCE needs until it is ready: the way to the peer's GID, and the states of the
// queue pair.
#include <algorithm>

#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

namespace {

constexpr u32 kNeighbourLimit_ms = 1000;
constexpr u8 kHopLimitDirect = 1;
constexpr u8 kHopLimitGateway = 64;

// Where packets for the peer go next. The peer names its GID, and may name one after the other that
// nobody has, each of which would take a worker's time: so only a gateway is waited for, whose MAC
// is known where TCP has used it. A peer without one says its MAC itself.
std::optional<wire::Mac> next_hop(const Port &port, const group::LinkIdentity &peer, bool direct)
{
	const auto address = wire::ipv4_from_gid(peer.gid);
	bool uses_gateway;
	smc_ib_route route;
	wire::Mac mac;

	if (direct)
		return peer.mac;
	if (!address || smc_ib_route_lookup(port.device.get(), port.number, &port.gid,
					    address->data(), &uses_gateway) != 0)
		return std::nullopt;
	if (!uses_gateway)
		return peer.mac;
	if (smc_ib_route_resolve(port.device.get(), port.number, &port.gid, address->data(),
				 kNeighbourLimit_ms, &route) != 0)
		return std::nullopt;
	std::copy_n(route.next_hop_mac, mac.bytes.size(), mac.bytes.begin());
	return mac;
}

} // namespace

group::LinkIdentity Link::identity(const shell::Mutex &setup) const
{
	const smc_ib_link *queue_pair = handle(setup);

	if (counts_)
		return identity_of_iwarp(queue_pair);
	return {port_.wire_mac(), port_.wire_gid(),
		wire::Qpn{queue_pair != nullptr ? smc_ib_link_qpn(queue_pair) : 0}};
}

Result<void, wire::DeclineReason> Link::meet(const group::LinkEnd &peer, bool direct, Ready ready,
					     shell::Mutex &setup) const
{
	Port from;
	{
		shell::Guard guard(setup);
		from = port(setup);
	}
	if (from.device.iwarp()) {
		shell::Guard guard(setup);
		return meet_by_manager(peer, ready, setup);
	}
	const auto mac = next_hop(from, peer.identity, direct);

	if (!mac)
		return fail(wire::DeclineReason::kNoRoute);
	smc_ib_path path{};
	path.gid = from.gid;
	std::ranges::copy(peer.identity.gid.bytes, path.peer_gid);
	std::ranges::copy(mac->bytes, path.peer_mac);
	path.peer_qpn = peer.identity.qpn.value();
	path.peer_psn = peer.psn.value();
	path.mtu_code = peer.mtu.code();
	path.hop_limit = direct ? kHopLimitDirect : kHopLimitGateway;

	shell::Guard guard(setup);
	smc_ib_link *queue_pair = handle(setup);
	if (queue_pair == nullptr || smc_ib_link_to_rtr(queue_pair, &path) != 0 ||
	    (ready == Ready::kToSend && !open(setup)))
		return fail(wire::DeclineReason::kErrRdyLnk);
	return {};
}

bool Link::open(const shell::Mutex &setup) const
{
	smc_ib_link *queue_pair = handle(setup);

	if (queue_pair != nullptr && counts_)
		return has_met();
	return queue_pair != nullptr && smc_ib_link_to_rts(queue_pair, psn_.value()) == 0;
}

} // namespace smc::transport::rdma
