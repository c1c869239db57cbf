// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about RMBs and send buffers: their size, mapping, deletion and reuse.
#include "cases.hpp"

#include <set>
#include <string>

#include "call.hpp"
#include "kernel/abi/ring_memory.h"
#include "kernel/abi/stats.h"
#include "llc_observer.hpp"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u64 kUnanswered_us = 20'000'000; // one request, or a part of the wait for its turn
constexpr u64 kCollected_us = 5'000'000;   // an unused send buffer is taken away within that
constexpr s64 kReserve = 1;                // send buffers that a group lays in
constexpr u8 kConfirmRkey = 6;
constexpr u8 kDeleteRkey = 9;
constexpr u32 kBystanders = 5;

void expect_buffers(const net &host, s64 expected)
{
	const s64 buffers = host.stats[SMC_STAT_BUF_NEW] - host.stats[SMC_STAT_BUF_FREE];

	if (buffers != expected)
		fail("host %s has %lld buffers, not %lld", host.name.c_str(), buffers, expected);
}

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

// A connection that wants larger buffers than the device can register gets the largest possible.
void huge_buffers()
{
	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = 4 * kRegionMaxBytes;
	struct socket *sock = connect_one();

	expect_answer(sock);
	for (const auto &[key, region] : fabric().regions) {
		if (region->buffer->bytes.size() != kRegionMaxBytes &&
		    region->buffer->bytes.size() != SMC_RING_BYTES_MIN) // the reserve
			fail("a buffer of %zu bytes", region->buffer->bytes.size());
	}
	sys_close(sock);
}

// Devices with bounce buffers: bytes that are not synced do not arrive, and bytes that one
// connection received must not be visible to the next one.
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

// Where large buffers cannot be mapped, small ones can.
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

// Nothing larger than the smallest element can be mapped: each connection has its own, and nobody
// goes by TCP.
void smallest_mappings()
{
	constexpr u32 kMany = 10;
	u32 there = 0;

	for (const auto &host : world().hosts)
		host->rmem_bytes = host->wmem_bytes = SMC_RING_BYTES_MIN;
	struct socket *first = connect_one();
	for (u32 i = 0; i < kMany; i++) {
		processes()++;
		scheduler().spawn("client", [&there] {
			struct socket *sock = connect_one();

			expect_answer(sock);
			sys_close(sock);
			there++;
			processes()--;
		});
	}
	while (there != kMany)
		scheduler().sleep_us(kMoment_us);
	expect_answer(first);
	sys_close(first);
}

// The peer deletes an RMB that is being written to. It may reuse the RMB as soon as it has the
// answer, however late the work runs that ends the connection here.
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

// ---- Send buffers -------------------------------------------------------------------------------

s64 lent_bytes(const net &host)
{
	return host.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_BUF_USAGE)];
}

void expect_lent(u64 bytes, const char *when)
{
	for (const auto &host : world().hosts) {
		if (lent_bytes(*host) != static_cast<s64>(bytes))
			fail("%s: host %s uses %lld bytes to send, not %llu", when,
			     host->name.c_str(), lent_bytes(*host), bytes);
	}
}

// A connection has a send buffer while it has something to send, and for a moment after that. What
// all have given back is kept for the next ones, as far as the pool keeps buffers.
void send_buffers_come_and_go()
{
	constexpr u32 kMany = kKept + 8;
	const u64 all_bytes = u64{kMany} * client().wmem_bytes;
	const Sockets socks = connect_many(kMany);

	server().wmem_bytes = client().wmem_bytes;
	expect_lent(0, "nothing has been sent");
	for (int i = 0; i < 3; i++) {
		expect_answers(socks);
		expect_lent(all_bytes, "all have sent");
		scheduler().sleep_us(kCollected_us);
		expect_lent(0, "all rest");
		for (const auto &host : world().hosts)
			expect_buffers(*host, kMany + kKept + kReserve);
	}
	close_all(socks);
	expect_one_group(kMany);
}

// With another size than the one before.
void send_buffers_of_two_sizes()
{
	struct socket *sock = connect_one();

	for (const u32 size_bytes : {16384U, 131072U, 32768U}) {
		for (const auto &host : world().hosts)
			host->wmem_bytes = size_bytes;
		for (int i = 0; i < 10; i++)
			expect_answer(sock);
		expect_lent(size_bytes, "it has sent");
		scheduler().sleep_us(kCollected_us);
		expect_lent(0, "it rests");
	}
	sys_close(sock);
	expect_one_group(1);
}

