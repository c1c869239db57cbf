// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about listeners: accept() and listen() beside other calls, servers that accept late, and
// limits.
#include "cases.hpp"

#include <cerrno>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr int kBacklog = 3;
constexpr u64 kBusy_us = 7'000'000; // longer than a client waits in its handshake
constexpr u64 kStep_us = 50;
constexpr u64 kHours_us = u64{3} * 3600 * 1'000'000;

// One thread is in accept() while others shut the listener down and make it TCP's. The client has
// begun a handshake, and is silent.
void accept_beside_leave()
{
	for (int i = 0; i < 2000; i++) {
		struct socket *listener = sys_socket(&server());
		struct socket *silent = sys_socket(&client());
		bool accepting = true;
		u8 byte;

		if (sys_listen(listener, kPort, kBacklog) != 0)
			fail("listen() fails");
		listener->nonblock = true;
		silent->ours = false;
		silent->sk->offers_smc = true;
		processes()++;
		scheduler().spawn("accept", [&] {
			struct socket *child = nullptr;
			int ret = -EAGAIN;

			while (ret == -EAGAIN)
				ret = sys_accept(listener, &child);
			if (ret == 0)
				fail("accept() gives one that has said nothing");
			accepting = false;
			processes()--;
		});
		if (sys_connect(silent, &server(), kPort) != 0)
			fail("connect() fails");
		yield_some(8);
		if (sys_shutdown(listener, 0) != 0)
			fail("shutdown() fails");
		if (!sys_leave(listener))
			fail("a listener that is none stays ours");
		while (accepting)
			scheduler().yield();
		sys_close(listener);
		const int ret = receive_byte(silent, &byte);
		if (ret != -ECONNRESET && ret != 0)
			fail("the client's recv() %d", ret);
		sys_close(silent);
	}
	scheduler().sleep_us(kRest_us);
}

// The same with clients that complete: each handshake is accepted, or ends with the listener.
void accepts_beside_leave()
{
	for (u64 i = 0; i < 800; i++) {
		struct socket *listener = sys_socket(&server());
		int calling = 0;

		if (sys_listen(listener, kPort, kBacklog) != 0)
			fail("listen() fails");
		listener->nonblock = true;
		for (int caller = 0; caller < 16; caller++) {
			calling += 2;
			scheduler().spawn("accept", [&] {
				int ret = -EAGAIN;

				while (ret == -EAGAIN || ret == 0) {
					struct socket *child = nullptr;

					ret = sys_accept(listener, &child);
					if (ret == 0)
						sys_close(child);
				}
				calling--;
			});
			scheduler().spawn("client", [&] {
				struct socket *sock = sys_socket(&client());

				(void)sys_connect(sock, &server(), kPort);
				sys_close(sock);
				calling--;
			});
		}
		scheduler().sleep_us(8 * (i % 200));
		if (sys_shutdown(listener, 0) != 0)
			fail("shutdown() fails");
		if (!sys_leave(listener))
			fail("a listener that is none stays ours");
		while (calling != 0)
			scheduler().sleep_us(1000);
		sys_close(listener);
	}
	scheduler().sleep_us(kRest_us);
}

// The same beside a listen().
void listen_beside_leave()
{
	for (int i = 0; i < 2000; i++) {
		struct socket *listener = sys_socket(&server());
		bool listening = true;

		(void)smc_op_limit_handshakes(listener, false);
		processes()++;
		scheduler().spawn("listen", [&] {
			(void)sys_listen(listener, kPort, kBacklog);
			listening = false;
			processes()--;
		});
		yield_some(8);
		(void)sys_leave(listener);
		while (listening)
			scheduler().yield();
		if (!listener->ours && !listener->queue.empty())
			fail("TCP's listener has a hook of ours");
		sys_close(listener);
	}
	scheduler().sleep_us(kRest_us);
}

// Nobody accepts at the moment.
struct socket *start_busy_server()
{
	struct socket *listener = sys_socket(&server());

