// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about the way of a connection: the next hop, and the group it joins.
#include "cases.hpp"

#include "core/wire/decline_reason.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "trace.hpp"

namespace sim {
namespace {

// ---- The next hop -------------------------------------------------------------------------------

s64 fallbacks_of(net &host, bool is_server, smc::wire::DeclineReason wanted)
{
	u32 reason = 0;

	for (u32 slot = 0; smc_ctl_fallback_reason(&host, is_server, slot, &reason); slot++) {
		if (reason == static_cast<u32>(wanted))
			return host.stats[(is_server ? SMC_STAT_REASON_SRV : SMC_STAT_REASON_CLNT) +
					  slot];
	}
	return 0;
}

// Nothing is sent through a gateway whose MAC is unknown: the connection is TCP, with a reason.
// With a MAC of zeros the queue pair would lose all packets.
void next_hop_is_unknown()
{
	world().knobs.gateway = true;
	for (net *host : {&client(), &server()}) {
		const bool is_server = host == &server();

		host->has_neighbours = false;
		struct socket *sock = connect_one(/*smc=*/false);
		expect_answer(sock);
		sys_close(sock);
		host->has_neighbours = true;
		if (fallbacks_of(*host, is_server, smc::wire::DeclineReason::kNoRoute) != 1)
			fail("host %s does not say that it has no route", host->name.c_str());
	}
	struct socket *sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
}

// Between the look for a GID and the start of the queue pair the address may go, at either side:
// the connection is TCP then, with a reason. Another GID at that place of the table would send
// packets of somebody else.
void gid_goes()
{
	for (net *host : {&client(), &server()}) {
		host->keeps_gid = false;
		struct socket *sock = connect_one(/*smc=*/false);
		expect_answer(sock);
		sys_close(sock);
		host->keeps_gid = true;
		if (fallbacks_of(*host, host == &server(), smc::wire::DeclineReason::kErrRdyLnk) !=
		    1)
			fail("host %s does not say that its queue pair is not ready",
			     host->name.c_str());
	}
	struct socket *sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
}

// ---- Whose group --------------------------------------------------------------------------------

void forget_eids()
{
	for (const auto &host : world().hosts)
		smc_ctl_ueid_flush(host.get());
}

void agree_by_eid(u32 number)
{
	forget_eids();
	world().eid_number = number;
	for (const auto &host : world().hosts) {
		if (smc_ctl_ueid_add(host.get(), reinterpret_cast<const u8 *>(
							 eid_of_hosts(number).data())) != 0)
			fail("no EID");
	}
}

void expect_groups(s64 groups)
{
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_GROUP_NEW] != groups)
			fail("host %s: %lld groups were made", host->name.c_str(),
			     host->stats[SMC_STAT_GROUP_NEW]);
	}
}

// The same two hosts agree by one EID, by another one, and by version 1: each has its own group,
// and later connections find theirs. Only the EID tells one network from another.
void groups_by_agreement()
{
	Sockets socks = connect_many(2);

	expect_groups(1);
	agree_by_eid(1);
	socks.push_back(connect_one());
	socks.push_back(connect_one());
	expect_groups(2);
	world().knobs.smcr_v1 = true;
	world().knobs.smcr_v2 = false;
	forget_eids();
	socks.push_back(connect_one());
	socks.push_back(connect_one());
	expect_groups(3);
	world().knobs.smcr_v1 = false;
	world().knobs.smcr_v2 = true;
	for (const u32 number : {0, 1}) {
		agree_by_eid(number);
		socks.push_back(connect_one());
	}
	expect_groups(3);
	expect_answers(socks);
	close_all(socks);
}

// A server with other EIDs by now names another one, and the group is still the same.
void eid_changes()
{
	const Sockets socks = connect_many(3);

	expect_answers(socks);
	expect_one_group(3);
	close_all(socks);
}

// Two VLANs between the same two ports, with the same GIDs and MACs: a connection joins the group
// of its VLAN.
void vlans()
{
	Sockets socks;

	for (const u16 vlan_id : {0, 10, 0, 10}) {
		client().vlan_id = server().vlan_id = vlan_id;
		socks.push_back(connect_one());
	}
	expect_answers(socks);
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_GROUP_NEW] != 2)
			fail("host %s: %lld groups were made", host->name.c_str(),
			     host->stats[SMC_STAT_GROUP_NEW]);
	}
	// Groups that only the server takes for equal are different ones for the client.
	client().vlan_id = 20;
	struct socket *sock = connect_one(/*smc=*/false);
	sys_close(sock);
	close_all(socks);
}

// The server's device has addresses in two subnets: the client's is the second one, or neither.
void prefixes()
{
	server().prefix_lengths = {16, 24};
	struct socket *sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
	server().prefix_lengths = {16, 8};
	sys_close(connect_one(/*smc=*/false));
}

const Case kCases[] = {
	{"next-hop-is-unknown", [] { with_server(next_hop_is_unknown); }},
	{"gid-goes", [] { with_server(gid_goes); }},
	{"groups-by-agreement", [] { with_server(groups_by_agreement); }},
	{.name = "eid-changes", .play = [] { with_server(eid_changes); }, .eid_changes = true},
	{.name = "vlans", .play = [] { with_server(vlans); }, .smcr_v1 = true},
	{.name = "prefixes", .play = [] { with_server(prefixes); }, .smcr_v1 = true},
};

} // namespace

const std::span<const Case> path_cases{kCases};

} // namespace sim
