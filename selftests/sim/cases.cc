// SPDX-License-Identifier: GPL-2.0-only
#include "cases.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "script.hpp"
#include "shell/socket/smc_socket.hpp"
#include "socket.hpp"
#include "stranger.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u64 kUnanswered_us = 20'000'000; // one request, or a part of the wait for its turn
constexpr u8 kDeleteRkey = 9;
constexpr int kBacklog = 3;

void expect_buffers(const net &host, s64 expected)
{
	const s64 buffers = host.stats[SMC_STAT_BUF_NEW] - host.stats[SMC_STAT_BUF_FREE];

	if (buffers != expected)
		fail("host %s has %lld buffers, not %lld", host.name.c_str(), buffers, expected);
}

// ---- What goes over the link --------------------------------------------------------------------

std::set<u32> rmbs_of(const net *host)
{
	std::set<u32> rkeys;

	for (const auto &[rkey, region] : fabric().remote) {
		if (region->qpn == link_of(host)->qpn)
			rkeys.insert(rkey);
	}
	return rkeys;
}

std::string delete_rkey(u32 rkey)
{
	std::string message(44, '\0');

	message[0] = 0x29; // version 2
	message[1] = 44;
	message[4] = 1;
	for (int i = 0; i < 4; i++)
		message[8 + i] = static_cast<char>(rkey >> (24 - 8 * i));
	return message;
}

// ---- Plots --------------------------------------------------------------------------------------

constexpr u32 kMany = 200;
constexpr int kGeneralError = 21;
constexpr u32 kBystanders = 5;
constexpr u32 kTokens = 255; // of one group
constexpr u32 kFewest = 16;  // connections that a group may be limited to

// Most of those in a group go at once; the others notice nothing.
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

// Of all but one, at once: a firewall has forgotten them.
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

// The server resets a connection of a full group and has room for another one, while the client
// has not closed its end yet. It takes it all the same, if there is a token left, or says that
// there is none.
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

s64 ended_groups(const net &host)
{
	return host.stats[SMC_STAT_GROUP_TERMINATED];
}

// Somebody who says that he is host a declines what the server gives him: he knows no such group.
// From elsewhere he ends nothing; with host a's address he is believed.
void declined_by_stranger()
{
	net stranger{.name = "stranger", .address = {10, 9, 0, 77}};
	net peer{.name = "peer", .address = client().address};
	struct socket *bystander = connect_one();

	for (int i = 0; i < 3; i++) {
		disown_group(&stranger, &server(), &client());
		scheduler().sleep_us(kMoment_us);
		expect_answer(bystander);
	}
	expect_one_group(1);
	disown_group(&peer, &server(), &client());
	scheduler().sleep_us(kMoment_us);
	if (ended_groups(server()) != 1)
		fail("the peer disowns the group, and it goes on");
	sys_close(bystander);
}

// Who wants larger buffers than the device registers gets the largest it does.
void huge_buffers()
{
	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = 4 * kRegionMaxBytes;
	struct socket *sock = connect_one();

	expect_answer(sock);
	for (const auto &[key, region] : fabric().regions) {
		if (region->buffer->bytes.size() != kRegionMaxBytes)
			fail("a buffer of %zu bytes", region->buffer->bytes.size());
	}
	sys_close(sock);
}

// Devices that see memory through bounce buffers: whatever is not brought there, or fetched from
// there, is a byte that has not come; and what one connection received is not the next one's.
void bounced()
{
	for (int i = 0; i < 3; i++) {
		const Sockets socks = connect_many(kBystanders);

		for (int j = 0; j < 3; j++)
			expect_answers(socks);
		close_all(socks);
		scheduler().sleep_us(kMoment_us);
	}
	expect_one_group(kBystanders);
}

// Where there is no room to map large buffers, small ones do.
void small_mappings()
{
	const Sockets socks = connect_many(kBystanders);

	expect_answers(socks);
	for (const auto &[key, region] : fabric().regions) {
		if (region->buffer->bytes.size() != world().knobs.mapping_bytes)
			fail("a buffer of %zu bytes", region->buffer->bytes.size());
	}
	expect_one_group(kBystanders);
	close_all(socks);
}

// The server's queue pair breaks while it registers an RMB for one more connection of its group.
// The handshake gives up at once, and the device still has the RMB before it.
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

// A device goes while a group on it frees RMBs. Whoever sleeps in recv() is told at once, not when
// the group has waited for what it posted.
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

// ---- Two clients --------------------------------------------------------------------------------

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

// Each connects to the other. Some have a reason to decline before they have heard anything.
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

// ---- Urgent data --------------------------------------------------------------------------------

