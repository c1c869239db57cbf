// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about hosts with a port on each of two rails: links are made on both, and one is lost.
#include <algorithm>
#include <cerrno>

#include "call.hpp"
#include "calls.hpp"
#include "cases.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/stats.h"
#include "llc_observer.hpp"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u64 kAdded_us = 100'000;        // until a link is added
constexpr u64 kBreak_us = 1'000'000;      // traffic goes on within that time
constexpr u64 kPortGrace_us = 6'000'000;  // until a port that stays away is given up
constexpr u64 kRecovered_us = 10'000'000; // from a loss until there is another link again

// In the only group.
u32 active_links(net *host)
{
	smc_lgr_info group{};
	u64 cursor = 0;
	u32 active = 0;

	if (smc_ctl_lgr_next(host, &cursor, &group) != 1)
		fail("host %s has no group", host->name.c_str());
	for (u32 i = 0; i < group.links; i++)
		active += group.link[i].state == SMC_LINK_STATE_ACTIVE ? 1 : 0;
	return active;
}

void expect_links(u32 count)
{
	for (net *host : {&client(), &server()}) {
		if (active_links(host) != count)
			fail("host %s has %u links", host->name.c_str(), active_links(host));
	}
}

s64 moved()
{
	return client().stats[SMC_STAT_CONN_MOVED] + server().stats[SMC_STAT_CONN_MOVED];
}

u32 links_on_rail(const net &host, u32 rail)
{
	u32 count = 0;

	for (const auto &[qpn, link] : fabric().links)
		count += link->device == host.devices[rail] ? 1 : 0;
	return count;
}

// A symmetric pair of links.
void expect_a_link_on_each_rail()
{
	expect_links(2);
	for (const net *host : {&client(), &server()}) {
		for (u32 rail = 0; rail < kRails; rail++) {
			if (links_on_rail(*host, rail) != 1)
				fail("host %s: %u links on rail %u", host->name.c_str(),
				     links_on_rail(*host, rail), rail);
		}
	}
}

// Connections are spread over both links.
void both_rails_are_used()
{
	Sockets socks = connect_many(1);

	scheduler().sleep_us(kAdded_us);
	expect_a_link_on_each_rail();
	for (u32 i = 0; i < 5; i++)
		socks.push_back(connect_one());
	smc_lgr_info group{};
	u64 cursor = 0;
	if (smc_ctl_lgr_next(&server(), &cursor, &group) != 1 || group.link[0].conns != 3 ||
	    group.link[1].conns != 3)
		fail("%u and %u connections", group.link[0].conns, group.link[1].conns);
	expect_answers(socks);
	expect_one_group(6);
	close_all(socks);
}

// Its port, or its device, is away for a while. Connections go on, and new ones join the same
// group, though their Proposals name the other port. The one that has one port left gets a second
// link to it: a client takes what the server's other port offers, and asks a server that has none.
void a_rail_is_lost(net &host, u32 rail, bool device)
{
	const s64 moved_before = moved();
	Sockets socks = connect_many(4);

	scheduler().sleep_us(kAdded_us);
	if (device)
		remove_device(&host, rail);
	else
		lose_port(&host, rail);
	// Nothing is said meanwhile that a queue pair would repeat in vain.
	scheduler().sleep_us(kBreak_us);
	if (moved() == moved_before)
		fail("no connection has moved yet");
	expect_answers(socks);
	scheduler().sleep_us(kPortGrace_us);
	expect_links(2);
	if (links_on_rail(host, 1 - rail) != active_links(&host))
		fail("not on the rail that is left");
	for (u32 i = 0; i < 3; i++)
		socks.push_back(connect_one());
	expect_answers(socks);
	if (device)
		add_device(&host, rail);
	else
		regain_port(&host, rail);
	scheduler().sleep_us(kAdded_us);
	expect_a_link_on_each_rail();
	expect_answers(socks);
	expect_one_group(7);
	close_all(socks);
	scheduler().sleep_us(kMoment_us);
}

void each_rail_is_lost()
{
	for (net *host : {&client(), &server()}) {
		for (u32 rail = 0; rail < kRails; rail++) {
			for (const bool device : {false, true})
				a_rail_is_lost(*host, rail, device);
		}
	}
}