	if (sys_listen(listener, kPort, kBacklog) != 0)
		fail("listen() fails");
	return listener;
}

// TCP's answer to such a client, before the server looks at it.
struct socket *connect_at_once(bool plain = false)
{
	const u64 began_us = scheduler().now_us();
	struct socket *sock = sys_socket(&client());

	sock->ours = !plain;
	const int ret = sys_connect(sock, &server(), kPort);
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (scheduler().now_us() - began_us > kMoment_us)
		fail("connect() takes %llu us", scheduler().now_us() - began_us);
	// The server has the connection with the ACK, which may be slower than the next client's.
	scheduler().sleep_us(world().knobs.latency_us);
	return sock;
}

void accept_in_order(struct socket *listener, const Sockets &socks)
{
	for (struct socket *sock : socks)
		expect_next(listener, sock);
	listener->nonblock = true;
	struct socket *child = nullptr;
	if (sys_accept(listener, &child) != -EAGAIN)
		fail("one too many");
	sys_close(listener);
	scheduler().sleep_us(kRest_us);
}

// Clients of both kinds come while the server is busy.
void busy_server()
{
	struct socket *listener = start_busy_server();
	Sockets socks;

	for (const bool plain : {true, false, true, false})
		socks.push_back(connect_at_once(plain));
	scheduler().sleep_us(kBusy_us);
	accept_in_order(listener, socks);
}

// There is no memory to put aside the child before it, which poll() has promised.
void busy_without_memory()
{
	struct socket *listener = start_busy_server();
	struct socket *plain = connect_at_once(true);
	struct socket *sock = sys_socket(&client());

	sock->nonblock = true;
	if (sys_connect(sock, &server(), kPort) != -EINPROGRESS)
		fail("connect() does not take its time");
	world().knobs.no_memory = 1;
	scheduler().sleep_us(kMoment_us);
	if ((sys_poll(listener) & SMC_POLL_IN) == 0)
		fail("nobody came");
	world().knobs.no_memory = 0;
	expect_next(listener, plain);
	sys_close(sock);
	sys_close(listener);
	scheduler().sleep_us(kRest_us);
}

// The first one has been accepted, and keeps the server busy.
void busy_with_one()
{
	struct socket *listener = start_busy_server();
	const Sockets socks{connect_at_once(true), connect_at_once(true), connect_at_once()};

	scheduler().sleep_us(kMoment_us);
	expect_next(listener, socks[0]);
	struct socket *late = connect_at_once();
	scheduler().sleep_us(kBusy_us);
	accept_in_order(listener, {socks[1], socks[2], late});
}

// Many more than the backlog: there is room for a burst, and later ones use TCP.
void busy_with_many()
{
	constexpr size_t kBurst = 32;
	struct socket *listener = start_busy_server();
	Sockets socks;

	while (socks.size() < kBurst + kBacklog)
		socks.push_back(connect_at_once());
	if (!sys_uses_smc(socks[kBurst]) || sys_uses_smc(socks[kBurst + 2]))
		fail("SMC does not end behind a burst");
	scheduler().sleep_us(kBusy_us);
	accept_in_order(listener, socks);
}

// Connections that nobody has accepted are reset, whether SMC or TCP.
void busy_until_it_ends(bool shut)
{
	struct socket *listener = start_busy_server();
	const Sockets socks{connect_at_once(true), connect_at_once(), connect_at_once(true)};
	u8 byte;

	scheduler().sleep_us(kMoment_us);
	if (shut && sys_shutdown(listener, 0) != 0)
		fail("shutdown() fails");
	if (!shut)
		sys_close(listener);
	for (struct socket *sock : socks) {
		const int ret = receive_byte(sock, &byte);

		if (ret != -ECONNRESET)
			fail("recv() %d", ret);
		sys_close(sock);
	}
	if (shut)
		sys_close(listener);
	scheduler().sleep_us(kRest_us);
}