// The reader stands in front of an urgent byte that is in line, and does not want it there any
// more. The writer has to hear that it was passed: it may wait for that.
void urgent_byte_out_of_line()
{
	struct socket *listener = sys_socket(&server());
	struct socket *reader = nullptr;
	u8 byte = kHello;
	msghdr urgent{.flags = SMC_MSG_OOB, .from = &byte, .length_bytes = 1};
	msghdr stream{.flags = SMC_MSG_DONTWAIT, .to = &byte, .length_bytes = 1};

	if (sys_listen(listener, kPort, 1) != 0)
		fail("listen() fails");
	struct socket *writer = connect_one();
	if (sys_accept(listener, &reader) != 0)
		fail("accept() fails");
	const auto heard_bytes = [writer] {
		const auto endpoint = smc::shell::SmcSocket::of(writer)->connection();

		return endpoint->with_lock([](const smc::connection::Connection &conn) {
			return conn.diagnostics().rx_consumer.count;
		});
	};
	reader->sk->urgent_inline = true;
	(void)sys_send(writer, urgent);
	scheduler().sleep_us(kMoment_us);
	if ((sys_poll(reader) & SMC_POLL_IN) == 0 || heard_bytes() != 0)
		fail("the urgent byte is not in line");
	reader->sk->urgent_inline = false;
	if (sys_receive(reader, stream) > 0)
		fail("the urgent byte is still in line");
	scheduler().sleep_us(kMoment_us);
	if (heard_bytes() != 1)
		fail("the writer does not hear of it");
	for (struct socket *sock : {writer, reader, listener})
		sys_close(sock);
}

// Others go on, for fewer than @most turns.
void yield_some(u32 most)
{
	for (u32 turns = scheduler().random().below(most); turns != 0; turns--)
		scheduler().yield();
}

// ---- Several threads on one connection ----------------------------------------------------------

struct Pair {
	struct socket *writer = nullptr;
	struct socket *reader = nullptr;
};

Pair connect_pair()
{
	struct socket *listener = sys_socket(&server());
	Pair pair;

	if (sys_listen(listener, kPort, 1) != 0)
		fail("listen() fails");
	pair.writer = connect_one();
	if (sys_accept(listener, &pair.reader) != 0)
		fail("accept() fails");
	sys_close(listener);
	return pair;
}

// One thread polls while another one is copying. What neither the reader has nor a call of his
// might have is there to read, and nothing is when he has got all.
void poll_beside_reader()
{
	constexpr size_t kPiece = 700;
	constexpr size_t kPieces = 40;
	const Pair pair = connect_pair();

	for (int i = 0; i < 50; i++) {
		const std::string sent(kPiece * kPieces, 'x');
		msghdr out{.from = reinterpret_cast<const u8 *>(sent.data()),
			   .length_bytes = sent.size()};
		size_t taken_bytes = 0;
		bool reading = true;

		if (sys_send(pair.writer, out) != static_cast<int>(sent.size()))
			fail("send() takes a part");
		scheduler().sleep_us(kMoment_us);
		scheduler().spawn("reader", [&] {
			while (taken_bytes < sent.size()) {
				u8 buffer[kPiece];
				msghdr in{.to = buffer, .length_bytes = kPiece};
				const int n = sys_receive(pair.reader, in);

				if (n <= 0)
					fail("recv() %d", n);
				taken_bytes += static_cast<size_t>(n);
				scheduler().yield();
			}
			reading = false;
		});
		while (reading) {
			const bool readable = (sys_poll(pair.reader) & SMC_POLL_IN) != 0;

			if (!readable && taken_bytes + kPiece < sent.size())
				fail("poll() sees nothing behind %zu bytes", taken_bytes);
			scheduler().yield();
		}
		if ((sys_poll(pair.reader) & SMC_POLL_IN) != 0)
			fail("poll() sees what has been read");
	}
	sys_close(pair.writer);
	sys_close(pair.reader);
}

// One thread sets and takes off a cork while another one writes. What was written goes out when it
// is off, and after a while when it is on.
void cork_beside_writer()
{
	constexpr size_t kPiece = 100;
	constexpr size_t kPieces = 50;
	const Pair pair = connect_pair();

	for (int i = 0; i < 50; i++) {
		const std::string piece(kPiece, 'x');
		bool written = false;

		scheduler().spawn("writer", [&] {
			for (size_t n = 0; n < kPieces; n++) {
				msghdr out{.from = reinterpret_cast<const u8 *>(piece.data()),
					   .length_bytes = kPiece};

				if (sys_send(pair.writer, out) != static_cast<int>(kPiece))
					fail("send() takes a part");
				scheduler().yield();
			}
			written = true;
		});
		bool held = false;
		while (!written) {
			held = !held;
			sys_cork(pair.writer, held);
			scheduler().yield();
		}
		const bool on = i % 2 == 0;
		sys_cork(pair.writer, on);
		scheduler().sleep_us(on ? kMoment_us : kMoment_us / 10);
		std::string received(kPiece * kPieces, '\0');
		msghdr in{.flags = SMC_MSG_DONTWAIT | SMC_MSG_WAITALL,
			  .to = reinterpret_cast<u8 *>(received.data()),
			  .length_bytes = received.size()};
		const int n = sys_receive(pair.reader, in);
		if (n != static_cast<int>(received.size()))
			fail("%d bytes have come", n);
	}
	sys_close(pair.writer);
	sys_close(pair.reader);
}

