// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about links of iWARP devices: how they meet, and that each message finds a receive.
#include "cases.hpp"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

using Meeting = Knobs::Meeting;

void one_more(bool smc)
{
	struct socket *sock = connect_one(smc);

	expect_answer(sock);
	sys_close(sock);
}

// First contact, later ones, several at once.
void connections()
{
	const Sockets socks = connect_many(12);

	expect_answers(socks);
	expect_one_group(12);
	close_all(socks);
}

// What goes wrong leaves TCP, soon, and the next connection meets again.
void fails(Meeting meeting)
{
	const u64 began_us = scheduler().now_us();

	world().knobs.meeting = meeting;
	one_more(/*smc=*/false);
	if (scheduler().now_us() - began_us > 5'000'000)
		fail("it takes too long to find out that the peers do not meet");
	scheduler().sleep_us(kRest_us);
	world().knobs.meeting = Meeting::kSucceeds;
	one_more(/*smc=*/true);
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_LINK_UP] != 1)
			fail("host %s: %lld links", host->name.c_str(),
			     host->stats[SMC_STAT_LINK_UP]);
	}
}

// What the server has missed is said again, soon.
void missed()
{
	const u64 began_us = scheduler().now_us();

	world().knobs.meeting = Meeting::kMissesAMessage;
	one_more(/*smc=*/true);
	if (scheduler().now_us() - began_us > 1'000'000)
		fail("it takes too long until the first message is said again");
}

// A hundred connections that never rest, each of whose messages needs a receive.
void many_messages()
{
	constexpr u32 kChatty = 100;
	const Sockets socks = connect_many(kChatty);
	u32 talking = 0;

	for (struct socket *sock : socks) {
		talking++;
		processes()++;
		scheduler().spawn("chatty", [sock, &talking] {
			for (int i = 0; i < 100; i++)
				expect_answer(sock);
			talking--;
			processes()--;
		});
	}
	while (talking != 0)
		scheduler().sleep_us(kMoment_us);
	expect_one_group(kChatty);
	close_all(socks);
}

const Case kCases[] = {
	{.name = "iwarp", .play = [] { with_server(connections); }, .iwarp = true},
	{.name = "iwarp-bouncing",
	 .play = [] { with_server(connections); },
	 .bouncing = true,
	 .iwarp = true},
	{.name = "iwarp-missed", .play = [] { with_server(missed); }, .iwarp = true},
	{.name = "iwarp-refused",
	 .play = [] { with_server([] { fails(Meeting::kIsRefused); }); },
	 .iwarp = true},
	{.name = "iwarp-lost",
	 .play = [] { with_server([] { fails(Meeting::kIsLost); }); },
	 .iwarp = true},
	{.name = "iwarp-late",
	 .play = [] { with_server([] { fails(Meeting::kIsLate); }); },
	 .iwarp = true},
	{.name = "iwarp-wrong-number",
	 .play = [] { with_server([] { fails(Meeting::kShowsWrongNumber); }); },
	 .iwarp = true},
	{.name = "iwarp-many-messages",
	 .play = [] { with_server(many_messages); },
	 .softirq_us = 400,
	 .iwarp = true},
};

} // namespace

const std::span<const Case> iwarp_cases{kCases};

} // namespace sim