// At most one connection that is not accepted, including handshakes. When the only one has failed
// there is room again.
void limit_after_failure()
{
	struct socket *listener = sys_socket(&server());

	// A server whose connections break is offered SMC again.
	world().knobs.peer_time_s = 0;
	if (smc_op_limit_handshakes(listener, true) != 0 || sys_listen(listener, kPort, 0) != 0)
		fail("listen() fails");
	for (int i = 0; i < 3; i++) {
		const s64 made = server().stats[SMC_STAT_CONN_NEW];
		struct socket *sock = sys_socket(&client());

		sock->nonblock = true;
		if (sys_connect(sock, &server(), kPort) != -EINPROGRESS)
			fail("connect() does not take its time");
		// The server has sent its Accept by then.
		for (u64 us = 0; server().stats[SMC_STAT_CONN_NEW] == made; us++) {
			if (us == kMoment_us)
				fail("SMC is not offered any more");
			scheduler().sleep_us(1);
		}
		sock->sk->connection->break_off();
		scheduler().sleep_us(kMoment_us);
		if (server().stats[SMC_STAT_SRV_HS_ERR] != i + 1)
			fail("the server's handshake has not failed");
		sys_close(sock);
		// Before that, the client has connected again, by TCP alone.
		struct socket *again = nullptr;
		if (sys_accept(listener, &again) != 0 || sys_uses_smc(again))
			fail("the client has not connected again");
		sys_close(again);
	}
	struct socket *sock = connect_one();
	expect_next(listener, sock);
	sys_close(listener);
	scheduler().sleep_us(kRest_us);
}

// More clients than the backlog; listen() then makes room.
void larger_backlog()
{
	struct socket *listener = sys_socket(&server());
	Sockets socks;

	if (smc_op_limit_handshakes(listener, true) != 0 || sys_listen(listener, kPort, 1) != 0)
		fail("listen() fails");
	while (socks.size() < 3) {
		socks.push_back(connect_one());
		scheduler().sleep_us(kMoment_us);
		if (socks.size() == 2 && sys_listen(listener, kPort, 2 * kBacklog) != 0)
			fail("listen() fails");
	}
	accept_in_order(listener, socks);
}

// An accept() that has a connection is slow, and leaves the handshake's socket to a listener that
// has closed meanwhile.
void slow_accept_beside_leave()
{
	for (u64 i = 0; i < 300; i++) {
		struct socket *listener = start_busy_server();
		struct socket *sock = connect_at_once();
		bool accepting = true;

		Fiber *slow = scheduler().spawn("accept", [&] {
			struct socket *child = nullptr;

			if (sys_accept(listener, &child) == 0)
				sys_close(child);
			accepting = false;
		});
		slow->stall_one_in = 4;
		slow->stall_us = 200;
		scheduler().sleep_us(i % 100);
		if (sys_shutdown(listener, 0) != 0)
			fail("shutdown() fails");
		if (!sys_leave(listener))
			fail("a listener that is none stays ours");
		while (accepting)
			scheduler().sleep_us(kStep_us);
		sys_close(listener);
		sys_close(sock);
	}
	scheduler().sleep_us(kRest_us);
}

// Who sleeps in accept() is woken once for each connection: for one without SMC when TCP has it,
// for one with SMC not before its handshake is done.
void accept_is_woken_once()
{
	constexpr int kTimes = 30;
	struct socket *listener = start_busy_server();
	int accepted = 0;
	bool accepting = true;

	processes()++;
	const Fiber *sleeper = scheduler().spawn("accept", [&] {
		struct socket *child = nullptr;

		for (; sys_accept(listener, &child) == 0; accepted++)
			sys_close(child);
		accepting = false;
		processes()--;
	});
	scheduler().sleep_us(kMoment_us);
	for (int i = 0; i < kTimes; i++) {
		const bool plain = i % 3 == 2;
		const unsigned slept = sleeper->sleeps;
		struct socket *sock = connect_at_once(plain);

		scheduler().sleep_us(kMoment_us);
		if (accepted != i + 1)
			fail("%s: accept() is not woken", plain ? "TCP" : "SMC");
		if (sleeper->sleeps != slept + 1)
			fail("%s: accept() is woken %u times", plain ? "TCP" : "SMC",
			     sleeper->sleeps - slept);
		sys_close(sock);
	}
	if (sys_shutdown(listener, 0) != 0)
		fail("shutdown() fails");
	scheduler().sleep_us(kMoment_us);
	if (accepting)
		fail("accept() sleeps on a listener that was shut down");
	sys_close(listener);
	scheduler().sleep_us(kRest_us);
}