// One thread is in accept() when others shut the listener down and make it TCP's. The client has
// begun a handshake, and says nothing more.
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

// The same with clients that come to an end: each of their handshakes is one accept()'s, or ends
// with the listener.
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

// SO_RCVLOWAT, set while it connects, is not about the handshake's messages.
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

// A call that keeps a client's sock, for longer and longer, from one moment of its handshake on.
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

// Nobody else notices, and afterwards the handshake goes on; shutdown() ends it as ever.
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

// A call keeps the sock until a little after the handshake's time. The server's Decline, which has
// come meanwhile, is not late.
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

// A shutdown() ends an attempt to connect, and another one begins. It goes as fast as any.
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

// A shutdown() meets a disconnect. What comes afterwards is a connection like any other.
void shutdown_beside_disconnect()
{
	for (int i = 0; i < 300; i++) {
		struct socket *sock = connect_one();
		bool shutting = true;

		scheduler().spawn("shutdown", [&] {
			(void)sys_shutdown(sock, 0);
			shutting = false;
		});
		yield_some(4);
		if (sys_disconnect(sock) != 0)
			fail("connect(AF_UNSPEC) fails");
		while (shutting)
			scheduler().yield();
		const int ret = sys_connect(sock, &server(), kPort);
		if (ret != 0)
			fail("connect() fails, errno %d", -ret);
		expect_answer(sock);
		sys_close(sock);
	}
}

// ---- Later contacts that the server gives up ----------------------------------------------------

constexpr u16 kOtherPort = 9;

struct Writer {
	struct socket *sock = nullptr; // until it has closed it
};

// Connects to a server that may be gone, and writes.
void try_to_write(Writer &writer, u16 port)
{
	struct socket *sock = writer.sock;
	u8 byte;

	if (sys_connect(sock, &server(), port) == 0 && sys_uses_smc(sock)) {
		for (int i = 0; i < 10 && send_byte(sock, kHello) == 1; i++)
			scheduler().sleep_us(3);
		(void)receive_byte(sock, &byte);
	}
	writer.sock = nullptr;
	sys_close(sock);
	processes()--;
}

std::shared_ptr<Writer> start_to_write(u16 port)
{
	auto writer = std::make_shared<Writer>();

	writer->sock = sys_socket(&client());
	processes()++;
	scheduler().spawn("client", [writer, port] { try_to_write(*writer, port); });
	return writer;
}

struct socket *listen_for_nobody()
{
	struct socket *listener = sys_socket(&server());

	if (sys_listen(listener, kOtherPort, 10) != 0)
		fail("listen() fails");
	return listener;
}

// The peer has closed, which one thread's send() learns. Another one disconnects the socket just
// then, and makes another connection: that one stays.
void disconnect_beside_send()
{
	for (int i = 0; i < 200; i++) {
		struct socket *sock = connect_one();
		bool sending = true;

		(void)send_byte(sock, kBye);
		scheduler().sleep_us(kMoment_us);
		scheduler().spawn("sender", [sock, &sending] {
			(void)send_byte(sock, kHello);
			sending = false;
		});
		while (sending && sock->sk->owner == nullptr)
			scheduler().yield();
		if (sys_disconnect(sock) != 0)
			fail("connect(AF_UNSPEC) fails");
		const int ret = sys_connect(sock, &server(), kPort);
		if (ret != 0)
			fail("connect() fails, errno %d", -ret);
		while (sending)
			scheduler().sleep_us(1);
		expect_answer(sock);
		sys_close(sock);
	}
}

