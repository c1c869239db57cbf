// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about sudden ends: many connections, TCP below them, their link or device.
#include "cases.hpp"

#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/socket/smc_socket.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u32 kMany = 200;
constexpr u32 kBystanders = 5;
constexpr int kGeneralError = 21;
constexpr u32 kFewest = 16; // connections that a group may be limited to

// Most connections of a group end at once; the others notice nothing.
void close_many()
{
	const Sockets bystanders = connect_many(kBystanders);

	close_all(connect_many(kMany));
	for (int i = 0; i < 20; i++) {
		scheduler().sleep_us(kMoment_us);
		expect_answers(bystanders);
	}
	expect_one_group(kBystanders);
	close_all(bystanders);
}

// One after the other.
void tcp_dies()
{
	struct socket *bystander = connect_one();

	for (int i = 0; i < 100; i++) {
		struct socket *sock = connect_one();

		expect_answer(sock);
		sock->sk->connection->break_off();
		scheduler().sleep_us(kMoment_us);
		sys_close(sock);
		expect_answer(bystander);
	}
	scheduler().sleep_us(kMoment_us);
	expect_one_group(1);
	sys_close(bystander);
}

// Of all but one, at once: a firewall has lost its state.
void tcp_dies_of_many()
{
	struct socket *bystander = connect_one();
	const Sockets socks = connect_many(kMany);

	for (struct socket *sock : socks)
		sock->sk->connection->break_off();
	close_all(socks);
	for (int i = 0; i < 20; i++) {
		scheduler().sleep_us(kMoment_us);
		expect_answer(bystander);
	}
	expect_one_group(1);
	sys_close(bystander);
}

// TCP dies when the peer has closed and this end writes no more. The peer waits for this end's
// closing flag, by a link that works.
void word_after_tcp()
{
	struct socket *listener = sys_socket(&server());
	struct socket *reader = nullptr;

	if (sys_listen(listener, kPort, 1) != 0)
		fail("listen() fails");
	struct socket *writer = connect_one();
	if (sys_accept(listener, &reader) != 0)
		fail("accept() fails");
	const auto peer = smc::shell::SmcSocket::of(reader)->connection();
	sys_close(reader);
	scheduler().sleep_us(kMoment_us);
	if (sys_shutdown(writer, 1) != 0)
		fail("shutdown() fails");
	writer->sk->connection->break_off();
	scheduler().sleep_us(kMoment_us);
	sys_close(writer);
	scheduler().sleep_us(kMoment_us);
	if (!peer->with_lock(
		    [](const smc::connection::Connection &conn) { return conn.finished(); }))
		fail("the peer is not told");
	sys_close(listener);
}

// The server resets a connection of a full group and has room for another one, while the client has
// not closed its end yet. The client takes the new one all the same, if it has a token left, or
// declines.
void reset_in_full_group()
{
	const u32 max_conns = client().max_conns;
	const Sockets socks = connect_many(max_conns);
	const Sockets bystanders(socks.begin() + 1, socks.end());

	expect_answers(socks);
	(void)send_byte(socks.front(), kReset);
	scheduler().sleep_us(kMoment_us);
	struct socket *another = connect_one(max_conns < kTokens);
	expect_answer(another);
	expect_answers(bystanders);
	expect_one_group(max_conns + 1);
	sys_close(another);
	close_all(socks);
}

// A client gives a connection up while an answer is on its way, and makes another one. Both ends
// have an RMB for that which the other one knows, so it comes about without a message on the link,
// and before that answer. A compact message names a slot only: it must not be the new connection's.
void slot_stays_taken()
{
	struct socket *bystander = connect_one();
	const Sockets before = connect_many(2);

	expect_answers(before);
	close_all(before);
	scheduler().sleep_us(kMoment_us);
	struct socket *victim = connect_one();
	expect_answer(victim);
	expect_answer(victim);
	const s64 compact = server().stats[SMC_STAT_COMPACT_TX];
	const auto set_full = [](bool full) {
		for (const auto &[qpn, link] : fabric().links)
			if (link->device->host == &client())
				link->full = full;
	};
	set_full(true);
	(void)send_byte(victim, kHello);
	scheduler().sleep_us(kMoment_us);
	if (server().stats[SMC_STAT_COMPACT_TX] == compact)
		fail("the answer is not a compact message");
	victim->sk->connection->break_off();
	scheduler().sleep_us(kMoment_us);
	sys_close(victim);
	scheduler().sleep_us(kMoment_us);
	const s64 told = client().stats[SMC_STAT_LLC_RX];
	struct socket *another = connect_one();
	if (client().stats[SMC_STAT_LLC_RX] != told)
		fail("the new connection waits for the link");
	set_full(false);
	expect_answer(another);
	expect_answer(bystander);
	expect_one_group(5);
	sys_close(another);
	sys_close(bystander);
}

