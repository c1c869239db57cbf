// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about rings between hosts that grow while a stream fills them.
#include "cases.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/socket/smc_socket.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u32 kRing = 65536;
constexpr u32 kGrown = 524288;
constexpr u8 kConfirmRkey = 6;
constexpr u64 kAdded_us = 100'000;       // until a link is added
constexpr u64 kRecovered_us = 5'000'000; // from a loss until there is another link again

struct Ends {
	struct socket *client = nullptr;
	struct socket *server = nullptr;

	void close() const
	{
		sys_close(client);
		sys_close(server);
	}
};

void ask_for_rings()
{
	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = kRing;
}

// @asked_bytes: SO_RCVBUF and SO_SNDBUF of the client, or 0.
Ends connect_ends(u32 asked_bytes = 0)
{
	struct socket *listener = sys_socket(&server());
	Ends ends{.client = sys_socket(&client())};

	ends.client->sk->rcvbuf_bytes = asked_bytes;
	ends.client->sk->sndbuf_bytes = asked_bytes;
	if (sys_listen(listener, kPort, 1) != 0 ||
	    sys_connect(ends.client, &server(), kPort) != 0 ||
	    sys_accept(listener, &ends.server) != 0)
		fail("no connection");
	sys_close(listener);
	if (!sys_uses_smc(ends.client) || !sys_uses_smc(ends.server))
		fail("a connection by TCP");
	return ends;
}

u8 byte_at(u64 position)
{
	return static_cast<u8>((position * 0x9e3779b97f4a7c15u) >> 40);
}

void write_stream(struct socket *sock, u64 bytes)
{
	std::vector<u8> piece(kRing);

	for (u64 at = 0; at < bytes;) {
		const size_t n = std::min<u64>(piece.size(), bytes - at);

		for (size_t i = 0; i < n; i++)
			piece[i] = byte_at(at + i);
		msghdr out{.from = piece.data(), .length_bytes = n};
		const int sent = sys_send(sock, out);

		if (sent <= 0)
			fail("send() says %d at %llu", sent, at);
		at += static_cast<u64>(sent);
	}
}

void read_stream(struct socket *sock, u64 bytes)
{
	std::vector<u8> piece(kGrown);

	for (u64 at = 0; at < bytes;) {
		msghdr in{.to = piece.data(),
			  .length_bytes = std::min<u64>(piece.size(), bytes - at)};
		const int n = sys_receive(sock, in);

		if (n <= 0)
			fail("recv() says %d at %llu", n, at);
		for (int i = 0; i < n; i++, at++) {
			if (piece[static_cast<size_t>(i)] != byte_at(at))
				fail("byte %llu is wrong", at);
		}
	}
}

// Every byte arrives.
void stream(struct socket *writer, struct socket *reader, u64 bytes)
{
	bool written = false;

	processes()++;
	scheduler().spawn("writer", [writer, bytes, &written] {
		write_stream(writer, bytes);
		written = true;
		processes()--;
	});
	read_stream(reader, bytes);
	while (!written)
		scheduler().sleep_us(10);
}

u32 ring_bytes(struct socket *sock)
{
	return smc::shell::SmcSocket::of(sock)->connection()->with_lock(
		[](const smc::connection::Connection &conn) { return conn.rmb_size_bytes(); });
}

u32 send_buffer_bytes(struct socket *sock)
{
	return smc::shell::SmcSocket::of(sock)->connection()->with_lock(
		[](const smc::connection::Connection &conn) { return conn.sndbuf_size_bytes(); });
}

s64 grown()
{
	return client().stats[SMC_STAT_RING_GROWN] + server().stats[SMC_STAT_RING_GROWN];
}

void expect_rings(const Ends &ends, u32 client_bytes, u32 server_bytes)
{
	if (ring_bytes(ends.client) != client_bytes || ring_bytes(ends.server) != server_bytes)
		fail("rings of %u and %u bytes, not %u and %u", ring_bytes(ends.client),
		     ring_bytes(ends.server), client_bytes, server_bytes);
}

// ---- Plots --------------------------------------------------------------------------------------

// The reader's ring, and the writer's send buffer, in as few steps as that takes.
void rings_grow()
{
	ask_for_rings();
	for (int i = 0; i < 2; i++) {
		const Ends ends = connect_ends();

		stream(ends.client, ends.server, 8 << 20);
		expect_rings(ends, kRing, kGrown);
		if (send_buffer_bytes(ends.client) != kGrown)
			fail("a send buffer of %u bytes", send_buffer_bytes(ends.client));
		stream(ends.server, ends.client, 8 << 20);
		expect_rings(ends, kGrown, kGrown);
		if (grown() != 4 * (i + 1))
			fail("rings have grown %lld times", grown());
		stream(ends.client, ends.server, 1);
		ends.close();
		scheduler().sleep_us(kMoment_us);
	}
	expect_one_group(1);
}