// The peer resets while the socket is disconnected and connects again. Of that nothing is told any
// more: the error would be that of the next connection.
void disconnect_beside_reset()
{
	constexpr u64 kTold_us = 400; // until it is there
	constexpr u32 kRounds = 200;
	u32 told_late = 0;

	for (u32 i = 0; i < kRounds; i++) {
		struct socket *sock = connect_one();

		(void)send_byte(sock, kReset);
		scheduler().sleep_us(scheduler().random().below(kTold_us));
		told_late += sock->sk->err == 0;
		if (sys_disconnect(sock) != 0)
			fail("connect(AF_UNSPEC) fails");
		const int ret = sys_connect(sock, &server(), kPort);
		if (ret != 0)
			fail("connect() fails, errno %d", -ret);
		scheduler().sleep_us(kTold_us);
		if (sock->sk->err != 0)
			fail("the next connection has error %d", sock->sk->err);
		expect_answer(sock);
		sys_close(sock);
	}
	if (told_late == 0 || told_late == kRounds)
		fail("%u of %u times the reset was not yet told", told_late, kRounds);
}

// Two threads are about to send and to receive when another one disconnects the socket and connects
// it again. They were called for the old connection: no byte of theirs is in the handshake of the
// next one, nor do they take any from it.
void reconnect_beside_calls()
{
	for (int i = 0; i < 400; i++) {
		struct socket *sock = connect_one();
		int calling = 2;
		bool over = false;
		// Straight into the module: it was connected a moment ago.
		const auto when_locked = [sock, &calling, &over](auto call) {
			while (sock->sk->owner == nullptr && !over)
				scheduler().yield();
			u8 byte = kHello;
			msghdr msg{.flags = SMC_MSG_DONTWAIT,
				   .from = &byte,
				   .to = &byte,
				   .length_bytes = 1};
			(void)call(msg);
			calling--;
		};

		scheduler().spawn("sender", [sock, when_locked] {
			when_locked([sock](msghdr &msg) { return smc_op_sendmsg(sock, &msg, 1); });
		});
		scheduler().spawn("receiver", [sock, when_locked] {
			when_locked([sock](msghdr &msg) {
				return smc_op_recvmsg(sock, &msg, 1, SMC_MSG_DONTWAIT);
			});
		});
		if (sys_disconnect(sock) != 0)
			fail("connect(AF_UNSPEC) fails");
		const int ret = sys_connect(sock, &server(), kPort);
		if (ret != 0 || !sys_uses_smc(sock))
			fail("connect() fails, errno %d", -ret);
		over = true;
		while (calling != 0)
			scheduler().yield();
		expect_answer(sock);
		sys_close(sock);
	}
}

// Threads that send and receive before there is a connection. What TCP would let through at some
// point is no part of the handshake, and nothing of that is theirs.
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

// TCP dies when the peer has closed and this end writes no more. The peer waits for a word of this
// end over the link, which is as good as ever.
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

// ---- Servers that are busy ----------------------------------------------------------------------

constexpr u64 kBusy_us = 7'000'000; // longer than a client waits in its handshake

// Nobody accepts for the moment.
struct socket *start_busy_server()
{
	struct socket *listener = sys_socket(&server());

	if (sys_listen(listener, kPort, kBacklog) != 0)
		fail("listen() fails");
	return listener;
}

// So many times latencies, in small steps, that a handshake is over.
constexpr u64 kSteps = 150;

u64 step_us(u64 step)
{
	return step * std::max(world().knobs.latency_us / 8, u64{1});
}

// The server's program goes away at each moment of a handshake.
void listener_closes()
{
	struct socket *bystander = connect_one();

	for (u64 step = 0; step < kSteps; step++) {
		struct socket *listener = listen_for_nobody();

		(void)start_to_write(kOtherPort);
		scheduler().sleep_us(step_us(step));
		sys_close(listener);
		expect_answer(bystander);
	}
	scheduler().sleep_us(kRest_us);
	expect_one_group(1);
	sys_close(bystander);
}

// The network resets TCP at each moment of it, more often than a group has patience with. It takes
// no more of them then, but nobody who is in it has to go.
void tcp_dies_in_handshakes()
{
	struct socket *bystander = connect_one();

	for (u64 step = 0; step < 3 * kSteps; step++) {
		const auto writer = start_to_write(kPort);

		scheduler().sleep_us(step_us(step % kSteps));
		// A reset that comes before the SYN is nothing to the server, which would wait for
		// ever for a client that has had its own.
		if (writer->sock != nullptr && writer->sock->sk->connection != nullptr &&
		    writer->sock->sk->connection->end(1) != nullptr)
			writer->sock->sk->connection->break_off();
		expect_answer(bystander);
	}
	scheduler().sleep_us(kRest_us);
	expect_answer(bystander);
	if (server().stats[SMC_STAT_GROUP_NEW] < 2)
		fail("the group takes all of them");
	sys_close(bystander);
}

