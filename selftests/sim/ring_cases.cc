// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about memory of rings: how much there may be, and who is charged.
#include "cases.hpp"

#include "kernel/abi/ring_memory.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u64 kRing = 65536;
// Of one connection: each host sends from one and receives in one.
constexpr u64 kRings = 4 * kRing;
constexpr u64 kSmallRings = 4 * SMC_RING_BYTES_MIN;
constexpr u64 kMinutes_us = 700'000'000;

// Sizes are drawn otherwise.
void ask_for_rings()
{
	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = kRing;
}

s64 downgrades(const net &host)
{
	const auto of = [&host](u32 run) { return host.stats[run + SMC_BUF_DOWNGRADE]; };

	return of(SMC_STAT_OF(SMC_TECH_R, SMC_TS_RX_BUF)) +
	       of(SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_BUF));
}

void forget_limits()
{
	rings().set_marks(RingMemory::kUnlimited, RingMemory::kUnlimited);
	for (u64 group = 0; group < 4; group++)
		rings().set_group_limit(group, RingMemory::kUnlimited);
}

// ---- Plots --------------------------------------------------------------------------------------

// So many as there is room for have rings of their size, some more small ones, and all others TCP.
void bound()
{
	ask_for_rings();
	rings().set_marks(3 * kRings, 3 * kRings + 2 * kSmallRings);

	Sockets socks = connect_many(3);
	if (downgrades(client()) != 0 || downgrades(server()) != 0)
		fail("rings are small where there is room");
	for (int i = 0; i < 2; i++)
		socks.push_back(connect_one());
	if (downgrades(client()) != 4 || downgrades(server()) != 4)
		fail("rings are not small where there is little room");
	for (int i = 0; i < 3; i++)
		socks.push_back(connect_one(false));
	expect_answers(socks);
	close_all(socks);
	scheduler().sleep_us(kRest_us);
	if (rings().bytes() > 3 * kRings)
		fail("%llu bytes are kept for nobody", rings().bytes());
	// There is room for that and half of what is wanted, to which what is kept gives way. Of
	// which kind that is, is chance, but one of the host's full size is among it.
	rings().set_marks(rings().bytes() + kRing, rings().bytes() + kRing);
	client().wmem_bytes = 2 * kRing;
	const s64 before = downgrades(client());
	socks = connect_many(1);
	if (downgrades(client()) != before)
		fail("a send buffer is small while others are kept for nobody");
	expect_answers(socks);
	close_all(socks);
	forget_limits();
}

// The servers of one cgroup have no memory, those of another one on that host do not notice.
void full_group()
{
	ask_for_rings();
	rings().set_group_limit(1, SMC_RING_BYTES_MIN);
	server().memory_group = 1;
	Sockets poor = {connect_one(false)};
	server().memory_group = 2;
	Sockets socks = {connect_one()};
	if (rings().bytes_of(1) != 0 || rings().bytes_of(2) != 2 * kRing)
		fail("%llu and %llu bytes are charged", rings().bytes_of(1), rings().bytes_of(2));
	expect_answers(poor);
	expect_answers(socks);
	close_all(poor);
	close_all(socks);
	forget_limits();
}

// What one cgroup has left is not used at its expense, and not kept for ever.
void inherited_rings()
{
	ask_for_rings();
	server().memory_group = 1;
	Sockets socks = connect_many(2);
	close_all(socks);
	scheduler().sleep_us(kRest_us);
	server().memory_group = 2;
	socks = connect_many(1);
	if (rings().bytes_of(2) != 2 * kRing)
		fail("%llu bytes are charged to who uses them", rings().bytes_of(2));
	scheduler().sleep_us(kMinutes_us);
	if (rings().bytes_of(1) != 0)
		fail("%llu bytes are charged to who has gone", rings().bytes_of(1));
	expect_answers(socks);
	close_all(socks);
}

const Case kCases[] = {
	{"ring-bound", [] { with_server(bound); }},
	{"ring-full-group", [] { with_server(full_group); }},
	{.name = "ring-inherited",
	 .play = [] { with_server(inherited_rings); },
	 .lasts_us = 2 * kMinutes_us},
};

} // namespace

const std::span<const Case> ring_cases{kCases};

} // namespace sim