// Turns with messages that a ring has room for.
void turns_need_no_more()
{
	ask_for_rings();
	const Ends ends = connect_ends();

	for (int i = 0; i < 100; i++) {
		stream(ends.client, ends.server, kRing / 2);
		stream(ends.server, ends.client, kRing / 2);
	}
	expect_rings(ends, kRing, kRing);
	ends.close();
}

void asked_sizes_stay()
{
	ask_for_rings();
	const Ends ends = connect_ends(kRing);

	stream(ends.server, ends.client, 4 << 20);
	expect_rings(ends, kRing, kRing);
	stream(ends.client, ends.server, 4 << 20);
	if (ring_bytes(ends.client) != kRing || ring_bytes(ends.server) == kRing)
		fail("rings of %u and %u bytes", ring_bytes(ends.client), ring_bytes(ends.server));
	if (send_buffer_bytes(ends.client) != kRing)
		fail("a send buffer of %u bytes", send_buffer_bytes(ends.client));
	ends.close();
}

void only_where_both_can()
{
	ask_for_rings();
	client().growing = false;
	const Ends ends = connect_ends();

	stream(ends.client, ends.server, 4 << 20);
	stream(ends.server, ends.client, 4 << 20);
	expect_rings(ends, kRing, kRing);
	ends.close();
}

// Nothing larger can be mapped, or the peer does not answer CONFIRM_RKEY: the stream goes on in the
// ring that it has.
void no_larger_ring_is_to_be_had()
{
	ask_for_rings();
	const Ends ends = connect_ends();

	for (int i = 0; i < 4; i++) {
		stream(ends.server, ends.client, 1 << 20);
		scheduler().sleep_us(kMoment_us * 10);
	}
	expect_rings(ends, kRing, kRing);
	ends.close();
}

// The connection ends at some point of the growth.
void ends_meanwhile()
{
	ask_for_rings();
	for (u64 length = kRing; length < 30 * kRing; length += 13 * 1021) {
		const Ends ends = connect_ends();

		stream(ends.client, ends.server, length);
		scheduler().sleep_us(scheduler().random().below(200));
		if (scheduler().random().one_in(2))
			ends.close();
		else
			Ends{.client = ends.server, .server = ends.client}.close();
	}
	if (grown() == 0)
		fail("no ring has grown");
	scheduler().sleep_us(kMoment_us);
	expect_one_group(1);
}

// Many connections at once.
void many_grow(u32 count)
{
	std::vector<Ends> all;
	u32 done = 0;

	ask_for_rings();
	for (u32 i = 0; i < count; i++)
		all.push_back(connect_ends());
	for (const Ends &ends : all) {
		processes()++;
		scheduler().spawn("reader", [ends, &done] {
			stream(ends.client, ends.server, 4 << 20);
			done++;
			processes()--;
		});
	}
	while (done != count)
		scheduler().sleep_us(kMoment_us);
	for (const Ends &ends : all) {
		if (ring_bytes(ends.server) == kRing)
			fail("a ring has not grown");
		ends.close();
	}
	expect_one_group(count);
}

// A link is lost at some point of the growth.
void links_go_meanwhile()
{
	ask_for_rings();
	for (u64 delay_us = 0; delay_us < 4000; delay_us += 97) {
		const Ends ends = connect_ends();
		bool broken = false;

		scheduler().sleep_us(kAdded_us);
		processes()++;
		scheduler().spawn("saboteur", [delay_us, &broken] {
			scheduler().sleep_us(delay_us);
			net &host = delay_us % 2 == 0 ? client() : server();
			for (const auto &[qpn, link] : fabric().links) {
				if (link->device->host == &host && !link->broken) {
					break_link(link, -EIO);
					break;
				}
			}
			broken = true;
			processes()--;
		});
		stream(ends.client, ends.server, 4 << 20);
		if (ring_bytes(ends.server) == kRing)
			fail("the ring has not grown");
		while (!broken)
			scheduler().sleep_us(kMoment_us);
		ends.close();
		scheduler().sleep_us(kRecovered_us);
	}
	if (client().stats[SMC_STAT_CONN_MOVED] + server().stats[SMC_STAT_CONN_MOVED] == 0)
		fail("no connection has moved");
}

// The peer of the first link on which something has come that nobody has taken in yet, once that
// has happened so often.
smc_ib_link *sender_of_unheard(u32 times)
{
	for (u32 seen = 0;;) {
		for (const auto &[qpn, link] : fabric().links) {
			smc_ib_link *const peer = fabric().link(link->path.peer_qpn);

			if (link->device->host == &server() && !link->completions.empty() &&
			    peer != nullptr && !peer->broken && ++seen == times)
				return peer;
		}
		scheduler().sleep_us(100);
	}
}