// The server of the connection that makes the group goes away just when the group is there, as far
// as its host can tell, and others wait to join it.
void founder_closes()
{
	constexpr u32 kOthers = 8;
	constexpr u32 kRounds = 30;
	constexpr u64 kPause_us = 50'000;

	for (u32 round = 0; round < kRounds; round++) {
		struct socket *listener = listen_for_nobody();
		Fiber *const here = scheduler().current();
		bool up = false;
		u32 served = 0;

		count_watcher() = [&](const net *host, u32 index) {
			if (host != &server() || index != SMC_STAT_LINK_UP)
				return;
			up = true;
			scheduler().wake(here);
		};
		(void)start_to_write(kOtherPort);
		scheduler().sleep_us(4 * world().knobs.latency_us);
		for (u32 i = 0; i < kOthers; i++)
			scheduler().spawn("client", [&served] {
				struct socket *sock = connect_one();

				expect_answer(sock);
				scheduler().sleep_us(kPause_us);
				expect_answer(sock);
				sys_close(sock);
				served++;
			});
		for (;;) {
			scheduler().prepare();
			if (up)
				break;
			(void)scheduler().block();
		}
		count_watcher() = nullptr;
		sys_close(listener);
		while (served != kOthers)
			scheduler().sleep_us(kPause_us);
		// So that the next one founds a group.
		for (net *host : {&client(), &server()})
			remove_device(host);
		for (net *host : {&client(), &server()})
			add_device(host);
	}
}

// A Confirm that names another queue pair, or an RMB that nobody has told of on the link.
void confirm_is_forged(std::size_t at)
{
	struct socket *bystander = connect_one();
	u8 byte;

	clc_forger() = [at](std::string &message) {
		if (message[4] == 3)
			message[at] = static_cast<char>(message[at] ^ 1);
	};
	struct socket *sock = connect_one();
	(void)send_byte(sock, kHello);
	if (receive_byte(sock, &byte) > 0)
		fail("the server believes it");
	clc_forger() = nullptr;
	sys_close(sock);
	expect_answer(bystander);
	expect_one_group(2);
	if (server().stats[SMC_STAT_CLC_MALFORMED] != 1)
		fail("%lld forged Confirms are counted", server().stats[SMC_STAT_CLC_MALFORMED]);
	server().stats[SMC_STAT_CLC_MALFORMED] = 0;
	sys_close(bystander);
}

// A client that has another name each time gets a group each time. Those that it has left do not
// pile up, and one that is in use is none of them.
void peer_of_many_names()
{
	constexpr s64 kIdleMax = 16;
	struct socket *bystander = connect_one();
	char name = 0;

	clc_forger() = [&name](std::string &message) {
		if (message[4] == 1 || message[4] == 3)
			message[8] = name;
	};
	for (name = 1; name <= 50; name++) {
		struct socket *sock = connect_one();

		if (!sys_uses_smc(sock))
			fail("name %d: no SMC", name);
		expect_answer(sock);
		sys_close(sock);
		scheduler().sleep_us(kMoment_us);
	}
	clc_forger() = nullptr;
	scheduler().sleep_us(kRest_us);
	expect_answer(bystander);
	for (const auto &host : world().hosts) {
		const s64 made = host->stats[SMC_STAT_GROUP_NEW];
		const s64 ended = host->stats[SMC_STAT_GROUP_TERMINATED];

		if (made != 51 || made - ended > kIdleMax + 2)
			fail("host %s: %lld groups were made, %lld ended", host->name.c_str(), made,
			     ended);
	}
	sys_close(bystander);
}

// The peer takes an RMB away that is being written to. Its owner may reuse it as soon as it has the
// answer, however long the work takes that ends the connection here.
void rkey_deleted()
{
	struct socket *bystander = connect_one();
	const std::set<u32> others = rmbs_of(&server());
	struct socket *sock = connect_one();
	bool gone = false;

	processes()++;
	scheduler().spawn("writer", [sock, &gone] {
		while (send_byte(sock, kHello) == 1)
			scheduler().sleep_us(1);
		gone = true;
		processes()--;
	});
	scheduler().sleep_us(2000);
	for (const u32 rkey : rmbs_of(&server())) {
		if (!others.contains(rkey))
			forge(link_of(&client()), delete_rkey(rkey));
	}
	scheduler().sleep_us(kMoment_us);
	if (!gone)
		fail("the connection goes on without the peer's RMB");
	expect_answer(bystander);
	expect_one_group(2);
	sys_close(sock);
	sys_close(bystander);
}

// A server that has other EIDs by now names another one, and the group is still the same.
void eid_changes()
{
	const Sockets socks = connect_many(3);

	expect_answers(socks);
	expect_one_group(3);
	close_all(socks);
}