// A flap that is short moves nothing. A connection that begins meanwhile goes by the other rail.
void a_rail_flaps(net &host, u32 rail, const Sockets &socks)
{
	lose_port(&host, rail);
	const u64 lost_us = scheduler().now_us();
	(void)send_byte(socks[0], kHello);
	(void)send_byte(socks[1], kHello);
	if (&host == &server()) {
		struct socket *sock = connect_one();
		expect_answer(sock);
		sys_close(sock);
		if (scheduler().now_us() - lost_us > kMoment_us)
			fail("a new connection went by the rail without a port");
	}
	scheduler().sleep_us(lost_us + kMoment_us - scheduler().now_us());
	regain_port(&host, rail);
	u8 byte;
	if (receive_byte(socks[0], &byte) != 1 || receive_byte(socks[1], &byte) != 1)
		fail("what was said meanwhile is lost");
}

void rails_flap()
{
	Sockets socks = connect_many(4);

	scheduler().sleep_us(kAdded_us);
	for (net *host : {&client(), &server()}) {
		for (u32 rail = 0; rail < kRails; rail++)
			a_rail_flaps(*host, rail, socks);
	}
	if (moved() != 0)
		fail("%lld connections have moved", moved());
	expect_links(2);
	close_all(socks);
}

void await_four_links()
{
	for (u64 waited_us = 0; active_links(&client()) + active_links(&server()) < 4;
	     waited_us += kAdded_us) {
		if (waited_us > kRecovered_us)
			fail("no second link");
		scheduler().sleep_us(kAdded_us);
	}
}

// Host and rail take turns.
void break_one_of_four(u32 turn)
{
	const net &host = turn % 2 == 0 ? client() : server();
	const u32 rail = turn / 2 % kRails;

	for (const auto &[qpn, link] : fabric().links) {
		if (link->device == host.devices[rail] && !link->broken) {
			break_link(link, -EIO);
			return;
		}
	}
}

// Nothing comes through any more, and no queue pair says so. Host and rail take turns.
void rails_fall_silent()
{
	constexpr u64 kNoticed_us = 7'000'000;
	const Sockets socks = connect_many(6);

	for (u32 turn = 0; turn < 4; turn++) {
		const net &host = turn % 2 == 0 ? client() : server();

		await_four_links();
		for (const auto &[qpn, link] : fabric().links)
			link->silent |= link->device == host.devices[turn / 2];
		const u64 silent_us = scheduler().now_us();
		expect_answers(socks);
		if (scheduler().now_us() - silent_us > kNoticed_us)
			fail("it takes too long to notice that a rail is silent");
		// One that no connection uses is noticed later.
		for (const auto &[qpn, link] : fabric().links) {
			if (link->silent)
				break_link(link, -EIO);
		}
		scheduler().sleep_us(kMoment_us);
	}
	if (moved() == 0)
		fail("no connection has moved");
	close_all(socks);
}

// A hundred losses, one after the other. The server adds no more links than it may in a while.
void losses_in_a_row()
{
	constexpr u32 kLosses = 100;
	const Sockets socks = connect_many(8);

	for (u32 i = 0; i < kLosses; i++) {
		await_four_links();
		break_one_of_four(i);
		expect_answers(socks);
	}
	expect_one_group(8);
	close_all(socks);
}

// A link is lost at some point of the handshakes of those that come. Each of them is answered,
// and soon.
void lost_while_connections_come()
{
	struct socket *const sock = connect_one();

	for (u32 i = 0; i < 400; i++) {
		const u32 coming = 1 + i % 4;
		u32 left = coming;

		await_four_links();
		for (u32 n = 0; n < coming; n++) {
			processes()++;
			scheduler().spawn("comer", [&left] {
				struct socket *comer = connect_by_any();

				expect_answer(comer);
				sys_close(comer);
				left--;
				processes()--;
			});
		}
		scheduler().sleep_us(i);
		break_one_of_four(i);
		// Both ends have noticed by then.
		scheduler().sleep_us(kMoment_us);
		for (u64 waited_us = kMoment_us; left != 0; waited_us += kMoment_us) {
			if (waited_us > kBreak_us)
				fail("%u connections are not answered", left);
			scheduler().sleep_us(kMoment_us);
		}
		expect_answer(sock);
	}
	sys_close(sock);
}

