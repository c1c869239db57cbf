// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about connect(): two clients, other calls on a socket that is connecting, and servers that
// do not answer.
#include "cases.hpp"

#include <cerrno>
#include <vector>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/socket/smc_socket.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr int kBacklog = 3;
constexpr u64 kAlone_us = 1'000; // until a silent server's client sleeps

s64 count(u32 index)
{
	return client().stats[index];
}

void expect_tcp(struct socket *sock, int ret)
{
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (sys_uses_smc(sock))
		fail("two clients agree on SMC");
	if (sock->sk->offers_smc)
		fail("its next connection would show the option");
}

void expect_byte(struct socket *from, struct socket *to)
{
	u8 byte = 0;

	if (send_byte(from, kHello) != 1 || receive_byte(to, &byte) != 1 || byte != kHello)
		fail("the other one gets %u", byte);
	msghdr more{.flags = SMC_MSG_DONTWAIT, .to = &byte, .length_bytes = 1};
	if (sys_receive(to, more) > 0)
		fail("the other one gets more than was sent");
}

void meet(bool one_sided, bool with_smc = true)
{
	struct socket *a = sys_socket(&client());
	struct socket *b = sys_socket(&server());
	bool there = false;

	b->ours = with_smc;

	processes()++;
	scheduler().spawn("other", [&] {
		expect_tcp(b, sys_connect_crossed(b, a, one_sided));
		there = true;
		processes()--;
	});
	expect_tcp(a, sys_connect_crossed(a, b, one_sided));
	while (!there)
		scheduler().sleep_us(kMoment_us);
	expect_byte(a, b);
	expect_byte(b, a);
	sys_close(a);
	sys_close(b);
}

// Each connects to the other. Some have a reason to decline before they have received anything.
void two_clients(bool one_sided)
{
	world().faults = true;
	for (const u64 no_route : {0, 2, 1}) {
		world().knobs.no_route = no_route;
		for (int i = 0; i < 20; i++)
			meet(one_sided);
	}
	world().faults = false;
	for (int i = 0; i < 20; i++)
		meet(one_sided, false);
}

// SO_RCVLOWAT, set during connect(), must not affect the handshake's messages.
void low_water_mark()
{
	constexpr int kMark = 100'000;

	for (u64 i = 0; i < 60; i++) {
		struct socket *sock = sys_socket(&client());

		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		scheduler().sleep_us(i * 700);
		sys_rcvlowat(sock, kMark);
		const u64 began_us = scheduler().now_us();
		(void)sys_poll_wait(sock, SMC_POLL_OUT);
		if (sys_connect(sock, &server(), kPort) != 0 || !sys_uses_smc(sock))
			fail("no connection by SMC with a high mark");
		if (scheduler().now_us() - began_us > kMoment_us)
			fail("with a high mark it takes %llu us", scheduler().now_us() - began_us);
		if (sock->sk->rcvlowat != kMark)
			fail("the mark is %d afterwards", sock->sk->rcvlowat);
		sys_close(sock);
	}
}

// A call holds the lock of a client's sock, longer each time, from some moment of its handshake on.
void keep_lock(struct socket *sock, u64 from_us, u64 kept_us, bool *kept)
{
	scheduler().spawn("keeper", [=] {
		scheduler().sleep_us(from_us);
		smc_sk_lock(sock->sk);
		scheduler().sleep_us(kept_us);
		smc_sk_unlock(sock->sk);
		*kept = false;
	});
}

// Others notice nothing; afterwards the handshake goes on, and shutdown() ends it as ever.
void kept_lock()
{
	constexpr u64 kMoments = 400;

	for (u64 i = 0; i < kMoments; i++) {
		struct socket *sock = sys_socket(&client());
		bool kept = true;

		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		keep_lock(sock, i * i / 8, 1 + i * 500, &kept);
		yield_some(8);
		const u64 began_us = scheduler().now_us();
		sys_close(connect_one());
		if (scheduler().now_us() - began_us > kMoment_us)
			fail("another one's connect() takes %llu us",
			     scheduler().now_us() - began_us);
		if (i % 4 == 0 && sys_shutdown(sock, 2) != 0)
			fail("shutdown() fails");
		while (kept)
			scheduler().sleep_us(kMoment_us / 100);
		if (i % 4 != 0) {
			(void)sys_poll_wait(sock, SMC_POLL_OUT);
			if (sys_connect(sock, &server(), kPort) != 0)
				fail("connect() fails after a lock was kept");
			if (!sys_uses_smc(sock))
				fail("it goes by TCP after a lock was kept");
		}
		sys_close(sock);
	}
}