// What the peer has no room for stays where it is.
void send_buffers_that_are_full()
{
	Call call(&client(), &server());
	const size_t bytes = call.fill();
	const s64 used_bytes = lent_bytes(client());

	scheduler().sleep_us(kCollected_us);
	if (used_bytes == 0 || lent_bytes(client()) != used_bytes)
		fail("%lld of %lld bytes are left for what was not sent", lent_bytes(client()),
		     used_bytes);
	call.receive(bytes);
	scheduler().sleep_us(kCollected_us);
	expect_lent(0, "all is sent");
	(void)call.send(kKept);
	call.receive(kKept);
	// A closed end gives its send buffer back before its peer has closed.
	(void)call.send(kKept);
	call.close_client();
	scheduler().sleep_us(kCollected_us);
	expect_lent(0, "closed");
	call.receive(kKept);
	call.end_is_clean();
}

// Too many RMBs, and a peer that answers TEST_LINK but no DELETE_RKEY, so it may still write to
// them. Later it answers again.
void delete_rkey_unanswered()
{
	constexpr u32 kTooMany = 8;

	close_all(connect_many(kKept + kTooMany));
	scheduler().sleep_us(kTooMany * kUnanswered_us);
	expect_buffers(client(), kKept + kTooMany + kReserve);
	world().knobs.deaf_to = 0;
	close_all(connect_many(kKept + kTooMany));
	scheduler().sleep_us(kRest_us);
	expect_buffers(client(), kKept + kTooMany + kReserve);
	expect_one_group(kTooMany);
}

// As many connections as there are places for RMBs, of one size, and then of another size. RMBs
// that the pool has kept must not take the places.
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

// Host's RMBs that connections have had: those of one element, and others.
u32 rmbs_with(const net *host, bool one_element)
{
	u32 count = 0;

	for (const u32 rkey : rmbs_of(host)) {
		const std::size_t bytes = fabric().by_remote_key(rkey)->buffer->bytes.size();

		count += (bytes == host->rmem_bytes) == one_element ? 1 : 0;
	}
	return count;
}

// Each RMB has more elements than all before: 1, 2, 4, 8 and 16. They are kept for later
// connections, so that these are not announced.
void elements_are_shared()
{
	constexpr u32 kConnections = 20;
	std::set<u32> rkeys[2];

	for (std::set<u32> &told : rkeys) {
		const Sockets socks = connect_many(kConnections);

		for (int i = 0; i < 3; i++)
			expect_answers(socks);
		for (const net *host : {&client(), &server()}) {
			if (rmbs_with(host, true) != 1 || rmbs_with(host, false) != 4)
				fail("host %s has %zu RMBs for %u connections", host->name.c_str(),
				     rmbs_of(host).size(), kConnections);
		}
		told = rmbs_of(&server());
		close_all(socks);
		scheduler().sleep_us(kMoment_us);
	}
	if (rkeys[0] != rkeys[1])
		fail("RMBs were announced though there were unused elements");
	expect_one_group(kConnections);
}

// Connections that come at the same time: who has an element of an RMB that is just being
// announced waits for the answer, and does not announce it once more. RMBs of 2, 4, 8 and 16
// elements, at each end, with an answer to each.
void elements_are_announced_once()
{
	constexpr u32 kConnections = 24;
	struct socket *first = connect_one();
	const u64 before = observed_llcs();
	Sockets socks;

	for (u32 i = 0; i < kConnections; i++) {
		processes()++;
		scheduler().spawn("client", [&socks] {
			socks.push_back(connect_one());
			processes()--;
		});
	}
	while (socks.size() < kConnections)
		scheduler().sleep_us(1000);
	// Without elements there would be four for each.
	if (observed_llcs() - before > kConnections)
		fail("%llu LLC messages", observed_llcs() - before);
	expect_answers(socks);
	expect_answer(first);
	if (client().stats[SMC_STAT_FALLBACK_CLNT] != 0)
		fail("%lld connections by TCP", client().stats[SMC_STAT_FALLBACK_CLNT]);
	close_all(socks);
	sys_close(first);
	expect_one_group(kConnections + 1);
}

