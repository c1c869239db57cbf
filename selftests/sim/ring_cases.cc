// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about memory of rings: how much there may be, and who is charged.
#include "cases.hpp"

#include <cerrno>

#include "call.hpp"
#include "kernel/abi/ring_memory.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "shell/transport/endpoint.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u64 kRing = 65536;
// For one connection that has sent both ways: each host sends from one ring and receives in one.
constexpr u64 kRings = 4 * kRing;
constexpr u64 kSmallRings = 4 * SMC_RING_BYTES_MIN;
// What both hosts' groups lay in.
constexpr u64 kReserves = 2 * SMC_RING_BYTES_MIN;
constexpr u64 kMinutes_us = 700'000'000;

// Sizes that a load does not use.
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

// They have all the rings that they need.
Sockets connect_and_send(u32 count)
{
	Sockets socks = connect_many(count);

	expect_answers(socks);
	return socks;
}

void forget_limits()
{
	rings().set_marks(RingMemory::kUnlimited, RingMemory::kUnlimited);
	for (u64 group = 0; group < 4; group++)
		rings().set_group_limit(group, RingMemory::kUnlimited);
}

// ---- Plots --------------------------------------------------------------------------------------

// As many as there is room for have rings of full size, some more have small ones, all others are
// TCP.
void bound()
{
	ask_for_rings();
	rings().set_marks(3 * kRings + kReserves, 3 * kRings + kReserves + 2 * kSmallRings);

	Sockets socks = connect_and_send(3);
	if (downgrades(client()) != 0 || downgrades(server()) != 0)
		fail("rings are small where there is room");
	for (int i = 0; i < 2; i++) {
		socks.push_back(connect_one());
		expect_answer(socks.back());
	}
	if (downgrades(client()) != 4 || downgrades(server()) != 4)
		fail("rings are not small where there is little room");
	for (int i = 0; i < 3; i++)
		socks.push_back(connect_one(false));
	expect_answers(socks);
	close_all(socks);
	scheduler().sleep_us(kRest_us);
	if (rings().bytes() > 3 * kRings + kReserves)
		fail("%llu bytes are kept for nobody", rings().bytes());
	forget_limits();
	close_all(connect_and_send(3));
	scheduler().sleep_us(kRest_us);
	// There is room in the buffers that those have left, which make way.
	rings().set_marks(rings().bytes(), rings().bytes());
	client().wmem_bytes = 2 * kRing;
	const s64 before = downgrades(client());
	socks = connect_and_send(1);
	if (downgrades(client()) != before)
		fail("a send buffer is small while others are kept for nobody");
	expect_answers(socks);
	close_all(socks);
	forget_limits();
}

// The servers of one cgroup have no memory; those of another one on that host do not notice.
void full_group()
{
	ask_for_rings();
	rings().set_group_limit(1, SMC_RING_BYTES_MIN - 1);
	server().memory_group = 1;
	Sockets poor = {connect_one(false)};
	server().memory_group = 2;
	Sockets socks = connect_and_send(1);
	if (rings().bytes_of(1) != 0 || rings().bytes_of(2) != 2 * kRing)
		fail("%llu and %llu bytes are charged", rings().bytes_of(1), rings().bytes_of(2));
	expect_answers(poor);
	expect_answers(socks);
	close_all(poor);
	close_all(socks);
	forget_limits();
}

// Buffers of one cgroup are not used at its expense by others, and not kept for ever.
void inherited_rings()
{
	ask_for_rings();
	server().memory_group = 1;
	Sockets socks = connect_and_send(2);
	close_all(socks);
	scheduler().sleep_us(kRest_us);
	server().memory_group = 2;
	socks = connect_and_send(1);
	if (rings().bytes_of(2) != 2 * kRing)
		fail("%llu bytes are charged to who uses them", rings().bytes_of(2));
	scheduler().sleep_us(kMinutes_us);
	if (rings().bytes_of(1) != 0)
		fail("%llu bytes are charged to who has gone", rings().bytes_of(1));
	expect_answers(socks);
	close_all(socks);
}

constexpr size_t kFew = 1000;
constexpr u64 kMemoryRetry_us = 1000 * smc::transport::Endpoint::kMemoryRetry_ms;

// A cgroup has no memory beside what its connections receive in.
void leave_the_reserve(u64 connections)
{
	ask_for_rings();
	rings().set_group_limit(1, connections * kRing);
	client().memory_group = 1;
}

// They take turns.
void writers_take_turns()
{
	constexpr u32 kWriters = 5;

	leave_the_reserve(kWriters);
	const Sockets socks = connect_many(kWriters);
	u32 answered = 0;

	for (struct socket *sock : socks) {
		processes()++;
		scheduler().spawn("writer", [sock, &answered] {
			expect_answer(sock);
			answered++;
			processes()--;
		});
	}
	scheduler().sleep_us(kRest_us);
	if (answered != kWriters)
		fail("%u of %u writers have found memory", answered, kWriters);
	close_all(socks);
	forget_limits();
}