// A call holds the sock's lock until a little after the handshake's timeout. The server's Decline,
// which came meanwhile, still counts.
void kept_lock_at_deadline()
{
	struct socket *sock = sys_socket(&client());
	bool kept = true;

	smc_ctl_ueid_flush(&server());
	sock->nonblock = true;
	(void)sys_connect(sock, &server(), kPort);
	keep_lock(sock, 150, 6'200'000, &kept);
	scheduler().sleep_us(8'000'000);
	if (kept)
		fail("the lock is kept for longer than that");
	(void)sys_poll_wait(sock, SMC_POLL_OUT);
	if (sys_connect(sock, &server(), kPort) != 0 || sys_uses_smc(sock))
		fail("no connection by TCP, though the server has answered in time");
	sys_close(sock);
}

// A shutdown() ends an attempt to connect, and another one begins. It is as fast as any.
void connect_beside_shutdown()
{
	for (int i = 0; i < 2000; i++) {
		struct socket *sock = sys_socket(&client());
		bool shutting = true;
		int ret = -EINPROGRESS;

		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		scheduler().spawn("shutdown", [&] {
			(void)sys_shutdown(sock, 2);
			shutting = false;
		});
		const u64 began_us = scheduler().now_us();
		while (shutting || ret == -EINPROGRESS || ret == -EALREADY) {
			ret = sys_connect(sock, &server(), kPort);
			yield_some(3);
			if (!shutting)
				(void)sys_poll_wait(sock, SMC_POLL_OUT);
		}
		const u64 took_us = scheduler().now_us() - began_us;
		if (took_us > kMoment_us)
			fail("connect() says %d after %llu us", ret, took_us);
		sys_close(sock);
	}
}

// shutdown() counts the connection as established while connect() still waits. As on TCP that call
// reports success, and only one that comes later is told that there is a connection.
void connect_sleeps_beside_shutdown()
{
	unsigned connected = 0;
	unsigned ended = 0;

	for (u64 i = 0; i < 1000; i++) {
		struct socket *sock = sys_socket(&client());
		const s64 before = count(SMC_STAT_CONN_NEW);
		int ret = 1;

		scheduler().spawn("client", [&] { ret = sys_connect(sock, &server(), kPort); });
		// At some moment, or when the endpoint is there.
		if (i % 4 == 0)
			scheduler().sleep_us(i);
		while (i % 4 != 0 && ret == 1 && count(SMC_STAT_CONN_NEW) == before)
			scheduler().yield();
		yield_some(30);
		const bool shut = ret == 1 && sys_shutdown(sock, 1) == 0;
		while (ret == 1)
			scheduler().sleep_us(kMoment_us / 100);
		if (ret == 0 && shut)
			connected++;
		else if (ret == -ECONNRESET || ret == -ECONNABORTED || ret == -EPIPE)
			ended++;
		else if (ret != 0)
			fail("connect() beside shutdown() says %d", ret);
		if (ret == 0 && sys_connect(sock, &server(), kPort) != -EISCONN)
			fail("connect() on a connected socket succeeds");
		if (ret == 0 && shut && send_byte(sock, kHello) != -EPIPE)
			fail("round %llu: shutdown() is forgotten", i);
		sys_close(sock);
	}
	if (connected == 0 || ended == 0)
		fail("%u connected, %u ended", connected, ended);
}

