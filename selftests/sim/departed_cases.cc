// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about closed ends of connections, and the memory that they hold for slow peers.
#include "cases.hpp"

#include <cerrno>
#include <memory>
#include <vector>

#include "call.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "memory.hpp"
#include "plot.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "shell/control/namespace.hpp"
#include "trace.hpp"
#include "verbs.hpp"
#include "work_queue.hpp"

namespace sim {
namespace {

constexpr u64 kMinute_us = 60'000'000;
constexpr size_t kFew = 1000;

using Calls = std::vector<std::unique_ptr<Call>>;

Calls call_many(s64 count, size_t bytes = kFew)
{
	Calls calls;

	for (s64 i = 0; i < count; i++) {
		calls.push_back(std::make_unique<Call>(&client(), &server()));
		if (bytes != 0)
			(void)calls.back()->send(bytes);
	}
	return calls;
}

u64 held_by(const Call &call)
{
	const smc_sock_info info = call.client();

	return u64{info.sndbuf_bytes} + info.rmbe_bytes;
}

void expect_left(s64 count, const char *when)
{
	if (connections_of(&client()) != count)
		fail("%s: %lld closed ends are there, not %lld", when, connections_of(&client()),
		     count);
}

// More of them have sent everything, and wait only for the peer's close(), than their share allows:
// the oldest leave, and no peer notices.
void more_than_room()
{
	constexpr s64 kRoom = 3;
	constexpr s64 kAll = 8;
	Calls calls = call_many(kAll);

	share_for_closed_ends(u64{kRoom} * held_by(*calls.front()));
	for (const auto &call : calls)
		call->close_client();
	scheduler().sleep_us(kMoment_us);
	expect_left(kRoom, "above the limit");
	for (const auto &call : calls) {
		call->receive(kFew);
		call->end_is_clean();
	}
	// The newest ones are left.
	for (s64 i = kAll - kRoom; i < kAll; i++)
		calls[i]->close_server();
	scheduler().sleep_us(kMoment_us);
	expect_left(0, "the last ones' peers have closed");
}

// There is no room, so each leaves as soon as it is closed; the run for its cork comes at that
// moment.
void leaves_beside_its_run()
{
	constexpr u64 kCork_us = 200'000;
	constexpr int kTimes = 1000;

	for (int i = 0; i < kTimes; i++) {
		rings().set_marks(RingMemory::kUnlimited, RingMemory::kUnlimited);
		Call call(&client(), &server(), /*corked=*/true);

		(void)call.send(kFew);
		share_for_closed_ends(held_by(call) - 1);
		scheduler().sleep_us(kCork_us);
		call.close_client();
		scheduler().sleep_us(kMoment_us);
		expect_left(0, "without room");
		call.receive(kFew);
		call.end_is_clean();
	}
}

// An end with data left for its peer is not reset while others have sent everything and can leave.
void data_before_rest()
{
	constexpr s64 kRoom = 3;
	Calls calls = call_many(kRoom);
	Call busy(&client(), &server());

	const size_t sent = busy.fill();

	// Those that rest have given back their send buffers.
	share_for_closed_ends(u64{kRoom} * calls.front()->client().rmbe_bytes + held_by(busy) - 1);
	for (const auto &call : calls)
		call->close_client();
	busy.close_client();
	scheduler().sleep_us(kMoment_us);
	expect_left(kRoom, "above the limit");
	busy.receive(sent);
	busy.end_is_clean();
}

s64 downgrades(const net &host)
{
	s64 count = 0;

	for (const u32 run : {SMC_TS_RX_BUF, SMC_TS_TX_BUF})
		count += host.stats[SMC_STAT_OF(SMC_TECH_R, run) + SMC_BUF_DOWNGRADE];
	return count;
}

// All memory for rings is taken, half of it by closed ends whose peers never close. They make way
// for each ring that is needed, not only when the next one is closed.
void give_way()
{
	constexpr s64 kAll = 16;
	constexpr s64 kNext = 1;

	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = 65536;
	Calls calls = call_many(kAll, 0);
	rings().set_marks(rings().bytes(), RingMemory::kUnlimited);
	for (const auto &call : calls)
		call->close_client();
	scheduler().sleep_us(kMinute_us);
	expect_left(kAll, "half of what there may be");
	{
		// Rings come back a moment later.
		const Calls first = call_many(1);
	}
	scheduler().sleep_us(kMoment_us);
	const s64 before = downgrades(client()) + downgrades(server());
	Calls next = call_many(kNext);
	if (downgrades(client()) + downgrades(server()) != before)
		fail("rings are small while closed ends only wait");
	if (connections_of(&client()) < kNext + 2)
		fail("all closed ends have gone");
	for (const auto &call : calls)
		call->end_is_clean();
	rings().set_marks(RingMemory::kUnlimited, RingMemory::kUnlimited);
}

// An end that waits only for the peer's close() is rarely looked at.
void rest_is_quiet()
{
	constexpr s64 kAll = 8;
	constexpr u64 kMinutes = 9;
	Calls calls = call_many(kAll);

	for (const auto &call : calls)
		call->close_client();
	scheduler().sleep_us(kMinute_us);
	const u64 before = work_runs();

	scheduler().sleep_us((kMinutes - 1) * kMinute_us);
	expect_left(kAll, "before their time");
	if (work_runs() - before > kAll * kMinutes)
		fail("%llu runs in %llu minutes", work_runs() - before, kMinutes - 1);
	scheduler().sleep_us(2 * kMinute_us);
	expect_left(0, "ten minutes later");
}

// The long wait becomes a short one: the peer breaks off.
void rest_is_cut_short()
{
	Call call(&client(), &server());

	(void)call.send(kFew);
	call.close_client();
	scheduler().sleep_us(kMinute_us);
	expect_left(1, "before its time");
	// With unread data, so it is a reset, which ends both.
	call.close_server();
	scheduler().sleep_us(kMoment_us);
	expect_left(0, "the peer is gone");
}

// ---- Namespaces that end ------------------------------------------------------------------------

// A host's namespace ends, and begins anew for the rest of the run.
void end_namespace(net &host)
{
	smc_control_net_destroy(&host, host.control);
	remove_device(&host);
	if (host.stats[SMC_STAT_BUF_NEW] != host.stats[SMC_STAT_BUF_FREE])
		fail("a namespace ends and has %lld buffers",
		     host.stats[SMC_STAT_BUF_NEW] - host.stats[SMC_STAT_BUF_FREE]);
	host.control = smc_control_net_create(&host);
	if (smc_ctl_ueid_add(&host, reinterpret_cast<const u8 *>(eid_of_hosts().data())) != 0)
		fail("no EID");
	add_device(&host);
}

// Both namespaces end at the same time, and neither link carries anything any more. Their groups
// are waited for together.
void dead_peers()
{
	constexpr u64 kOneDrain_us = 2'200'000;
	const std::vector<net *> hosts{&client(), &server()};
	{
		Call call(&client(), &server());
	}
	scheduler().sleep_us(kMoment_us);
	for (const net *host : hosts)
		link_of(host)->silent = true;
	const u64 began_us = scheduler().now_us();

	for (net *host : hosts)
		smc_control_net_leave(host);
	for (net *host : hosts)
		end_namespace(*host);
	const u64 took_us = scheduler().now_us() - began_us;
	if (took_us > kOneDrain_us)
		fail("two namespaces end in %llu ms", took_us / 1000);
}

// An end is closed over unread data, and its abort does not get through the link. The other end
// learns of it by TCP, when this side's link has given up.
void aborts_into_dead_link()
{
	constexpr u64 kTold_us = 22'000'000;
	Call call(&client(), &server());

	(void)call.send(kFew);
	scheduler().sleep_us(kMoment_us);
	link_of(&server())->silent = true;
	const u64 closed_us = scheduler().now_us();
	call.close_server();
	int found = -EAGAIN;
	while (found == -EAGAIN && scheduler().now_us() - closed_us <= kTold_us) {
		scheduler().sleep_us(kMoment_us);
		found = call.find(false);
	}
	if (found != -ECONNRESET)
		fail("recv() says %d after %llu ms", found,
		     (scheduler().now_us() - closed_us) / 1000);
	call.close_client();
}

// ---- Inside one kernel --------------------------------------------------------------------------

// The two hosts are containers. One closes and ends; the other one keeps its socket open. The first
// one's socket, ring and namespace do not wait for that.
void one_leaves()
{
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	Call call(&client(), &server());
	const size_t before_bytes = memory().bytes();

	(void)call.send(kFew);
	call.close_client();
	scheduler().sleep_us(kMoment_us);
	expect_left(0, "closed");
	if (smc::control::Namespace::of(&client()).smcd_share().ends != 0)
		fail("a closed end is still counted");
	if (socket_counts().socks != 1)
		fail("%ld socks, where one is open", socket_counts().socks);
	end_namespace(client());
	if (before_bytes - memory().bytes() < call.server().peer_rmbe_bytes)
		fail("the ring is still there");
	// Data sent before can be read, without an error.
	call.nothing_is_wrong(SMC_POLL_ERR | SMC_POLL_HUP);
	call.receive(kFew);
	call.end_is_clean();
	if (call.send_back(1) != 1 || call.send_back(1) >= 0)
		fail("send() to one that has gone");
	call.close_server();
	scheduler().sleep_us(kMoment_us);
	if (connections_of(&server()) != 0)
		fail("the other end stays");
}

// The same while the other one is about to write, from memory that does not come. The ring stays
// that long.
void one_leaves_beside_writer()
{
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	Call call(&client(), &server());
	bool fetching = false;
	bool there = false;
	bool sent = false;

	scheduler().spawn("writer", [&] {
		const int n = call.send_back(kFew, [&] {
			fetching = true;
			while (!there)
				scheduler().sleep_us(kMoment_us);
		});

		if (n != static_cast<int>(kFew) && n != -EPIPE)
			fail("send() says %d", n);
		sent = true;
	});
	while (!fetching)
		scheduler().sleep_us(kMoment_us);
	call.close_client();
	scheduler().sleep_us(kMoment_us);
	expect_left(0, "closed");
	end_namespace(client());
	// Others get rings meanwhile, but not this one.
	Call next(&client(), &server());

	(void)next.send(kFew);
	const size_t before_bytes = memory().bytes();
	there = true;
	while (!sent)
		scheduler().sleep_us(kMoment_us);
	scheduler().sleep_us(kMoment_us);
	if (memory().bytes() + call.server().peer_rmbe_bytes > before_bytes)
		fail("the ring is still there");
	next.receive(kFew);
	call.close_server();
}

const Case kCases[] = {
	{.name = "leaves-beside-its-run",
	 .play = [] { scripted(leaves_beside_its_run); },
	 .lasts_us = u64{3600} * 1'000'000},
	{.name = "more-than-room", .play = [] { scripted(more_than_room); }, .scripted = true},
	{.name = "data-before-rest", .play = [] { scripted(data_before_rest); }, .scripted = true},
	{.name = "rest-gives-way", .play = [] { scripted(give_way); }, .scripted = true},
	{.name = "rest-is-quiet",
	 .play = [] { scripted(rest_is_quiet); },
	 .scripted = true,
	 .lasts_us = 20 * kMinute_us},
	{.name = "rest-is-cut-short",
	 .play = [] { scripted(rest_is_cut_short); },
	 .scripted = true},
	{.name = "aborts-into-dead-link",
	 .play = [] { scripted(aborts_into_dead_link); },
	 .scripted = true},
	{.name = "dead-peers", .play = [] { scripted(dead_peers); }, .scripted = true},
	{.name = "one-leaves", .play = [] { scripted(one_leaves); }, .scripted = true},
	{.name = "one-leaves-beside-writer",
	 .play = [] { scripted(one_leaves_beside_writer); },
	 .scripted = true},
};

} // namespace

const std::span<const Case> departed_cases{kCases};

} // namespace sim