// One that says nothing is in TCP's queue when the handshake of another one is done: who sleeps in
// accept() is told of that one nevertheless.
void accept_beside_silent()
{
	constexpr u64 kMoments = 150;

	for (u64 i = 0; i < kMoments; i++) {
		struct socket *listener = start_busy_server();
		struct socket *silent = sys_socket(&client());
		int calling = 2;

		silent->ours = false;
		silent->sk->offers_smc = true;
		scheduler().spawn("accept", [&] {
			struct socket *child = nullptr;

			if (sys_accept(listener, &child) != 0)
				fail("accept() fails");
			sys_close(child);
			calling--;
		});
		scheduler().spawn("client", [&] {
			sys_close(connect_one());
			calling--;
		});
		scheduler().sleep_us(i * 20);
		if (sys_connect(silent, &server(), kPort) != 0)
			fail("connect() fails");
		scheduler().sleep_us(kMoment_us);
		if (calling != 0)
			fail("accept() sleeps beside one that is done, at %llu us", i * 20);
		sys_close(listener);
		sys_close(silent);
	}
	scheduler().sleep_us(kRest_us);
}

// The socket in which a child does its handshake is used for the next one. Of several at once one
// is kept, and that goes with the listener.
void socket_is_used_again()
{
	constexpr int kTimes = 20;
	const long others = socket_counts().sockets;
	const long wrapped = socket_counts().wrapped;
	struct socket *listener = start_busy_server();

	for (int i = 0; i < kTimes; i++)
		expect_next(listener, connect_at_once());
	if (socket_counts().wrapped != wrapped + 1)
		fail("%ld sockets for handshakes one after another",
		     socket_counts().wrapped - wrapped);
	const Sockets socks{connect_at_once(), connect_at_once(), connect_at_once()};
	for (struct socket *sock : socks)
		expect_next(listener, sock);
	scheduler().sleep_us(kRest_us);
	if (socket_counts().wrapped != wrapped + static_cast<long>(socks.size()))
		fail("%ld sockets for %zu handshakes at once", socket_counts().wrapped - wrapped,
		     socks.size());
	if (socket_counts().sockets != others + 2)
		fail("%ld sockets are kept", socket_counts().sockets - others - 1);
	sys_close(listener);
	if (socket_counts().sockets != others)
		fail("%ld sockets outlive their listener", socket_counts().sockets - others);
}

const Case kCases[] = {
	{"accept-beside-leave", accept_beside_leave},
	{.name = "accepts-beside-leave", .play = accepts_beside_leave, .lasts_us = kHours_us},
	{"slow-accept-beside-leave", slow_accept_beside_leave},
	{"listen-beside-leave", listen_beside_leave},
	{"busy-server", busy_server},
	{"busy-with-one", busy_with_one},
	{"busy-without-memory", busy_without_memory},
	{"busy-with-many", busy_with_many},
	{"busy-until-it-is-closed", [] { busy_until_it_ends(false); }},
	{"busy-until-it-is-shut", [] { busy_until_it_ends(true); }},
	{"limit-after-failure", limit_after_failure},
	{"larger-backlog", larger_backlog},
	{"accept-is-woken-once", accept_is_woken_once},
	{.name = "accept-beside-silent", .play = accept_beside_silent, .work_us = 300},
	{"socket-is-used-again", socket_is_used_again},
};

} // namespace

const std::span<const Case> listener_cases{kCases};

} // namespace sim