// shutdown() while TCP's connection is established: either that one is shut down, or connect()
// fails.
void shutdown_as_tcp_connects()
{
	constexpr u64 kEstablished_us = 100; // by then, as a rule

	for (u64 i = 0; i < 3000; i++) {
		struct socket *sock = sys_socket(&client());
		int ret = 1;

		scheduler().spawn("client", [&] { ret = sys_connect(sock, &server(), kPort); });
		scheduler().sleep_us(i % kEstablished_us);
		yield_some(10);
		const bool shut = sys_shutdown(sock, i % 2 == 0 ? 1 : 2) == 0;
		while (ret == 1)
			scheduler().sleep_us(kMoment_us / 100);
		if (ret == 0 && shut && send_byte(sock, kHello) != -EPIPE)
			fail("round %llu: shutdown() is forgotten", i);
		sys_close(sock);
	}
}

// Threads send and receive before there is a connection. Their calls must not take part in the
// handshake, though TCP would let them at some point.
void connect_beside_calls()
{
	for (int i = 0; i < 400; i++) {
		struct socket *sock = sys_socket(&client());
		int calling = 2;
		int sent = 0;
		bool connected = false;

		sock->nonblock = true;
		scheduler().spawn("sender", [&] {
			while (sent == 0 && !connected) {
				const int ret = send_byte(sock, kHello);
				if (ret != 1 && ret != -EAGAIN && ret != -EPIPE)
					fail("send() %d", ret);
				sent = ret == 1 ? 1 : 0;
				scheduler().yield();
			}
			calling--;
		});
		scheduler().spawn("receiver", [&] {
			while (!connected) {
				u8 byte;
				const int ret = receive_byte(sock, &byte);
				if (ret == 1 && byte == kHello)
					sent--;
				else if (ret != -EAGAIN && ret != -ENOTCONN)
					fail("recv() %d, byte %#x", ret, byte);
				scheduler().yield();
			}
			calling--;
		});
		int ret = sys_connect(sock, &server(), kPort);
		while (ret == -EINPROGRESS || ret == -EALREADY) {
			scheduler().yield();
			ret = sys_connect(sock, &server(), kPort);
		}
		if (ret != 0 || !sys_uses_smc(sock))
			fail("connect() fails, errno %d", -ret);
		connected = true;
		while (calling != 0)
			scheduler().yield();
		sock->nonblock = false;
		u8 byte = kHello;
		if (sent != 0 && (receive_byte(sock, &byte) != 1 || byte != kHello))
			fail("what was sent has not come");
		expect_answer(sock);
		sys_close(sock);
	}
}

// A server with SMC that never answers.
struct socket *silent_server()
{
	struct socket *silent = sys_socket(&server());

	silent->ours = false;
	silent->sk->offers_smc = true;
	(void)sys_listen(silent, kPort, kBacklog);
	return silent;
}

// While connect() sleeps, other calls return TCP's errors of a socket without a SYN-ACK, and
// shutdown() wakes the connect().
void calls_beside_connect()
{
	struct socket *silent = silent_server();
	struct socket *sock = sys_socket(&client());
	int connected = 1;

	scheduler().spawn("client",
			  [sock, &connected] { connected = sys_connect(sock, &server(), kPort); });
	scheduler().sleep_us(kMoment_us);
	sock->nonblock = true;
	int ret = sys_connect(sock, &server(), kPort);
	if (ret != -EALREADY)
		fail("connect() beside connect() says %d", ret);
	ret = sys_listen(sock, kPort, kBacklog);
	if (ret != -EINVAL)
		fail("listen() beside connect() says %d", ret);
	if (connected != 1)
		fail("connect() says %d before there is an answer", connected);
	if (sys_shutdown(sock, 2) != 0)
		fail("shutdown() fails");
	scheduler().sleep_us(kMoment_us);
	if (connected != -ECONNRESET)
		fail("connect() says %d after shutdown()", connected);
	sys_close(sock);
	sys_close(silent);
	scheduler().sleep_us(kRest_us);
}

