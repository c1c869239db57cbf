// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/rdma_transport.hpp"

#include <algorithm>

#include "kernel/abi/pernet.h"
#include "shell/control/eid.hpp"
#include "shell/control/port_pnet.hpp"
#include "shell/transport/rdma/group_table.hpp"
#include "shell/transport/rdma/port_memory.hpp"
#include "shell/transport/rdma/port_search.hpp"
#include "shell/transport/rdma_choice.hpp"

namespace smc::transport::rdma {

namespace {

// Two, if a second port could take over, be it that one of them is away for the moment: the group
// lives longer than that.
u8 links_offered(net *netns, const Port &port)
{
	return smc_sysctl_smcr_max_links_per_lgr(netns) > 1 &&
			       control::pnet_of_port(port.device, port.number)
		       ? 2
		       : 1;
}

// Version 2 of SMC-R needs one that both ends have.
void add_eids(net *net, handshake::LocalOffer &offer)
{
	for (const control::Eid &known : control::eids_of(net)) {
		wire::Eid eid;
		std::copy(known.begin(), known.end(), eid.bytes.begin());
		if (!offer.eids.push_back(eid))
			break;
	}
}

// A client says so only where it has nothing else. A server waits for what the Proposal says.
void offer_iwarp(const Seeker &seeker, handshake::LocalOffer &offer)
{
	if (offer.eids.empty() || (!seeker.server && offer.any_smcr()))
		return;
	const auto port = find_port(seeker.netns, *seeker.path, SMC_IB_GID_IWARP);

	if (!port)
		return;
	offer.iwarp = true;
	offer.capabilities |= wire::capability::kIwarp;
	if (offer.smcr_v1 || offer.smcr_v2)
		return;
	offer.v2_gid = port->wire_gid();
	offer.v2_mac = port->wire_mac();
	offer.max_links = links_offered(seeker.netns, *port);
	offer.peer_id = group_table().own_peer_id(seeker.netns, offer.v2_mac);
}

} // namespace

bool RdmaTransport::set_up()
{
	return set_up_port_memory() && set_up_group_table();
}

void RdmaTransport::tear_down()
{
	tear_down_group_table();
	tear_down_port_memory();
}

void RdmaTransport::begin_to_leave(net *net)
{
	begin_end_of_groups_of(net);
}

void RdmaTransport::leave(net *net)
{
	end_groups_of(net);
}

void RdmaTransport::offer(const Seeker &seeker, handshake::LocalOffer &offer)
{
	if (!smc_ib_device_any())
		return;
	add_eids(seeker.netns, offer);
	offer.max_conns = static_cast<u8>(smc_sysctl_smcr_max_conns_per_lgr(seeker.netns));
	if (smc_sysctl_smcr_compact(seeker.netns))
		offer.capabilities |= wire::capability::kCompactMessages;
	if (smc_sysctl_smcr_growing_rings(seeker.netns))
		offer.capabilities |= wire::capability::kGrowingRings;
	if (smc_sysctl_end_by_reset(seeker.netns))
		offer.capabilities |= wire::capability::kEndByReset;
	if (!offer.eids.empty()) {
		if (const auto port = find_port(seeker.netns, *seeker.path, SMC_IB_GID_ROCE_V2)) {
			offer.smcr_v2 = true;
			offer.v2_gid = port->wire_gid();
			offer.v2_mac = port->wire_mac();
			offer.max_links = links_offered(seeker.netns, *port);
		}
	}
	if (const auto port = find_port(seeker.netns, *seeker.path, SMC_IB_GID_ROCE_V1)) {
		offer.smcr_v1 = true;
		offer.v1_gid = port->wire_gid();
		offer.v1_mac = port->wire_mac();
	}
	if (offer.any_smcr())
		offer.peer_id = group_table().own_peer_id(
			seeker.netns, offer.smcr_v2 ? offer.v2_mac : offer.v1_mac);
	offer_iwarp(seeker, offer);
}

bool RdmaTransport::acquires(const handshake::Effect &effect) const
{
	return std::get_if<handshake::AcquireServerLink>(&effect) != nullptr ||
	       std::get_if<handshake::AcquireClientLink>(&effect) != nullptr;
}

Result<Acquired, wire::DeclineReason> RdmaTransport::acquire(const handshake::Effect &wanted,
							     const Seeker &seeker)
{
	if (const auto *server = std::get_if<handshake::AcquireServerLink>(&wanted))
		return group_table().acquire(*server, seeker);
	return group_table().acquire(*std::get_if<handshake::AcquireClientLink>(&wanted), seeker);
}

} // namespace smc::transport::rdma

namespace smc::transport {

Transport *rdma_transport()
{
	static constinit rdma::RdmaTransport transport;

	return &transport;
}

std::optional<u64> next_link_group(net *net, u64 after, smc_lgr_info &out)
{
	const auto group = rdma::group_table().next(net, after);
	if (!group)
		return std::nullopt;
	group->snapshot(out);
	return group->serial();
}

} // namespace smc::transport