// The connection that announces an RMB is closed before the answer. The one that waited for it,
// with another element, announces the RMB itself.
void announcer_leaves()
{
	struct socket *first = connect_one();
	struct socket *announcer = sys_socket(&client());
	struct socket *other = sys_socket(&client());

	for (struct socket *sock : {announcer, other}) {
		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		scheduler().sleep_us(kMoment_us / 10);
	}
	world().knobs.deaf_to = 0;
	sys_close(announcer);
	(void)sys_poll_wait(other, SMC_POLL_OUT);
	if (sys_connect(other, &server(), kPort) != 0 || !sys_uses_smc(other))
		fail("nobody has announced the RMB");
	other->nonblock = false;
	expect_answers({first, other});
	if (rmbs_of(&client()).size() != 2)
		fail("%zu RMBs", rmbs_of(&client()).size());
	close_all({first, other});
}

// As many connections as there are places, and none is left: RMBs without users are deleted, except
// for what is kept. Then each of two connections holds an RMB of many elements.
void elements_come_and_go()
{
	Sockets socks = connect_many(kTokens);

	expect_answers(socks);
	// 1 + 2 + 4 + 8, then 16 each: kRegionMaxBytes.
	if (rmbs_of(&client()).size() > 20)
		fail("%zu RMBs for %u connections", rmbs_of(&client()).size(), kTokens);
	const Sockets left = {socks.back(), socks[socks.size() / 2]};
	std::erase_if(socks, [&left](const struct socket *sock) {
		return sock == left[0] || sock == left[1];
	});
	close_all(socks);
	scheduler().sleep_us(kRest_us);
	expect_answers(left);
	if (rmbs_of(&client()).size() > 8)
		fail("%zu RMBs for two connections", rmbs_of(&client()).size());
	const Sockets more = connect_many(kTokens - 2);

	expect_answers(more);
	expect_answers(left);
	expect_one_group(kTokens);
	close_all(more);
	close_all(left);
}

const Case kCases[] = {
	{"huge-buffers", [] { with_server(huge_buffers); }},
	{.name = "bounced", .play = [] { with_server(bounced); }, .bouncing = true},
	{.name = "small-mappings",
	 .play = [] { with_server(small_mappings); },
	 .mapping_bytes = 16384},
	{.name = "smallest-mappings",
	 .play = [] { with_server(smallest_mappings); },
	 .mapping_bytes = 16384,
	 .second_ports = 3,
	 .rmb_elements = 255},
	{.name = "rkey-deleted", .play = [] { with_server(rkey_deleted); }, .work_us = 1000},
	{"send-buffers-come-and-go", [] { with_server(send_buffers_come_and_go); }},
	{.name = "send-buffers-scattered",
	 .play = [] { with_server(send_buffers_come_and_go); },
	 .scattered = true},
	{"send-buffers-of-two-sizes", [] { with_server(send_buffers_of_two_sizes); }},
	{.name = "send-buffers-that-are-full",
	 .play = [] { scripted(send_buffers_that_are_full); },
	 .scripted = true},
	{.name = "delete-rkey-unanswered",
	 .play = [] { with_server(delete_rkey_unanswered); },
	 .deaf_to = kDeleteRkey},
	{"two-sizes", [] { with_server(two_sizes); }},
	{.name = "elements-are-shared",
	 .play = [] { with_server(elements_are_shared); },
	 .rmb_elements = 255},
	{.name = "elements-are-announced-once",
	 .play = [] { with_server(elements_are_announced_once); },
	 .rmb_elements = 255},
	{.name = "elements-announcer-leaves",
	 .play = [] { with_server(announcer_leaves); },
	 .deaf_to = kConfirmRkey,
	 .rmb_elements = 255},
	{.name = "elements-come-and-go",
	 .play = [] { with_server(elements_come_and_go); },
	 .rmb_elements = 255},
	{.name = "elements-bounced",
	 .play = [] { with_server(bounced); },
	 .bouncing = true,
	 .rmb_elements = 255},
	{.name = "elements-of-two-sizes",
	 .play = [] { with_server(two_sizes); },
	 .rmb_elements = 4},
};

} // namespace

const std::span<const Case> buffer_cases{kCases};

} // namespace sim