// The server begins to answer and stops: the client is still connecting. After shutdown() it
// becomes a server itself.
void listen_after_shutdown()
{
	struct socket *silent = silent_server();
	struct socket *sock = sys_socket(&client());
	int waiting_bytes = -1;

	sock->nonblock = true;
	if (sys_connect(sock, &server(), kPort) != -EINPROGRESS)
		fail("connect() does not take its time");
	scheduler().sleep_us(kMoment_us);
	sock->sk->connection->send(1, Segment::kData, "\xe2");
	scheduler().sleep_us(kMoment_us);
	if (sys_ioctl(sock, SMC_SIOCINQ, &waiting_bytes) != 0 || waiting_bytes != 0)
		fail("%d bytes wait to be read in a handshake", waiting_bytes);
	if (smc_op_has_peer(sock))
		fail("getpeername() knows the peer in a handshake");
	if (sys_shutdown(sock, 2) != 0)
		fail("shutdown() fails");
	if (sys_listen(sock, kPort, kBacklog) != 0)
		fail("listen() fails");
	scheduler().sleep_us(kMoment_us);
	sock->nonblock = false;
	struct socket *guest = sys_socket(&server());
	const int ret = sys_connect(guest, &client(), kPort);
	if (ret != 0)
		fail("connect() to what was a client fails, errno %d", -ret);
	expect_next(sock, guest);
	sys_close(sock);
	sys_close(silent);
	scheduler().sleep_us(kRest_us);
}

void connect_and_look(bool ack_waits, const char *wrong)
{
	struct socket *sock = connect_by_any();

	if (sock->sk->ack_waits != ack_waits)
		fail("%s", wrong);
	expect_answer(sock);
	sys_close(sock);
}

// The Proposal is the ACK of the SYN-ACK, but only where one follows. The server may be in this
// kernel, and CLC go by memory: then it learns of the connection by TCP's ACK alone.
void proposal_acknowledges()
{
	connect_and_look(true, "an ACK goes ahead of the Proposal");
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	connect_and_look(false, "a server that may be near waits for the ACK");
	world().knobs.loopback = 0;
	connect_and_look(true, "an ACK goes ahead of the Proposal");
	const smc_peer_rule rule{.out = true, .port_first = kPort, .port_last = kPort};
	if (smc_ctl_rule_add(&client(), &rule) != 0)
		fail("no rule");
	connect_and_look(false, "a server waits for an ACK, and no Proposal follows");
	if (smc_ctl_rule_del(&client(), &rule) != 0)
		fail("no rule to delete");
}

// Another thread's connect(); @connecting until it has returned.
Fiber *connect_aside(struct socket *sock, bool &connecting)
{
	connecting = true;
	return scheduler().spawn("client", [sock, &connecting] {
		(void)sys_connect(sock, &server(), kPort);
		connecting = false;
	});
}

// Another thread ends what a connect() waits for, and connects the socket to a server without SMC
// before the first one has the processor: that one returns when the second connection is there.
void connect_beside_another()
{
	constexpr u16 kOther = kPort + 1;
	constexpr int kTimes = 300;
	struct socket *silent = silent_server();
	struct socket *plain = sys_socket(&server());

	plain->ours = false;
	// Nobody accepts.
	if (sys_listen(plain, kOther, kTimes) != 0 || sys_listen(silent, kPort, kTimes) != 0)
		fail("listen() fails");
	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		bool connecting = false;
		Fiber *slow = connect_aside(sock, connecting);
		scheduler().sleep_us(kAlone_us);
		slow->stall_one_in = 1;
		slow->stall_us = 100;
		sock->nonblock = true;
		if (sys_disconnect(sock) != 0)
			fail("the attempt does not end");
		(void)sys_connect(sock, &server(), kOther);
		scheduler().sleep_us(kAlone_us);
		if (connecting)
			fail("connect() sleeps for ever");
		sys_close(sock);
	}
	sys_close(plain);
	sys_close(silent);
	scheduler().sleep_us(kRest_us);
}