// A connection that has the reserve, and whose user's memory does not come.
class StuckWriter {
public:
	StuckWriter() : call_(&client(), &server())
	{
		scheduler().spawn("stuck", [this] {
			(void)call_.send(kFew, 0, [this] {
				stuck_ = true;
				while (!comes_)
					scheduler().sleep_us(kMoment_us);
			});
			stuck_ = false;
		});
		while (!stuck_)
			scheduler().sleep_us(kMoment_us);
	}
	void end()
	{
		comes_ = true;
		while (stuck_)
			scheduler().sleep_us(kMoment_us);
		call_.receive(kFew);
	}

private:
	Call call_;
	bool stuck_ = false;
	bool comes_ = false;
};

// Another thread sends, and says when that is done.
void spawn_writer(Call &call, bool &sent, size_t bytes = kFew)
{
	scheduler().spawn("writer", [&, bytes] {
		if (const int n = call.send(bytes); n != static_cast<int>(bytes))
			fail("send() says %d", n);
		sent = true;
	});
}

// As on TCP they wait, by send() or by poll(), while the one that has the reserve cannot send.
void writer_waits()
{
	bool sent = false;

	leave_the_reserve(2);
	Call call(&client(), &server());
	StuckWriter stuck;
	spawn_writer(call, sent);
	scheduler().sleep_us(kRest_us);
	if (sent)
		fail("it has found memory");
	if (rings().bytes_of(1) != 2 * kRing)
		fail("%llu bytes", rings().bytes_of(1));
	if (call.send(kFew, SMC_MSG_DONTWAIT) != -EAGAIN)
		fail("another writer does not wait");
	if ((call.client_events() & SMC_POLL_OUT) != 0)
		fail("it is writable");
	stuck.end();
	scheduler().sleep_us(kRest_us);
	if (!sent)
		fail("it still waits for memory");
	if ((call.client_events() & SMC_POLL_OUT) == 0)
		fail("it is not writable");
	call.receive(kFew);
	forget_limits();
}

// The reserve takes what the peer has room for. So a connection whose peer does not read cannot
// keep it, however often its user tries, and goes on when the peer reads.
void peer_does_not_read()
{
	constexpr u32 kTries = 100;
	bool sent = false;

	leave_the_reserve(2);
	Call slow(&client(), &server());
	Call call(&client(), &server());
	const size_t bytes = slow.fill();
	spawn_writer(slow, sent);
	for (u32 i = 0; i < kTries; i++) {
		if (slow.send(kFew, SMC_MSG_DONTWAIT) != -EAGAIN)
			fail("there is room");
		scheduler().sleep_us(kMemoryRetry_us / 50);
	}
	const u64 begun_us = scheduler().now_us();
	if (call.send(kFew) != static_cast<int>(kFew))
		fail("it does not send");
	if (scheduler().now_us() - begun_us > 2 * kMemoryRetry_us)
		fail("it waits for the other one's peer");
	if ((slow.client_events() & SMC_POLL_OUT) != 0)
		fail("it is writable");
	if (sent || bytes > kRing)
		fail("%zu bytes are taken, and more, for a ring of %llu", bytes, kRing);
	call.receive(kFew);
	slow.receive(bytes);
	scheduler().sleep_us(3 * kMemoryRetry_us);
	if (!sent)
		fail("it sleeps though its peer has read");
	slow.receive(kFew);
	forget_limits();
}

// Whoever has filled its peer's ring out of the reserve goes on as soon as there is memory, though
// that peer reads nothing before it has sent something itself.
void borrower_finds_memory()
{
	constexpr size_t kBytes = kRing + kFew;
	bool sent = false;

	leave_the_reserve(1);
	Call call(&client(), &server());
	spawn_writer(call, sent, kBytes);
	scheduler().sleep_us(kRest_us);
	if (sent)
		fail("there is room");
	forget_limits();
	scheduler().sleep_us(3 * kMemoryRetry_us);
	if (!sent)
		fail("it sleeps though there is memory");
	call.receive(kBytes);
}

// Two threads on one socket. The first one sleeps, since there is no memory, and gets on with what
// the second one has found.
void writers_of_one_socket()
{
	bool sent = false;

	leave_the_reserve(2);
	Call call(&client(), &server());
	StuckWriter stuck;
	spawn_writer(call, sent);
	scheduler().sleep_us(kMemoryRetry_us / 3);
	if (sent)
		fail("it has found memory");
	forget_limits();
	if (call.send(kFew, SMC_MSG_DONTWAIT) != static_cast<int>(kFew))
		fail("there is no memory");
	scheduler().sleep_us(kRest_us);
	if (!sent)
		fail("it sleeps though there is memory");
	call.receive(2 * kFew);
	stuck.end();
}

// One thread tries again and again. Another one, which waits for room, is told when it may try.
void writer_is_impatient()
{
	constexpr u64 kSoon_us = 3 * kMemoryRetry_us;
	bool told = false;

	leave_the_reserve(2);
	Call call(&client(), &server());
	StuckWriter stuck;
	if (call.send(kFew, SMC_MSG_DONTWAIT) != -EAGAIN)
		fail("it has found memory");
	scheduler().spawn("poller", [&] {
		(void)call.client_polls(SMC_POLL_OUT);
		told = true;
	});
	for (u64 waited_us = 0; waited_us < kSoon_us; waited_us += kMemoryRetry_us / 3) {
		scheduler().sleep_us(kMemoryRetry_us / 3);
		(void)call.send(kFew, SMC_MSG_DONTWAIT);
	}
	if (!told)
		fail("nobody else is woken while one tries");
	stuck.end();
	forget_limits();
}