// Two VLANs between the same two ports, with the same GIDs and MACs: a connection joins the group
// of its own one.
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
	// Groups that only the server takes for the same are none for the client.
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

// RMBs too many, and a peer that answers TEST_LINK but no DELETE_RKEY: who knows whether it still
// writes to them? Later it answers again.
void delete_rkey_unanswered()
{
	constexpr u32 kTooMany = 8;

	close_all(connect_many(kKept + kTooMany));
	scheduler().sleep_us(kTooMany * kUnanswered_us);
	expect_buffers(client(), 2 * kKept + kTooMany);
	world().knobs.deaf_to = 0;
	close_all(connect_many(kKept + kTooMany));
	scheduler().sleep_us(kRest_us);
	expect_buffers(client(), 2 * kKept + kTooMany);
	expect_one_group(kTooMany);
}

// As many connections as there are places for RMBs, of one size, and then of another. What the pool
// has kept of the first ones must not be in their way.
void two_sizes()
{
	for (const u32 size_bytes : {16384U, 32768U, 16384U}) {
		for (const auto &host : world().hosts)
			host->rmem_bytes = size_bytes;
		close_all(connect_many(kTokens));
		scheduler().sleep_us(kRest_us);
	}
	expect_one_group(kTokens);
}

// Groups whose peers are dead do not wait for each other when their device goes.
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

