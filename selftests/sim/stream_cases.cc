// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about calls on an open connection, most of them of several threads at once.
#include "cases.hpp"

#include <string>

#include "kernel/abi/callbacks/socket.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/socket/smc_socket.hpp"
#include "trace.hpp"

namespace sim {
namespace {

// The reader stands before an urgent byte that is inline, and sets it out of line. The writer may
// wait for the byte to be passed, so it has to be told.
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

// One thread polls while another one copies. Bytes that neither the reader has nor its call will
// take are readable, and nothing is when it has all.
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

// One thread sets and clears a cork while another one writes. Bytes go out when it is cleared, and
// after a while when it is set.
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

// A shutdown() meets a disconnect. The next connection works like any other.
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

// The peer resets while the socket is disconnected and connects again. The error is not reported
// any more: it would be the next connection's.
void disconnect_beside_reset()
{
	constexpr u64 kTold_us = 400; // until the error is there
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
// it again. Their calls were for the old connection: they add no byte to the handshake of the new
// one, and take none from it.
void reconnect_beside_calls()
{
	for (int i = 0; i < 400; i++) {
		struct socket *sock = connect_one();
		int calling = 2;
		bool over = false;
		// Directly into the module: it was connected a moment ago.
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
			when_locked([sock](msghdr &msg) {
				return smc_op_sendmsg(smc_sock_state(sock), sock, &msg, 1,
						      msg.flags, false);
			});
		});
		scheduler().spawn("receiver", [sock, when_locked] {
			when_locked([sock](msghdr &msg) {
				return smc_op_recvmsg(smc_sock_state(sock), sock, &msg, 1,
						      msg.flags);
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

const Case kCases[] = {
	{"urgent-byte-out-of-line", [] { scripted(urgent_byte_out_of_line); }},
	{"poll-beside-reader", [] { scripted(poll_beside_reader); }},
	{"cork-beside-writer", [] { scripted(cork_beside_writer); }},
	{"shutdown-beside-disconnect", [] { with_server(shutdown_beside_disconnect); }},
	{"disconnect-beside-send", [] { with_server(disconnect_beside_send); }},
	{"disconnect-beside-reset", [] { with_server(disconnect_beside_reset); }},
	{"reconnect-beside-calls", [] { with_server(reconnect_beside_calls); }},
};

} // namespace

const std::span<const Case> stream_cases{kCases};

} // namespace sim