// The server's queue pair breaks while it registers an RMB for one more connection of its group.
// The handshake fails at once, while the device still has the RMB.
void link_breaks_while_registering()
{
	bool broken = false;
	struct socket *bystander = connect_one();

	processes()++;
	scheduler().spawn("saboteur", [&broken] {
		while (!broken) {
			for (const auto &[key, region] : fabric().regions) {
				if (region->state != smc_ib_region::State::kPosted)
					continue;
				break_link(fabric().link(region->qpn), kGeneralError);
				broken = true;
			}
			scheduler().sleep_us(1);
		}
		processes()--;
	});
	struct socket *another = connect_one(false);
	sys_close(another);
	sys_close(bystander);
}

u32 rmbs_of(const net &host)
{
	u32 count = 0;

	for (const auto &[key, region] : fabric().remote)
		count += fabric().link(region->qpn)->device->host == &host ? 1 : 0;
	return count;
}

// A device is removed while a group on it frees RMBs. A sleeper in recv() gets an error at once,
// not after the group has waited for its posted work.
void end_is_told_at_once()
{
	for (int i = 0; i < 10; i++) {
		struct socket *sock = connect_one();
		const Sockets many = connect_many(2 * kKept);
		const u32 before = rmbs_of(client());
		bool told = false;
		bool over = false;

		processes()++;
		scheduler().spawn("reader", [sock, &told] {
			u8 byte;

			(void)receive_byte(sock, &byte);
			told = true;
			processes()--;
		});
		close_all(many);
		while (rmbs_of(client()) == before)
			scheduler().sleep_us(1);
		scheduler().spawn("device", [&over] {
			remove_device(&client());
			over = true;
		});
		scheduler().sleep_us(kMoment_us);
		if (!told)
			fail("round %d: nobody says that the device has gone", i);
		// The other host would take longer to notice.
		remove_device(&server());
		while (!over)
			scheduler().sleep_us(1000);
		sys_close(sock);
		add_device(&client());
		add_device(&server());
	}
}

// A host whose device goes says so by it: the peer, which waits and has sent nothing that could
// fail, need not ask whether it is still there.
void removal_is_told()
{
	for (net *host : {&client(), &server()}) {
		net *peer = host == &client() ? &server() : &client();
		struct socket *sock = connect_one();

		expect_answer(sock);
		const auto before = peer->stats[SMC_STAT_GROUP_TERMINATED];
		remove_device(host);
		scheduler().sleep_us(kMoment_us);
		if (peer->stats[SMC_STAT_GROUP_TERMINATED] != before + 1)
			fail("%s does not know that %s has lost its device", peer->name.c_str(),
			     host->name.c_str());
		sys_close(sock);
		add_device(host);
	}
}

// Groups whose peers are dead do not wait for each other when their device is removed.
void dead_fabric()
{
	constexpr u32 kGroups = 8;
	constexpr u64 kTogether_us = 3'000'000;
	const Sockets socks = connect_many(kGroups * kFewest);

	if (client().stats[SMC_STAT_GROUP_NEW] != kGroups)
		fail("%lld groups", client().stats[SMC_STAT_GROUP_NEW]);
	for (const auto &[qpn, link] : fabric().links)
		link->silent = true;
	const u64 began_us = scheduler().now_us();
	remove_device(&client());
	if (scheduler().now_us() - began_us > kTogether_us)
		fail("the device goes after %llu us", scheduler().now_us() - began_us);
	close_all(socks);
}

// Groups that have no connection are all told that their device goes, though each is gone as soon
// as it knows: none is left to its own time.
void idle_groups_go()
{
	constexpr u32 kGroups = 6;
	constexpr u64 kTogether_us = 15'000'000;

	for (int i = 0; i < 20; i++) {
		close_all(connect_many(kGroups * kFewest));
		const u64 began_us = scheduler().now_us();
		// So that a group has gone before the next one is told.
		scheduler().current()->stall_one_in = 16;
		scheduler().current()->stall_us = 500'000;
		remove_device(&server());
		scheduler().current()->stall_one_in = 0;
		if (scheduler().now_us() - began_us > kTogether_us)
			fail("round %d: the device goes after %llu us", i,
			     scheduler().now_us() - began_us);
		add_device(&server());
	}
}

const Case kCases[] = {
	{"close-many", [] { with_server(close_many); }},
	{"close-many-far", [] { with_server(close_many); }, 5000},
	{"tcp-dies", [] { with_server(tcp_dies); }},
	{"tcp-dies-of-many", [] { with_server(tcp_dies_of_many); }},
	{"word-after-tcp", [] { scripted(word_after_tcp); }},
	{"reset-in-full-group", [] { with_server(reset_in_full_group); }, 20, 16},
	{"reset-in-full-table", [] { with_server(reset_in_full_group); }, 20, kTokens},
	{"slot-stays-taken", [] { with_server(slot_stays_taken); }},
	{"link-breaks-while-registering", [] { with_server(link_breaks_while_registering); }},
	{"end-is-told-at-once", [] { with_server(end_is_told_at_once); }, 2000},
	{"removal-is-told", [] { with_server(removal_is_told); }, 20},
	{"dead-fabric", [] { with_server(dead_fabric); }, 20, kFewest},
	{"idle-groups-go", [] { with_server(idle_groups_go); }, 20, kFewest},
};

} // namespace

const std::span<const Case> loss_cases{kCases};

} // namespace sim
