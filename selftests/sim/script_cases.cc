// SPDX-License-Identifier: GPL-2.0-only
//
// Cases with both ends of a connection used by one process, for faults that show only while
// everything else stands still.
#include "cases.hpp"

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "call.hpp"
#include "plot.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {
namespace {

class Crowd {
public:
	static constexpr u32 kConnections = kNarrowSendQueue;

	Crowd(net *from, net *to) : from_(from)
	{
		for (u32 i = 0; i < kConnections; i++)
			calls_.push_back(std::make_unique<Call>(from, to));
	}
	// All at once, until the send queue is full.
	void speak()
	{
		const s64 full_before = from_->stats[SMC_STAT_SQ_FULL];

		for (const auto &call : calls_)
			(void)call->send(1);
		if (from_->stats[SMC_STAT_SQ_FULL] == full_before)
			fail("script: room for %u connections at once", kConnections);
	}
	void is_heard()
	{
		for (const auto &call : calls_)
			call->receive(1);
	}

private:
	net *from_;
	std::vector<std::unique_ptr<Call>> calls_;
};

// More connections than fit into the send queue send at once, and then are silent. The device
// reports only the first ones as sent; those that found no room depend on that report.
void crowd(net *from, net *to)
{
	Crowd crowd(from, to);

	crowd.speak();
	crowd.is_heard();
}

// The peer has closed, this end has shut down, TCP dies. Then it closes, while the send queue has
// no room. The peer still gets its closing flag.
void last_word(net *from, net *to)
{
	Crowd crowd(from, to);
	Call call(from, to);

	call.close_server();
	scheduler().sleep_us(kMoment_us);
	call.shut_client();
	call.break_off_tcp();
	scheduler().sleep_us(kMoment_us);
	crowd.speak();
	call.close_client();
	scheduler().sleep_us(kMoment_us);
	if (connections_of(to) != Crowd::kConnections)
		fail("script: the peer is not told");
	crowd.is_heard();
}

// A call against the Connection's contract: both ends get a reset, and nobody reads another byte,
// which might be one that was read before.
void broken_contract(net *from, net *to)
{
	Call call(from, to);

	(void)call.send(1);
	call.receive(1);
	world().warnings_due = 1;
	call.break_contract();
	if (world().warnings_due != 0)
		fail("script: no warning");
	scheduler().sleep_us(kMoment_us);
	const int own = call.find(true);
	const int theirs = call.find(false);
	if (own != -ECONNRESET || theirs != -ECONNRESET)
		fail("script: recv() says %d, and %d to the peer", own, theirs);
}

// Bytes that a cork holds go out after a while, whenever it was set: before the connection was
// there, behind bytes that wait for room, and while a writer waits for it.
void cork(net *from, net *to)
{
	constexpr size_t kFew = 100;
	Call early(from, to, /*corked=*/true);
	Call late(from, to);
	Call slept(from, to);
	const size_t ring_bytes = late.client().peer_rmbe_bytes;
	const size_t both_bytes = ring_bytes + late.client().sndbuf_bytes;
	bool sent = false;

	(void)early.send(kFew);
	scheduler().sleep_us(kMoment_us / 3);
	if (early.server().rx_prod.count != 0)
		fail("script: nothing is held");
	early.receive(kFew);

	(void)late.send(ring_bytes);
	(void)late.send(kFew);
	late.cork();
	late.receive(ring_bytes + kFew);

	scheduler().spawn("writer", [&] {
		(void)slept.send(both_bytes + kFew);
		sent = true;
	});
	scheduler().sleep_us(kMoment_us);
	slept.cork();
	slept.receive(both_bytes + kFew);
	while (!sent)
		scheduler().sleep_us(kMoment_us);

	// The end of a file that is sent ends MSG_MORE.
	Call file(from, to);
	(void)file.send(kFew, SMC_MSG_MORE);
	scheduler().sleep_us(kMoment_us / 10);
	if (file.server().rx_prod.count != 0)
		fail("script: nothing waits for more");
	file.push();
	scheduler().sleep_us(kMoment_us / 10);
	if (file.server().rx_prod.count != kFew)
		fail("script: it waits for more than there is");
	file.receive(kFew);

	// Later bytes do not prolong a cork.
	slept.cork();
	for (int i = 0; i < 10; i++) {
		(void)slept.send(1);
		scheduler().sleep_us(kMoment_us / 10);
	}
	if (slept.find(true) != 1)
		fail("script: a cork holds as long as somebody writes");
	scheduler().sleep_us(kMoment_us);
	slept.receive(9);
}

// One end sends and closes. The other one comes back after two hours.
void closed_and_left(net *from, net *to)
{
	constexpr u64 kQuarter_us = u64{15} * 60 * 1'000'000;
	constexpr u32 kBytes = 1000;
	Call call(from, to);

	(void)call.send(kBytes);
	call.close_client();
	scheduler().sleep_us(kQuarter_us);
	// Memory held by a peer's network is not held for ever.
	if (from != to && connections_of(from) != 0)
		fail("script: a closed end is still there");
	call.nothing_is_wrong(SMC_POLL_ERR | SMC_POLL_HUP);
	// The next one gets another ring: the peer may still write to the ring of the end that has
	// gone, as far as it knows.
	{
		Call next(from, to);

		(void)next.send(kBytes);
		next.receive(kBytes);
		next.close_client();
		next.end_is_clean();
	}
	// The group, which has no other connection, ends meanwhile.
	scheduler().sleep_us(7 * kQuarter_us);
	call.nothing_is_wrong(SMC_POLL_ERR);
	call.receive(kBytes);
	call.end_is_clean();
}

// More of them close, with data left, than may be kept for peers that do not read. The first ones'
// peers get all data, the other peers an error.
void orphans(net *from, net *to)
{
	constexpr s64 kKept = 3;
	constexpr s64 kAll = 8;
	std::vector<std::unique_ptr<Call>> calls;
	std::vector<size_t> sent;

	for (s64 i = 0; i < kAll; i++) {
		calls.push_back(std::make_unique<Call>(from, to));
		sent.push_back(calls.back()->fill());
	}
	const smc_sock_info info = calls.front()->client();
	share_for_closed_ends(u64{kKept} * (info.sndbuf_bytes + info.rmbe_bytes));
	for (const auto &call : calls)
		call->close_client();
	scheduler().sleep_us(10'000'000);
	if (connections_of(from) != kKept || from->stats[SMC_STAT_ORPHAN_LIMITED] != kAll - kKept)
		fail("script: %lld of %lld closed ends are kept, not %lld", connections_of(from),
		     kAll, kKept);
	for (s64 i = 0; i < kKept; i++) {
		calls[i]->receive(sent[i]);
		calls[i]->end_is_clean();
	}
	for (s64 i = kKept; i < kAll; i++)
		calls[i]->is_reset();
}

// A closed end has more data than goes into the ring. Until the peer has it, TCP must stay open: it
// would forget a closed connection, and answer the peer's keepalives by a reset.
void slow_reader(net *from, net *to)
{
	constexpr u64 kMinute_us = 60'000'000;
	Call call(from, to);
	const size_t sent = call.fill();

	call.close_client();
	scheduler().sleep_us(kMinute_us);
	call.tcp_is(SMC_TCP_ESTABLISHED);
	call.receive(sent - 1);
	scheduler().sleep_us(kMinute_us);
	call.tcp_is(SMC_TCP_CLOSE_WAIT);
	call.receive(1);
	call.end_is_clean();
}

// A peer that reads a little each time before it would be given up.
void sips(net *from, net *to)
{
	constexpr u64 kNearlyLimit_us = u64{9} * 60 * 1'000'000;
	Call call(from, to);

	(void)call.fill();
	call.close_client();
	for (int i = 0; i < 8; i++) {
		scheduler().sleep_us(kNearlyLimit_us);
		call.receive(10'000);
	}
	if (connections_of(from) != 0)
		fail("script: a closed end is kept for as long as the peer likes");
}

// A reader has taken some bytes without being asked, and rests. The writer who fills more than half
// of the ring asks, gets the cursor, and can fill all of it.
void full_ring(net *host)
{
	Call call(host, host);
	const u32 size_bytes = call.client().peer_rmbe_bytes;

	(void)call.send(size_bytes / 4);
	call.receive(size_bytes / 4);
	const int first = call.send(size_bytes / 2 + 1, SMC_MSG_DONTWAIT);
	const int second = call.send(size_bytes, SMC_MSG_DONTWAIT);
	const int third = call.send(1, SMC_MSG_DONTWAIT);

	if (first + second != static_cast<int>(size_bytes) || third != -EAGAIN)
		fail("script: %d and %d bytes, then errno %d: not %u", first, second, -third,
		     size_bytes);
	call.receive(size_bytes);
}

// The same where the writer fills half of it and does not ask: less is unread than the reader may
// keep to itself.
void half_ring(net *host)
{
	Call call(host, host);
	const u32 quarter_bytes = call.client().peer_rmbe_bytes / 4;

	(void)call.send(quarter_bytes);
	call.receive(quarter_bytes);
	(void)call.send(quarter_bytes);
	const u32 read_bytes = call.server().tx_cons.count;
	const u32 known_bytes = call.client().rx_cons.count;
	if (read_bytes != quarter_bytes || known_bytes != read_bytes)
		fail("script: %u of %u bytes read, the writer knows of %u", read_bytes,
		     quarter_bytes, known_bytes);
	call.receive(quarter_bytes);
}

constexpr u64 kHours_us = u64{3} * 3600 * 1'000'000;

// The sender has ended and says that it is blocked, with nothing left to send. Its answers tell the
// reader so, before a time limit does.
void end_behind_a_full_ring(net *from, net *to)
{
	constexpr u64 kSoon_us = 100'000;
	from->growing = false; // nothing else is asked
	Call call(from, to);

	if (call.send(1000) != 1000)
		fail("script: no room");
	call.shut_client();
	call.receive(1000);
	const u64 empty_us = scheduler().now_us();
	const s64 asked = to->stats[SMC_STAT_LLC_TX];
	call.end_is_clean();
	if (scheduler().now_us() - empty_us > kSoon_us)
		fail("script: the end comes %llu us late", scheduler().now_us() - empty_us);
	if (to->stats[SMC_STAT_END_ANSWERED] != 1 || to->stats[SMC_STAT_END_TIMEOUT] != 0 ||
	    to->stats[SMC_STAT_LLC_TX] - asked != 2)
		fail("script: the end is no certain one");
}

// The sender does not answer, and may have more to send. Several ends are in doubt at once, and
// each of them has the others looked at.
void ends_without_answer(net *from, net *to)
{
	std::vector<std::unique_ptr<Call>> calls;

	for (int i = 0; i < 4; i++) {
		calls.push_back(std::make_unique<Call>(from, to));
		if (calls.back()->send(1000) != 1000)
			fail("script: no room");
		calls.back()->shut_client();
		calls.back()->receive(1000);
	}
	for (const auto &call : calls)
		call->end_is_clean();
	if (to->stats[SMC_STAT_END_ANSWERED] != 0 || to->stats[SMC_STAT_END_TIMEOUT] != 4)
		fail("script: %lld ends without an answer", to->stats[SMC_STAT_END_ANSWERED]);
}

// Many ends are in doubt at once. The peer is asked for all of them: it keeps a receive for each
// question, and two peers that ask for each end could run out of them.
void ends_that_ask_together(net *from, net *to)
{
	constexpr s64 kEnds = 20;
	from->growing = false; // nothing else is asked
	std::vector<std::unique_ptr<Call>> calls;

	for (s64 i = 0; i < kEnds; i++) {
		calls.push_back(std::make_unique<Call>(from, to));
		if (calls.back()->send(1000) != 1000)
			fail("script: no room");
		calls.back()->shut_client();
	}
	scheduler().sleep_us(kMoment_us);
	const s64 asked = to->stats[SMC_STAT_LLC_TX];
	for (const auto &call : calls)
		call->receive(1000);
	for (const auto &call : calls)
		call->end_is_clean();
	if (to->stats[SMC_STAT_END_ANSWERED] != kEnds || to->stats[SMC_STAT_END_TIMEOUT] != 0)
		fail("script: %lld of %lld ends are certain", to->stats[SMC_STAT_END_ANSWERED],
		     kEnds);
	// By themselves they would need two each.
	if (to->stats[SMC_STAT_LLC_TX] - asked >= kEnds)
		fail("script: %lld questions for %lld ends", to->stats[SMC_STAT_LLC_TX] - asked,
		     kEnds);
}

constexpr u8 kTestLink = 7;

// MSG_MORE, where one write could tell of itself, as a message without it would.
void more_waits()
{
	constexpr u64 kSoon_us = 50'000;
	constexpr size_t kFew = 100;
	Call call(&client(), &server());

	(void)call.send(kFew);
	call.receive(kFew);
	if (call.send_back(1) != 1)
		fail("script: no answer");
	scheduler().sleep_us(kSoon_us);
	if (call.find(/*server=*/false) != 1)
		fail("script: the answer does not come");
	(void)call.send(kFew, SMC_MSG_MORE);
	scheduler().sleep_us(kSoon_us);
	if (const int n = call.find(/*server=*/true); n != -EAGAIN)
		fail("script: recv() says %d behind MSG_MORE", n);
	(void)call.send(kFew);
	call.receive(2 * kFew);
}

const Case kCases[] = {
	{"more-waits", [] { scripted(more_waits); }},
	{.name = "ends-that-ask-together",
	 .play = [] { scripted([] { ends_that_ask_together(&client(), &server()); }); },
	 .scripted = true,
	 .blocked_at_end = true},
	{.name = "ends-without-answer",
	 .play = [] { scripted([] { ends_without_answer(&server(), &client()); }); },
	 .scripted = true,
	 .deaf_to = kTestLink,
	 .blocked_at_end = true},
	{.name = "end-behind-a-full-ring",
	 .play = [] { scripted([] { end_behind_a_full_ring(&client(), &server()); }); },
	 .scripted = true,
	 .blocked_at_end = true},
	{.name = "end-behind-a-full-ring-v1",
	 .play = [] { scripted([] { end_behind_a_full_ring(&client(), &server()); }); },
	 .scripted = true,
	 .blocked_at_end = true,
	 .smcr_v1 = true},
	{.name = "end-behind-a-full-ring-iwarp",
	 .play = [] { scripted([] { end_behind_a_full_ring(&client(), &server()); }); },
	 .scripted = true,
	 .blocked_at_end = true,
	 .iwarp = true},
	{.name = "crowd",
	 .play = [] { scripted([] { crowd(&client(), &server()); }); },
	 .scripted = true},
	{.name = "last-word",
	 .play = [] { scripted([] { last_word(&client(), &server()); }); },
	 .latency_us = 5000,
	 .scripted = true},
	{.name = "broken-contract",
	 .play = [] { scripted([] { broken_contract(&client(), &server()); }); },
	 .scripted = true},
	{.name = "cork",
	 .play = [] { scripted([] { cork(&client(), &server()); }); },
	 .scripted = true},
	{.name = "closed-and-left",
	 .play = [] { scripted([] { closed_and_left(&client(), &server()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "closed-and-left-near",
	 .play = [] { scripted([] { closed_and_left(&client(), &client()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "orphans",
	 .play = [] { scripted([] { orphans(&client(), &server()); }); },
	 .scripted = true},
	{.name = "slow-reader",
	 .play = [] { scripted([] { slow_reader(&client(), &server()); }); },
	 .scripted = true},
	{.name = "slow-reader-clock",
	 .play = [] { scripted([] { slow_reader(&client(), &server()); }); },
	 .scripted = true,
	 .clock_back_ms = 3},
	{.name = "sips",
	 .play = [] { scripted([] { sips(&client(), &server()); }); },
	 .scripted = true,
	 .lasts_us = kHours_us},
	{.name = "full-ring",
	 .play = [] { scripted([] { full_ring(&client()); }); },
	 .scripted = true},
	{.name = "half-ring",
	 .play = [] { scripted([] { half_ring(&client()); }); },
	 .scripted = true},
};

} // namespace

const std::span<const Case> script_cases{kCases};

} // namespace sim