// Nothing comes through by RDMA, neither what the server nor what the client says first: both go on
// with TCP, and nobody's call has failed.
void no_fabric()
{
	struct socket *sock = sys_socket(&client());

	world().knobs.link_silent = 1;
	const int ret = sys_connect(sock, &server(), kPort);
	world().knobs.link_silent = 0;
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (sys_uses_smc(sock))
		fail("SMC without a fabric");
	expect_answer(sock);
	sys_close(sock);
	sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

// What the server says by RDMA arrives, what the client says does not: the server never hears that
// its CONFIRM_LINK is there, and goes on with TCP. So has the client to.
void mute_client()
{
	struct socket *sock = sys_socket(&client());

	world().knobs.mute = true;
	const int ret = sys_connect(sock, &server(), kPort);
	world().knobs.mute = false;
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (sys_uses_smc(sock))
		fail("SMC with a client that is not heard");
	expect_answer(sock);
	sys_close(sock);
	sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

// A CONFIRM_LINK, request or response, from another sender than the CLC messages have named.
void confirm_link_of_another(bool response, std::size_t at)
{
	constexpr char kResponse = static_cast<char>(0x80);
	net &victim = response ? server() : client();
	struct socket *sock = sys_socket(&client());
	u32 forged = 0;
	u8 byte;

	link_forger() = [response, at, &forged](std::string &message) {
		if ((message[0] & 0x0f) != 1 || ((message[3] & kResponse) != 0) != response)
			return;
		message[at] = static_cast<char>(message[at] ^ 1);
		forged++;
	};
	const int ret = sys_connect(sock, &server(), kPort);
	link_forger() = nullptr;
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (forged != 1)
		fail("%u messages were forged", forged);
	if (!response) {
		if (sys_uses_smc(sock))
			fail("SMC with nobody knows whom");
		expect_answer(sock);
	} else {
		// It has said its last word before the server heard it.
		(void)send_byte(sock, kHello);
		if (receive_byte(sock, &byte) > 0)
			fail("the server believes it");
	}
	sys_close(sock);
	if (victim.stats[SMC_STAT_LLC_UNEXPECTED] != 1)
		fail("%lld violations are counted", victim.stats[SMC_STAT_LLC_UNEXPECTED]);
	victim.stats[SMC_STAT_LLC_UNEXPECTED] = 0;
	sock = connect_one();
	if (!sys_uses_smc(sock))
		fail("no SMC afterwards");
	expect_answer(sock);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

// What such a client is told by TCP, before the server looks at it.
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
	return sock;
}

// It is the next one, and @sock its other end.
void expect_next(struct socket *listener, struct socket *sock)
{
	struct socket *child = nullptr;
	const int ret = sys_accept(listener, &child);

	if (ret != 0)
		fail("accept() fails, errno %d", -ret);
	if (connection_id(child) != connection_id(sock))
		fail("accept() gives tcp-%llu before tcp-%llu", connection_id(child),
		     connection_id(sock));
	if (sys_uses_smc(child) != sys_uses_smc(sock))
		fail("one end goes by SMC");
	sys_close(child);
	sys_close(sock);
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

// There is no memory to put the one aside that stands before the other one. poll() has promised it.
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

// The first one has been accepted, and keeps it busy.
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

// Many more than the backlog: there is room for a burst, and those behind it go by TCP.
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

// Those that nobody has accepted are reset, by whatever they came.
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

// ---- Handshakes that fail, or are given up ------------------------------------------------------

// One connection at most that nobody has accepted, handshakes included. When the only one has
// failed, there is room again.
void limit_after_failure()
{
	struct socket *listener = sys_socket(&server());

	if (smc_op_limit_handshakes(listener, true) != 0 || sys_listen(listener, kPort, 0) != 0)
		fail("listen() fails");
	for (int i = 0; i < 3; i++) {
		const s64 made = server().stats[SMC_STAT_CONN_NEW];
		struct socket *sock = sys_socket(&client());

		sock->nonblock = true;
		if (sys_connect(sock, &server(), kPort) != -EINPROGRESS)
			fail("connect() does not take its time");
		// The server has sent its Accept then.
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

// A server that speaks of SMC and never answers.
struct socket *silent_server()
{
	struct socket *silent = sys_socket(&server());

	silent->ours = false;
	silent->sk->offers_smc = true;
	(void)sys_listen(silent, kPort, kBacklog);
	return silent;
}

// Other calls on a socket whose connect() sleeps say what TCP says as long as it has no SYN back,
// and shutdown() wakes it.
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

// To a server that begins to answer and goes no further: this is still an attempt to connect. After
// shutdown() it is a server itself.
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

constexpr u64 kHours_us = u64{3} * 3600 * 1'000'000;

const Case kCases[] = {
	{"close-many", [] { with_server(close_many); }},
	{"close-many-far", [] { with_server(close_many); }, 5000},
	{"tcp-dies", [] { with_server(tcp_dies); }},
	{"tcp-dies-of-many", [] { with_server(tcp_dies_of_many); }},
	{"reset-in-full-group", [] { with_server(reset_in_full_group); }, 20, 16},
	{"reset-in-full-table", [] { with_server(reset_in_full_group); }, 20, kTokens},
	{"declined-by-stranger", [] { with_server(declined_by_stranger); }},
	{"huge-buffers", [] { with_server(huge_buffers); }},
	{"link-breaks-while-registering", [] { with_server(link_breaks_while_registering); }},
	{.name = "bounced", .play = [] { with_server(bounced); }, .bouncing = true},
	{.name = "small-mappings",
	 .play = [] { with_server(small_mappings); },
	 .mapping_bytes = 16384},
	{"end-is-told-at-once", [] { with_server(end_is_told_at_once); }, 2000},
	{"two-clients", [] { scripted([] { two_clients(false); }); }},
	{"two-clients-one-sided", [] { scripted([] { two_clients(true); }); }},
	{"urgent-byte-out-of-line", [] { scripted(urgent_byte_out_of_line); }},
	{"poll-beside-reader", [] { scripted(poll_beside_reader); }},
	{"accept-beside-leave", accept_beside_leave},
	{.name = "accepts-beside-leave", .play = accepts_beside_leave, .lasts_us = kHours_us},
	{"listen-beside-leave", listen_beside_leave},
	{"connect-beside-shutdown", [] { with_server(connect_beside_shutdown); }},
	{"low-water-mark-far", [] { with_server(low_water_mark); }, 5000},
	{"kept-lock", [] { with_server(kept_lock); }},
	{"kept-lock-far", [] { with_server(kept_lock); }, 5000},
	{"kept-lock-at-deadline", [] { with_server(kept_lock_at_deadline); }, 100},
	{"shutdown-beside-disconnect", [] { with_server(shutdown_beside_disconnect); }},
	{"cork-beside-writer", [] { scripted(cork_beside_writer); }},
	{"listener-closes", [] { with_server(listener_closes); }},
	{"listener-closes-far", [] { with_server(listener_closes); }, 5000},
	{"tcp-dies-in-handshakes", [] { with_server(tcp_dies_in_handshakes); }},
	{"founder-closes", [] { with_server(founder_closes); }},
	{"confirm-of-other-link", [] { with_server([] { confirm_is_forged(40); }); }},
	{"confirm-of-other-rmb", [] { with_server([] { confirm_is_forged(44); }); }},
	{"peer-of-many-names", [] { with_server(peer_of_many_names); }},
	{.name = "rkey-deleted", .play = [] { with_server(rkey_deleted); }, .work_us = 1000},
	{.name = "eid-changes", .play = [] { with_server(eid_changes); }, .eid_changes = true},
	{.name = "vlans", .play = [] { with_server(vlans); }, .smcr_v1 = true},
	{.name = "prefixes", .play = [] { with_server(prefixes); }, .smcr_v1 = true},
	{.name = "delete-rkey-unanswered",
	 .play = [] { with_server(delete_rkey_unanswered); },
	 .deaf_to = kDeleteRkey},
	{"two-sizes", [] { with_server(two_sizes); }},
	{"dead-fabric", [] { with_server(dead_fabric); }, 20, kFewest},
	{"no-fabric", [] { with_server(no_fabric); }},
	{"mute-client", [] { with_server(mute_client); }},
	{"confirm-link-of-other-gid",
	 [] { with_server([] { confirm_link_of_another(/*response=*/false, 25); }); }},
	{"confirm-link-of-other-qp",
	 [] { with_server([] { confirm_link_of_another(/*response=*/false, 28); }); }},
	{"confirm-link-answer-of-other-gid",
	 [] { with_server([] { confirm_link_of_another(/*response=*/true, 25); }); }},
	{"confirm-link-answer-of-other-qp",
	 [] { with_server([] { confirm_link_of_another(/*response=*/true, 28); }); }},
	{"disconnect-beside-send", [] { with_server(disconnect_beside_send); }},
	{"disconnect-beside-reset", [] { with_server(disconnect_beside_reset); }},
	{"word-after-tcp", [] { scripted(word_after_tcp); }},
	{"reconnect-beside-calls", [] { with_server(reconnect_beside_calls); }},
	{"connect-beside-calls", [] { with_server(connect_beside_calls); }},
	{"busy-server", busy_server},
	{"busy-with-one", busy_with_one},
	{"busy-without-memory", busy_without_memory},
	{"busy-with-many", busy_with_many},
	{"busy-until-it-is-closed", [] { busy_until_it_ends(false); }},
	{"busy-until-it-is-shut", [] { busy_until_it_ends(true); }},
	{"limit-after-failure", limit_after_failure},
	{"larger-backlog", larger_backlog},
	{"calls-beside-connect", calls_beside_connect},
	{"listen-after-shutdown", listen_after_shutdown},
	{.name = "crowd",
	 .play = [] { scripted([] { play_crowd(&client(), &server()); }); },
	 .scripted = true},
	{.name = "last-word",
	 .play = [] { scripted([] { play_last_word(&client(), &server()); }); },
	 .latency_us = 5000,
	 .scripted = true},
	{.name = "broken-contract",
	 .play = [] { scripted([] { play_broken_contract(&client(), &server()); }); },
	 .scripted = true},
	{.name = "cork",
	 .play = [] { scripted([] { play_cork(&client(), &server()); }); },
	 .scripted = true},
	{.name = "closed-and-left",
	 .play = [] { scripted([] { play_closed_and_left(&client(), &server()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "closed-and-left-near",
	 .play = [] { scripted([] { play_closed_and_left(&client(), &client()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "orphans",
	 .play = [] { scripted([] { play_orphans(&client(), &server()); }); },
	 .scripted = true},
	{.name = "slow-reader",
	 .play = [] { scripted([] { play_slow_reader(&client(), &server()); }); },
	 .scripted = true},
	{.name = "slow-reader-clock",
	 .play = [] { scripted([] { play_slow_reader(&client(), &server()); }); },
	 .scripted = true,
	 .clock_back_ms = 3},
	{.name = "sips",
	 .play = [] { scripted([] { play_sips(&client(), &server()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "full-ring",
	 .play = [] { scripted([] { play_full_ring(&client()); }); },
	 .scripted = true},
	{.name = "half-ring",
	 .play = [] { scripted([] { play_half_ring(&client()); }); },
	 .scripted = true},
};

} // namespace

const std::span<const Case> cases{kCases};

Knobs Case::knobs() const
{
	Knobs knobs;

	knobs.latency_us = latency_us;
	knobs.work_us = work_us;
	knobs.eid_changes = eid_changes;
	knobs.deaf_to = deaf_to;
	if (send_queue != 0)
		knobs.send_queue = send_queue;
	knobs.smcr_v1 = smcr_v1;
	knobs.clock_back_ms = clock_back_ms;
	knobs.smcr_v2 = !smcr_v1;
	knobs.bouncing = bouncing;
	knobs.scattered = scattered;
	knobs.mapping_bytes = mapping_bytes;
	if (scripted) {
		knobs.preempt = 0;
		knobs.send_queue = kNarrowSendQueue;
		knobs.loopback = SMC_LOOPBACK_NAMESPACE;
	}
	return knobs;
}

std::span<const std::span<const Case>> case_tables()
{
	static const std::span<const Case> tables[] = {
		cases, group_cases, departed_cases, link_cases, ring_cases, path_cases,
	};

	return tables;
}

const Case *find_case(std::string_view name)
{
	for (const auto table : case_tables()) {
		for (const Case &one : table) {
			if (name == one.name)
				return &one;
		}
	}
	return nullptr;
}

} // namespace sim