// One is lost at some point of the ends of those that go: what the peer has not heard of comes once
// more by the other link, and must not meet somebody else's ring. Those that come take these.
void lost_while_connections_end()
{
	constexpr u32 kGoing = 4;
	struct socket *const sock = connect_one();

	for (u32 i = 0; i < 200; i++) {
		u32 left = kGoing;

		await_four_links();
		const Sockets socks = connect_many(kGoing);

		for (struct socket *going : socks) {
			processes()++;
			scheduler().spawn("goer", [going, &left] {
				u8 byte = 0;

				expect_answer(going);
				(void)send_byte(going, kBye);
				if (const int ret = receive_byte(going, &byte); ret != 0)
					fail("recv() %d", ret);
				sys_close(going);
				left--;
				processes()--;
			});
		}
		scheduler().sleep_us(i);
		break_one_of_four(i);
		while (left != 0)
			scheduler().sleep_us(1);
		Sockets next;

		while (next.size() < kGoing)
			next.push_back(connect_by_any());
		expect_answers(next);
		close_all(next);
		expect_answer(sock);
		// Both ends have noticed by then.
		scheduler().sleep_us(kMoment_us);
	}
	sys_close(sock);
}

// Until one is there whose CONFIRM_LINK is under way; the server's.
smc_ib_link *await_second_link()
{
	for (;;) {
		for (const auto &[qpn, link] : fabric().links) {
			if (is_being_confirmed(qpn))
				return link;
		}
		scheduler().sleep_us(10);
	}
}

// While the second link is being confirmed, the first one is lost, at either end: its connections
// wait for the other.
void first_is_lost_early(net &host)
{
	struct socket *sock = connect_one();
	smc_ib_link *first = link_of(&host);

	(void)await_second_link();
	break_link(first, -EIO);
	expect_answer(sock);
	if (moved() == 0)
		fail("no connection has moved");
	expect_one_group(1);
	sys_close(sock);
}

// As before, but the second link's confirmation gets lost. Who connects meanwhile does not wait for
// the end of that group.
void comes_between_links()
{
	struct socket *sock = connect_one();
	smc_ib_link *first = link_of(&server());

	await_second_link()->silent = true;
	break_link(first, -EIO);
	scheduler().sleep_us(1000);
	const u64 began_us = scheduler().now_us();
	struct socket *other = connect_one();
	const u64 took_us = scheduler().now_us() - began_us;

	if (took_us > kMoment_us)
		fail("connect() takes %llu us", took_us);
	expect_answer(other);
	sys_close(other);
	sys_close(sock);
}

// With the last one the connections are lost, and the next one makes a new group.
void both_rails_are_lost()
{
	const Sockets socks = connect_many(2);
	u8 byte;

	scheduler().sleep_us(kAdded_us);
	remove_device(&server(), 0);
	expect_answers(socks);
	remove_device(&server(), 1);
	for (struct socket *sock : socks) {
		if (const int ret = receive_byte(sock, &byte); ret != -ECONNRESET)
			fail("recv() %d", ret);
	}
	close_all(socks);
	sys_close(connect_one(/*smc=*/false));
	for (u32 rail = 0; rail < kRails; rail++)
		add_device(&server(), rail);
	struct socket *sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
}

// A peer's first message by another link is a compact one, which says nothing by itself. That ends
// the connection, once, for whoever sleeps at this end and for the peer.
void compact_by_the_other_link()
{
	Call call(&client(), &server());
	const smc_ib_link *first = link_of(&server());
	int found = 1;

	scheduler().sleep_us(kAdded_us);
	expect_a_link_on_each_rail();
	(void)call.send(1);
	call.receive(1);
	scheduler().spawn("reader", [&] { found = call.find(/*server=*/true, 0); });
	scheduler().sleep_us(kMoment_us);
	for (int i = 0; i < 3; i++) {
		for (const auto &[qpn, link] : fabric().links) {
			if (link->device->host == &server() && link != first)
				forge_compact(link, (call.server().token & 0xff) << 24, 1);
		}
		scheduler().sleep_us(kMoment_us);
	}
	if (found != -ECONNRESET)
		fail("recv() says %d", found);
	if (const int theirs = call.find(/*server=*/false); theirs != -ECONNRESET)
		fail("recv() says %d to the peer", theirs);
	if (server().stats[SMC_STAT_CONN_ABORT] != 1 ||
	    server().stats[SMC_STAT_CDC_BAD_SEQUENCE] != 3)
		fail("%lld resets for %lld messages", server().stats[SMC_STAT_CONN_ABORT],
		     server().stats[SMC_STAT_CDC_BAD_SEQUENCE]);
	server().stats[SMC_STAT_CDC_BAD_SEQUENCE] = 0;
	expect_links(2);
}