// connect(AF_UNSPEC) is a socket's first call, and waits for its lock until another thread's first
// connect() has got somewhere. What it ends is not connected again.
void first_connect_beside_disconnect()
{
	constexpr u64 kWaits_us = 600;
	constexpr int kTimes = 1000;
	const s64 again = count(SMC_STAT_CONNECTED_AGAIN);
	int ended = 0;

	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		int disconnected = 1;

		smc_ctl_peers_flush(&client());
		Fiber *slow = scheduler().spawn("disconnect",
						[&] { disconnected = sys_disconnect(sock); });
		slow->stall_one_in = 1;
		slow->stall_us = kWaits_us;
		// Sometimes TCP's part is over, and ours is not.
		scheduler().sleep_us(1 + scheduler().random().below(i % 2 == 0 ? 1 : kWaits_us));
		const int ret = sys_connect(sock, &server(), kPort);
		while (disconnected == 1)
			scheduler().sleep_us(kMoment_us / 100);
		if (disconnected != 0)
			fail("connect(AF_UNSPEC) fails");
		ended += ret != 0 ? 1 : 0;
		if (count(SMC_STAT_CONNECTED_AGAIN) != again)
			fail("what the user has ended is connected again");
		// Or all of it came before the call.
		if (ret == 0 && smc_sock_ss(sock) == SMC_SS_CONNECTED)
			expect_answer(sock);
		if (sys_disconnect(sock) != 0 || sys_connect(sock, &server(), kPort) != 0)
			fail("it cannot be connected afterwards");
		expect_answer(sock);
		sys_close(sock);
	}
	if (ended == 0 || ended == kTimes)
		fail("%d of %d attempts are ended", ended, kTimes);
}

// shutdown() ends a handshake, and has not returned when connect() has reported that and the next
// attempt begins, which it leaves alone.
void connect_after_shutdown()
{
	constexpr int kTimes = 3000;
	int ended = 0;

	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		bool shutting = true;

		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		while (smc_sk_state(sock->sk) == SMC_TCP_SYN_SENT)
			scheduler().sleep_us(1);
		scheduler().spawn("shutdown", [&] {
			(void)sys_shutdown(sock, 2);
			shutting = false;
		});
		int ret = -EALREADY;
		while (ret == -EALREADY || ret == -EINPROGRESS)
			ret = sys_connect(sock, &server(), kPort);
		ended += ret == -ECONNRESET ? 1 : 0;
		for (bool again = ret == -ECONNRESET; again;) {
			ret = sys_connect(sock, &server(), kPort);
			again = ret == -EALREADY || ret == -EINPROGRESS;
			// A shutdown() that is slow ends the next one, too.
			if (!again && ret != 0 && ret != -ECONNRESET)
				fail("round %d: the next connect() says %d", i, ret);
		}
		while (shutting)
			scheduler().sleep_us(kMoment_us / 100);
		sys_close(sock);
	}
	if (ended == 0)
		fail("no handshake is ended");
}

// Another thread ends what a connect() has got, and connects the socket again before the first one
// has the processor.
void connect_beside_the_next()
{
	constexpr int kTimes = 2000;
	constexpr u64 kWaits_us = 100;

	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		bool connecting = false;
		Fiber *slow = connect_aside(sock, connecting);
		slow->stall_one_in = 4;
		slow->stall_us = kWaits_us;
		scheduler().sleep_us(scheduler().random().below(4 * kWaits_us));
		if (sys_disconnect(sock) != 0)
			fail("connect(AF_UNSPEC) fails");
		const int ret = sys_connect(sock, &server(), kPort);
		// Or the other one has connected it once more.
		if (ret != 0 && ret != -EISCONN)
			fail("round %d: the next connect() says %d", i, ret);
		expect_answer(sock);
		while (connecting)
			scheduler().sleep_us(kMoment_us / 100);
		sys_close(sock);
	}
}

// A client that is shown the option waits for a handshake, and TCP's accept() makes none.
void expect_no_false_offer(const struct socket *sock)
{
	if (sock->sk->state == SMC_TCP_LISTEN && sock->sk->offers_smc && sock->ours &&
	    smc::shell::SmcSocket::of(const_cast<struct socket *>(sock))->mode() !=
		    smc::shell::Mode::kListening)
		fail("TCP's listener shows the option");
}