// What comes by the other link waits until that has been taken in.
void links_go_before_their_messages_are_heard()
{
	ask_for_rings();
	for (u32 i = 1; i < 30; i++) {
		const Ends ends = connect_ends();
		bool broken = false;

		scheduler().sleep_us(kAdded_us);
		processes()++;
		scheduler().spawn("saboteur", [i, &broken] {
			break_link(sender_of_unheard(i), -EIO);
			broken = true;
			processes()--;
		});
		stream(ends.client, ends.server, 4 << 20);
		while (!broken)
			scheduler().sleep_us(kMoment_us);
		ends.close();
		scheduler().sleep_us(kRecovered_us);
	}
	if (client().stats[SMC_STAT_CONN_MOVED] < 29)
		fail("%lld connections have moved", client().stats[SMC_STAT_CONN_MOVED]);
}

// One message after the other is lost with all that follow, the first one in the larger ring among
// them: the peer hears it by the other link, before it knows that this one is lost.
void messages_are_lost_meanwhile()
{
	ask_for_rings();
	for (u32 posts = 1; posts < 40; posts++) {
		const Ends ends = connect_ends();

		scheduler().sleep_us(kAdded_us);
		client().silent_in_posts = posts;
		stream(ends.client, ends.server, 4 << 20);
		if (ring_bytes(ends.server) == kRing)
			fail("the ring has not grown");
		client().silent_in_posts = 0;
		ends.close();
		scheduler().sleep_us(kRecovered_us);
	}
	if (client().stats[SMC_STAT_CONN_MOVED] == 0)
		fail("no connection has moved");
}

const Case kCases[] = {
	{"rings-grow", [] { scripted(rings_grow); }},
	{.name = "rings-grow-v1", .play = [] { scripted(only_where_both_can); }, .smcr_v1 = true},
	{.name = "rings-grow-bounced", .play = [] { scripted(rings_grow); }, .bouncing = true},
	{.name = "rings-grow-scattered", .play = [] { scripted(rings_grow); }, .scattered = true},
	{.name = "rings-grow-shared", .play = [] { scripted(rings_grow); }, .rmb_elements = 255},
	{"turns-need-no-larger-rings", [] { scripted(turns_need_no_more); }},
	{"asked-sizes-stay", [] { scripted(asked_sizes_stay); }},
	{"rings-grow-only-where-both-can", [] { scripted(only_where_both_can); }},
	{.name = "rings-that-cannot-be-mapped",
	 .play = [] { scripted(no_larger_ring_is_to_be_had); },
	 .lasts_us = 100'000'000,
	 .mapping_bytes = kRing},
	{.name = "rings-that-the-peer-does-not-take",
	 .play = [] { scripted(no_larger_ring_is_to_be_had); },
	 .deaf_to = kConfirmRkey,
	 .lasts_us = 100'000'000},
	{.name = "rings-end-while-they-grow",
	 .play = [] { scripted(ends_meanwhile); },
	 .lasts_us = 100'000'000,
	 .rmb_elements = 4},
	// Larger rings are elements of the same RMBs.
	{.name = "many-rings-grow",
	 .play = [] { scripted([] { many_grow(12); }); },
	 .lasts_us = 100'000'000,
	 .rmb_elements = 255},
	// The peer has to forget those that are left.
	{.name = "more-rings-are-left-than-are-kept",
	 .play = [] { scripted([] { many_grow(kKept + 8); }); },
	 .lasts_us = 100'000'000},
	{.name = "rings-grow-while-links-go",
	 .play = [] { scripted(links_go_meanwhile); },
	 .lasts_us = 900'000'000,
	 .second_ports = 3},
	{.name = "rings-grow-while-links-go-bounced",
	 .play = [] { scripted(links_go_meanwhile); },
	 .lasts_us = 900'000'000,
	 .bouncing = true,
	 .second_ports = 3,
	 .rmb_elements = 4},
	{.name = "links-go-before-their-messages-are-heard",
	 .play = [] { scripted(links_go_before_their_messages_are_heard); },
	 .softirq_us = 2000,
	 .lasts_us = 900'000'000,
	 .second_ports = 3},
	{.name = "messages-are-lost-while-rings-grow",
	 .play = [] { scripted(messages_are_lost_meanwhile); },
	 .lasts_us = 900'000'000,
	 .bouncing = true,
	 .second_ports = 3},
};

} // namespace

const std::span<const Case> growth_cases{kCases};

} // namespace sim