const Case kCases[] = {
	{.name = "both-rails-are-used",
	 .play = [] { with_server(both_rails_are_used); },
	 .second_ports = 3},
	{.name = "each-rail-is-lost",
	 .play = [] { with_server(each_rail_is_lost); },
	 .lasts_us = 200'000'000,
	 .second_ports = 3},
	{.name = "each-rail-is-lost-v1",
	 .play = [] { with_server(each_rail_is_lost); },
	 .smcr_v1 = true,
	 .lasts_us = 200'000'000,
	 .second_ports = 3},
	{.name = "rails-flap",
	 .play = [] { with_server(rails_flap); },
	 .second_ports = 3,
	 .rmb_elements = 255},
	{.name = "losses-in-a-row",
	 .play = [] { with_server(losses_in_a_row); },
	 .lasts_us = 400'000'000,
	 .second_ports = 3},
	{.name = "lost-while-connections-come",
	 .play = [] { with_server(lost_while_connections_come); },
	 .lasts_us = 4'000'000'000,
	 .second_ports = 3,
	 .loses_links = true},
	{.name = "lost-while-connections-end",
	 .play = [] { with_server(lost_while_connections_end); },
	 .lasts_us = 4'000'000'000,
	 .second_ports = 3,
	 .loses_links = true},
	{.name = "lost-while-connections-come-v1",
	 .play = [] { with_server(lost_while_connections_come); },
	 .smcr_v1 = true,
	 .lasts_us = 4'000'000'000,
	 .bouncing = true,
	 .second_ports = 3,
	 .rmb_elements = 4,
	 .loses_links = true},
	{.name = "first-link-is-lost-early",
	 .play = [] { with_server([] { first_is_lost_early(server()); }); },
	 .latency_us = 500,
	 .second_ports = 3},
	{.name = "first-link-is-lost-early-client",
	 .play = [] { with_server([] { first_is_lost_early(client()); }); },
	 .latency_us = 500,
	 .second_ports = 3},
	{.name = "comes-between-links",
	 .play = [] { with_server(comes_between_links); },
	 .second_ports = 3},
	{.name = "compact-by-the-other-link",
	 .play = [] { scripted(compact_by_the_other_link); },
	 .second_ports = 3},
	{.name = "both-rails-are-lost",
	 .play = [] { with_server(both_rails_are_lost); },
	 .second_ports = 3},
	// iWARP: what has completed may not have arrived.
	{.name = "both-rails-are-used-iwarp",
	 .play = [] { with_server(both_rails_are_used); },
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "each-rail-is-lost-iwarp",
	 .play = [] { with_server(each_rail_is_lost); },
	 .lasts_us = 200'000'000,
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "rails-fall-silent",
	 .play = [] { with_server(rails_fall_silent); },
	 .lasts_us = 200'000'000,
	 .second_ports = 3},
	{.name = "rails-fall-silent-iwarp",
	 .play = [] { with_server(rails_fall_silent); },
	 .lasts_us = 200'000'000,
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "losses-in-a-row-iwarp",
	 .play = [] { with_server(losses_in_a_row); },
	 .lasts_us = 400'000'000,
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "lost-while-connections-come-iwarp",
	 .play = [] { with_server(lost_while_connections_come); },
	 .lasts_us = 4'000'000'000,
	 .second_ports = 3,
	 .rmb_elements = 4,
	 .iwarp = true,
	 .loses_links = true},
	{.name = "lost-while-connections-end-iwarp",
	 .play = [] { with_server(lost_while_connections_end); },
	 .lasts_us = 4'000'000'000,
	 .second_ports = 3,
	 .iwarp = true,
	 .loses_links = true},
	{.name = "first-link-is-lost-early-iwarp",
	 .play = [] { with_server([] { first_is_lost_early(server()); }); },
	 .latency_us = 500,
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "comes-between-links-iwarp",
	 .play = [] { with_server(comes_between_links); },
	 .second_ports = 3,
	 .iwarp = true},
	{.name = "both-rails-are-lost-iwarp",
	 .play = [] { with_server(both_rails_are_lost); },
	 .second_ports = 3,
	 .iwarp = true},
};

} // namespace

const std::span<const Case> rail_cases{kCases};

} // namespace sim
