// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about the queues of a link: who waits, and for how long.
#include <algorithm>
#include <string>
#include <utility>

#include "cases.hpp"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/transport/rdma/link_group.hpp"
#include "trace.hpp"

namespace sim {
namespace {

// Forty connections that never stop, on a send queue that is always full, and one that sends a byte
// now and then: it only waits for those before it.
void turns()
{
	constexpr u32 kChatty = 40;
	constexpr u64 kBytes = 60;
	constexpr u64 kWait_us = 100'000; // on average
	struct socket *listener = sys_socket(&server());
	u64 said_us = 0; // 0: no byte is under way
	u64 waited_us = 0;
	bool over = false;
	u32 talking = 0;

	if (sys_listen(listener, kPort, 2 * kChatty) != 0)
		fail("listen() fails");
	Sockets socks;
	for (u32 i = 0; i <= kChatty; i++) {
		const bool quiet = i == kChatty;
		struct socket *reader = nullptr;

		socks.push_back(connect_one());
		if (sys_accept(listener, &reader) != 0)
			fail("accept() fails");
		processes()++;
		scheduler().spawn("reader", [reader, quiet, &said_us, &waited_us] {
			u8 byte;
			while (receive_byte(reader, &byte) == 1) {
				if (quiet)
					waited_us +=
						scheduler().now_us() - std::exchange(said_us, 0);
			}
			sys_close(reader);
			processes()--;
		});
	}
	for (struct socket *sock : socks) {
		if (sock == socks.back())
			break;
		processes()++;
		talking++;
		scheduler().spawn("chatty", [sock, &over, &talking] {
			while (!over && send_byte(sock, kHello) == 1) {}
			talking--;
			processes()--;
		});
	}
	for (u64 i = 0; i < kBytes; i++) {
		scheduler().sleep_us(1000 + scheduler().random().below(2000));
		said_us = scheduler().now_us();
		(void)send_byte(socks.back(), kHello);
		while (said_us != 0)
			scheduler().sleep_us(50);
	}
	over = true;
	note("a byte takes %llu us", waited_us / kBytes);
	if (waited_us / kBytes > kWait_us)
		fail("a byte takes %llu us", waited_us / kBytes);
	while (talking != 0)
		scheduler().sleep_us(kMoment_us);
	close_all(socks);
	sys_close(listener);
}

std::string test_link(u64 number)
{
	std::string message(44, '\0');

	message[0] = 0x27;
	message[1] = 44;
	for (size_t i = 0; i < 8; i++)
		message[4 + i] = static_cast<char>(number >> (8 * i) | 0x80);
	return message;
}

bool has_delete_link(const smc_ib_link *link)
{
	return std::any_of(link->wire.begin(), link->wire.end(), [](const auto &post) {
		return post->message.size() >= 44 && post->message[0] == 0x24;
	});
}

// A peer sends requests without end and takes no answer. It has to wait, since its requests keep
// their receives; answers do not fill the send queue, and the group's last message has its place.
void requests_without_end()
{
	constexpr u64 kRequests = 1000;
	constexpr size_t kAnswers = 4;
	struct socket *sock = connect_one();
	smc_ib_link *link = link_of(&server());
	u64 asked = 0;

	scheduler().sleep_us(kMoment_us);
	link_of(&client())->receives = 0;
	for (int idle = 0; idle < 100 && asked < kRequests; idle++) {
		while (link->receives != 0 && asked < kRequests) {
			forge(link, test_link(++asked));
			idle = 0;
		}
		scheduler().sleep_us(1000);
	}
	note("%llu requests, %zu posts on the wire", asked, link->wire.size());
	if (asked > world().knobs.receives)
		fail("%llu requests are taken in, and no answer has left", asked);
	if (link->wire.size() > kAnswers)
		fail("%zu answers in the send queue", link->wire.size());
	static_cast<smc::transport::rdma::Link *>(link->context)
		->group()
		.end(smc::wire::DeleteLinkReason::kOperator);
	if (!has_delete_link(link))
		fail("no DELETE_LINK");
	if (server().stats[SMC_STAT_LLC_OVERFLOW] != 0)
		fail("%lld messages were dropped", server().stats[SMC_STAT_LLC_OVERFLOW]);
	sys_close(sock);
}

// Bursts of more requests than are answered at a time, from a peer that takes the answers: each one
// is answered.
void bursts_of_requests()
{
	constexpr u64 kBursts = 200;
	// The peer has not sent the requests, and counts each answer as a violation; so long until
	// it has forgotten them.
	constexpr u64 kForgotten_us = 16 * 60'000'000ULL;
	struct socket *sock = connect_one();
	smc_ib_link *link = link_of(&server());
	u64 asked = 0;

	scheduler().sleep_us(kMoment_us);
	for (u64 burst = 0; burst < kBursts; burst++) {
		const s64 wanted = server().stats[SMC_STAT_LLC_TX] + 6 + s64(burst % 9);
		for (u64 i = 0; i < 6 + burst % 9; i++) {
			forge(link, test_link(++asked));
			if (burst % 3 == 0)
				scheduler().yield();
		}
		scheduler().sleep_us(kMoment_us);
		if (server().stats[SMC_STAT_LLC_TX] < wanted)
			fail("burst %llu: %lld answers are missing", burst,
			     wanted - server().stats[SMC_STAT_LLC_TX]);
		scheduler().sleep_us(kForgotten_us);
	}
	sys_close(sock);
}

// The peer's last message does not wait behind its requests: it takes no answer any more, and its
// next connection must not get into the old group.
void last_word_after_requests()
{
	struct socket *sock = connect_one();
	smc_ib_link *link = link_of(&server());
	u64 asked = 0;

	scheduler().sleep_us(kMoment_us);
	link_of(&client())->receives = 0;
	while (link->receives > 1)
		forge(link, test_link(++asked));
	std::string last(44, '\0');
	last[0] = 0x24;
	last[1] = 44;
	last[3] = 0x60;
	last[6] = 2;
	forge(link, last);
	scheduler().sleep_us(kMoment_us);
	if (server().stats[SMC_STAT_GROUP_TERMINATED] != 1)
		fail("the group goes on");
	sys_close(sock);
}

// The one on that rail.
smc_ib_link *link_of(const net &host, u32 rail)
{
	for (const auto &[qpn, link] : fabric().links) {
		if (link->device == host.devices[rail])
			return link;
	}
	fail("no link of host %s on rail %u", host.name.c_str(), rail);
}

// One of two links breaks while requests of its peer wait in its receives, since the peer has no
// receive for more answers. Whatever the group does for the other link meanwhile, it does not look
// into receives that are gone.
void requests_wait_on_lost_link()
{
	constexpr u64 kRequests = 60;
	constexpr int kRounds = 8;
	constexpr u64 kRecovered_us = 10'000'000;

	for (int round = 0; round < kRounds; round++) {
		// Many RMBs, so that it takes time to unmap them.
		const Sockets socks = connect_many(40);

		scheduler().sleep_us(kMoment_us);
		smc_ib_link *link = link_of(server(), 0);
		const u32 qpn = link->qpn;
		auto &group = static_cast<smc::transport::rdma::Link *>(link->context)->group();

		link_of(client(), 0)->silent = true;
		for (u64 asked = 0; asked < kRequests && link->receives > 1; asked++) {
			forge(link, test_link(asked));
			scheduler().sleep_us(100);
		}
		std::string longer = test_link(kRequests);
		longer.resize(SMC_IB_MESSAGE_HEAD_BYTES + 36, 'x');
		forge(link, longer);
		scheduler().sleep_us(1000);
		note("%zu requests wait", link->kept.size());
		if (link->kept.size() < 6)
			fail("no request waits");
		break_link(link, -ECONNRESET);
		while (fabric().link(qpn) != nullptr)
			scheduler().yield();
		for (int i = 0; i < 100; i++) {
			group.look_for_other_port();
			scheduler().yield();
		}
		scheduler().sleep_us(kRecovered_us);
		expect_answers(socks);
		close_all(socks);
		scheduler().sleep_us(kMoment_us);
	}
}

constexpr u64 kDays_us = u64{4} * 24 * 3600 * 1'000'000;

const Case kCases[] = {
	{.name = "bursts-of-requests",
	 .play = [] { with_server(bursts_of_requests); },
	 .latency_us = 1,
	 .lasts_us = kDays_us},
	{.name = "requests-wait-on-lost-link",
	 .play = [] { with_server(requests_wait_on_lost_link); },
	 .lasts_us = 200'000'000,
	 .second_ports = 3,
	 .iwarp = true},
	{"last-word-after-requests", [] { with_server(last_word_after_requests); }},
	// So short that answers fill all places but the last.
	{.name = "requests-without-end",
	 .play = [] { with_server(requests_without_end); },
	 .send_queue = 4},
	{.name = "turns", .play = turns, .send_queue = 24},
};

} // namespace

const std::span<const Case> link_cases{kCases};

} // namespace sim
