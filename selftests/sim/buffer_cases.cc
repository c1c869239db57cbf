// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about RMBs and send buffers: their size, mapping, deletion and reuse.
#include "cases.hpp"

#include <set>
#include <string>

#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u64 kUnanswered_us = 20'000'000; // one request, or a part of the wait for its turn
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
		if (region->buffer->bytes.size() != kRegionMaxBytes)
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

// Too many RMBs, and a peer that answers TEST_LINK but no DELETE_RKEY, so it may still write to
// them. Later it answers again.
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

const Case kCases[] = {
	{"huge-buffers", [] { with_server(huge_buffers); }},
	{.name = "bounced", .play = [] { with_server(bounced); }, .bouncing = true},
	{.name = "small-mappings",
	 .play = [] { with_server(small_mappings); },
	 .mapping_bytes = 16384},
	{.name = "rkey-deleted", .play = [] { with_server(rkey_deleted); }, .work_us = 1000},
	{.name = "delete-rkey-unanswered",
	 .play = [] { with_server(delete_rkey_unanswered); },
	 .deaf_to = kDeleteRkey},
	{"two-sizes", [] { with_server(two_sizes); }},
};

} // namespace

const std::span<const Case> buffer_cases{kCases};

} // namespace sim