// As on TCP one of them comes first, and the other one fails.
void listen_beside_connect()
{
	constexpr int kTimes = 2000;
	constexpr u64 kWaits_us = 100;
	int listening = 0;

	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		int listened = 1;

		Fiber *slow = scheduler().spawn("listener", [&] {
			listened = sys_listen(sock, kPort + 1, kBacklog);
			expect_no_false_offer(sock);
		});
		slow->stall_one_in = 2;
		slow->stall_us = kWaits_us;
		scheduler().sleep_us(scheduler().random().below(kWaits_us));
		const int ret = sys_connect(sock, &server(), kPort);
		while (listened == 1)
			scheduler().sleep_us(kMoment_us / 100);
		if (listened == 0 ? ret != -EISCONN : listened != -EINVAL || ret != 0)
			fail("listen() says %d, connect() %d", listened, ret);
		if (ret == 0 && !sys_uses_smc(sock))
			fail("connect() beside listen() makes it TCP");
		if (ret == 0)
			expect_answer(sock);
		listening += listened == 0 ? 1 : 0;
		sys_close(sock);
	}
	if (listening == 0 || listening == kTimes)
		fail("%d of %d listen", listening, kTimes);
}

// shutdown() has ended a connect(), or a listener, and not returned; the next call comes already.
void calls_beside_slow_shutdown()
{
	constexpr u64 kTimes = 2000;
	constexpr u64 kWaits_us = 50;

	for (u64 i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		const bool listens = i % 2 == 0;
		bool shutting = true;

		sock->nonblock = true;
		if (listens ? sys_listen(sock, kPort + 1, kBacklog) != 0
			    : sys_connect(sock, &server(), kPort) != -EINPROGRESS)
			fail("it does not begin");
		Fiber *slow = scheduler().spawn("shutdown", [&] {
			(void)sys_shutdown(sock, 2);
			shutting = false;
		});
		slow->stall_one_in = 2;
		slow->stall_us = kWaits_us;
		scheduler().sleep_us(scheduler().random().below(kWaits_us));
		sock->nonblock = false;
		const int ret = listens ? sys_connect(sock, &server(), kPort)
					: sys_listen(sock, kPort + 1, kBacklog);
		if (!listens && ret != 0 && ret != -EINVAL)
			fail("listen() says %d", ret);
		expect_no_false_offer(sock);
		while (shutting)
			scheduler().sleep_us(kMoment_us / 100);
		expect_no_false_offer(sock);
		if (listens && ret == 0 && smc_sock_ss(sock) == SMC_SS_CONNECTED &&
		    !smc_sk_is_shut(sock->sk) && sys_uses_smc(sock) &&
		    smc::shell::SmcSocket::of(sock)->mode() != smc::shell::Mode::kSmc)
			fail("round %llu: a connection that was offered SMC has none", i);
		sys_close(sock);
	}
}

// A connection that takes longer than the user wants to wait, to a server whose program does
// nothing.
class Slow {
public:
	Slow() : listener_(sys_socket(&server()))
	{
		if (sys_listen(listener_, kPort, kBacklog) != 0)
			fail("listen() fails");
		sock->nonblock = true;
	}
	~Slow()
	{
		sys_close(sock);
		sys_close(listener_);
	}
	Slow(const Slow &) = delete;
	Slow &operator=(const Slow &) = delete;

	struct socket *const sock = sys_socket(&client());

private:
	struct socket *const listener_;
};

void expect_time(const char *what, u64 began_us, u32 want_ms)
{
	constexpr u64 kSlack_us = 20'000;
	const u64 took_us = scheduler().now_us() - began_us;

	if (took_us > want_ms * 1000ULL + kSlack_us || took_us + kSlack_us < want_ms * 1000ULL)
		fail("%s takes %llu us, not %u ms", what, took_us, want_ms);
}

// SO_SNDTIMEO is for TCP's handshake and SMC's together.
void connect_in_one_time()
{
	unsigned late = 0;

	for (u32 time_ms = 100; time_ms < 1500; time_ms += 50) {
		const Slow slow;
		const u64 began_us = scheduler().now_us();

		slow.sock->nonblock = false;
		slow.sock->sk->sndtimeo_ms = time_ms;
		const int ret = sys_connect(slow.sock, &server(), kPort);
		if (ret == 0)
			continue;
		if (ret != -EINPROGRESS)
			fail("connect() says %d when its time is over", ret);
		expect_time("connect()", began_us, time_ms);
		late += smc_sk_state(slow.sock->sk) == SMC_TCP_ESTABLISHED ? 1 : 0;
	}
	if (late == 0)
		fail("TCP's handshake takes all the time");
	scheduler().sleep_us(kRest_us);
}