// The host has no memory left for rings. Whoever has something to send gets the smallest send
// buffer, and gets rid of it.
void writer_does_not_wait()
{
	ask_for_rings();
	const Sockets socks = connect_many(3);

	rings().set_marks(rings().bytes(), rings().bytes());
	sys_close(connect_one(false));
	expect_answers(socks);
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_BUF_USAGE)] !=
		    3 * SMC_RING_BYTES_MIN)
			fail("send buffers are not the smallest");
	}
	close_all(socks);
	forget_limits();
}

// ---- Buffers whose registration is under way ----------------------------------------------------

// As many RMBs as are registered at a time.
constexpr int kInVain = 8;

// The client has no receive for the server's messages. Buffers of other connections are registered
// behind those: their handshakes end before.
void connect_behind(struct socket *slow)
{
	int under_way = 0;

	link_of(&client())->full = true;
	(void)send_byte(slow, kHello);
	scheduler().sleep_us(kMoment_us);
	for (int i = 0; i < kInVain; i++)
		connect_in_vain(under_way);
	while (under_way != 0)
		scheduler().sleep_us(kMoment_us);
}

void receive_again(struct socket *slow)
{
	u8 byte = 0;

	link_of(&client())->full = false;
	scheduler().sleep_us(kMoment_us);
	if (receive_byte(slow, &byte) != 1 || byte != kHello)
		fail("what the client was slow to receive is lost");
}

s64 server_buffers()
{
	return server().stats[SMC_STAT_BUF_NEW] - server().stats[SMC_STAT_BUF_FREE];
}

// Buffers are kept for the next connection while they are being registered. They do not make way,
// not even when memory is scarce, until the queue has finished with them.
void kept_while_registering()
{
	int under_way = 0;

	ask_for_rings();
	struct socket *slow = connect_one();
	connect_behind(slow);
	if (server_buffers() < 3 + kInVain)
		fail("%lld buffers, none is kept", server_buffers());
	// There is no larger one, and nothing that could make way.
	rings().set_marks(rings().bytes(), rings().bytes());
	server().wmem_bytes = server().rmem_bytes = 2 * kRing;
	connect_in_vain(under_way);
	while (under_way != 0)
		scheduler().sleep_us(kMoment_us);
	rings().set_marks(0, RingMemory::kUnlimited);
	connect_in_vain(under_way);
	while (under_way != 0)
		scheduler().sleep_us(kMoment_us);
	receive_again(slow);
	forget_limits();
	ask_for_rings();
	// They serve others now.
	Sockets socks = connect_many(kInVain);
	socks.push_back(slow);
	expect_answers(socks);
	close_all(socks);
}

// Nothing is kept, so buffers that are being registered are only waited for. A client that receives
// only now and then does not make the server pile them up.
void dropped_while_registering()
{
	constexpr int kTurns = 5;

	ask_for_rings();
	struct socket *slow = connect_one();
	rings().set_marks(0, RingMemory::kUnlimited);
	for (int turn = 0; turn < kTurns; turn++) {
		connect_behind(slow);
		receive_again(slow);
	}
	if (server_buffers() > 3 + kInVain)
		fail("%lld buffers of one connection", server_buffers());
	forget_limits();
	Sockets socks = connect_many(1);
	socks.push_back(slow);
	expect_answers(socks);
	close_all(socks);
}

const Case kCases[] = {
	{"ring-bound", [] { with_server(bound); }},
	{"ring-full-group", [] { with_server(full_group); }},
	{.name = "ring-inherited",
	 .play = [] { with_server(inherited_rings); },
	 .lasts_us = 2 * kMinutes_us},
	{"ring-writers-take-turns", [] { with_server(writers_take_turns); }},
	{.name = "ring-writer-waits", .play = [] { scripted(writer_waits); }, .scripted = true},
	{.name = "ring-peer-does-not-read",
	 .play = [] { scripted(peer_does_not_read); },
	 .scripted = true},
	{.name = "ring-borrower-finds-memory",
	 .play = [] { scripted(borrower_finds_memory); },
	 .scripted = true},
	{.name = "ring-writers-of-one-socket",
	 .play = [] { scripted(writers_of_one_socket); },
	 .scripted = true},
	{.name = "ring-writer-is-impatient",
	 .play = [] { scripted(writer_is_impatient); },
	 .scripted = true},
	{"ring-writer-does-not-wait", [] { with_server(writer_does_not_wait); }},
	{.name = "ring-kept-while-registering",
	 .play = [] { with_server(kept_while_registering); },
	 .scattered = true},
	{.name = "ring-dropped-while-registering",
	 .play = [] { with_server(dropped_while_registering); },
	 .scattered = true},
};

} // namespace

const std::span<const Case> ring_cases{kCases};

} // namespace sim