// The same for a call that waits until the socket is connected, and then for bytes or room.
void call_in_one_time()
{
	constexpr u32 kTime_ms = 4000; // more than both handshakes take
	constexpr size_t kMuch_bytes = 20'000'000;
	std::vector<u8> memory(kMuch_bytes);

	for (const bool sends : {false, true}) {
		const Slow slow;
		struct socket *sock = slow.sock;
		msghdr msg{.from = memory.data(), .to = memory.data(), .length_bytes = kMuch_bytes};

		(void)sys_connect(sock, &server(), kPort);
		const u64 began_us = scheduler().now_us();
		sock->nonblock = false;
		sock->sk->sndtimeo_ms = sock->sk->rcvtimeo_ms = kTime_ms;
		const int ret = sends ? sys_send(sock, msg) : sys_receive(sock, msg);
		if (sends ? ret <= 0 : ret != -EAGAIN)
			fail("%s says %d", sends ? "send()" : "recv()", ret);
		if (!sys_uses_smc(sock))
			fail("no connection by SMC");
		expect_time(sends ? "send()" : "recv()", began_us, kTime_ms);
	}
	scheduler().sleep_us(kRest_us);
}

// Who sleeps in connect() sleeps once in TCP's, and once until the handshake is done: CLC messages
// do not wake him. What ends the handshake does.
void connect_is_woken_once()
{
	constexpr int kTimes = 60;
	const unsigned slept = scheduler().current()->sleeps;

	for (int i = 0; i < kTimes; i++)
		sys_close(connect_one());
	const unsigned sleeps = scheduler().current()->sleeps - slept;
	if (sleeps > 2 * kTimes)
		fail("%d calls of connect() sleep %u times", kTimes, sleeps);
}

const Case kCases[] = {
	{"two-clients", [] { scripted([] { two_clients(false); }); }},
	{"two-clients-one-sided", [] { scripted([] { two_clients(true); }); }},
	{"low-water-mark-far", [] { with_server(low_water_mark); }, 5000},
	{"kept-lock", [] { with_server(kept_lock); }},
	{"kept-lock-far", [] { with_server(kept_lock); }, 5000},
	{"kept-lock-at-deadline", [] { with_server(kept_lock_at_deadline); }, 100},
	{"connect-beside-shutdown", [] { with_server(connect_beside_shutdown); }},
	{"shutdown-as-tcp-connects", [] { with_server(shutdown_as_tcp_connects); }},
	{"connect-sleeps-beside-shutdown", [] { with_server(connect_sleeps_beside_shutdown); }},
	{"first-connect-beside-disconnect", [] { with_server(first_connect_beside_disconnect); }},
	{"connect-in-one-time", connect_in_one_time, 200'000},
	{"call-in-one-time", call_in_one_time, 200'000},
	{"connect-after-shutdown", [] { with_server(connect_after_shutdown); }, 100},
	{"connect-beside-the-next", [] { with_server(connect_beside_the_next); }},
	{"listen-beside-connect", [] { with_server(listen_beside_connect); }},
	{"calls-beside-slow-shutdown", [] { with_server(calls_beside_slow_shutdown); }},
	{"connect-beside-calls", [] { with_server(connect_beside_calls); }},
	{"calls-beside-connect", calls_beside_connect},
	{"listen-after-shutdown", listen_after_shutdown},
	{"connect-is-woken-once", [] { with_server(connect_is_woken_once); }},
	{.name = "connect-beside-another", .play = connect_beside_another, .orders = 12},
	{"proposal-acknowledges", [] { with_server(proposal_acknowledges); }},
};

} // namespace

const std::span<const Case> connect_cases{kCases};

} // namespace sim
