// SPDX-License-Identifier: GPL-2.0-only
//
// Rings that are replaced by larger ones while the connection goes on.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

constexpr std::uint32_t kLarger = 65536;

Config growing_config(bool compact = false)
{
	Config config = plain_config();

	config.growing = true;
	config.compact = compact;
	return config;
}

// Both ends have spoken, and nothing is under way.
void exchange(Pair &pair)
{
	pair.a.send("ping");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "ping");
	pair.b.send("pong");
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive(), "pong");
	pair.wire.settle();
}

TEST(RingChangeTest, TheWriterGoesOnInTheLargerRing)
{
	Pair pair{growing_config()};
	const std::string data(16384, 'x');

	exchange(pair);
	ASSERT_TRUE(pair.b.offer(kLarger));
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.ring(), 0u); // it has not written yet
	EXPECT_EQ(pair.a.send(data), data.size());
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.ring(), 1u);
	EXPECT_EQ(pair.b.connection.rmb_size_bytes(), kLarger);
	EXPECT_EQ(pair.a.connection.peer_rmb_size_bytes(), kLarger);
	// Three times the ring before.
	EXPECT_EQ(pair.a.send(data), data.size());
	pair.wire.settle();
	EXPECT_EQ(pair.a.send(data), data.size());
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), data + data + data);
	EXPECT_EQ(pair.b.connection.high_water_bytes(), kLarger);
	exchange(pair);
}

TEST(RingChangeTest, NotBeforeTheRingBeforeIsKnownToBeEmpty)
{
	Pair pair{growing_config()};

	exchange(pair);
	pair.a.send("unread");
	pair.wire.settle();
	ASSERT_TRUE(pair.b.offer(kLarger));
	pair.wire.settle();
	pair.a.send("more");
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.ring(), 0u);
	EXPECT_EQ(pair.b.receive(), "unreadmore");
	pair.b.send("so far"); // and says how much it has read
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive(), "so far");
	pair.a.send("there");
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.ring(), 1u);
	EXPECT_EQ(pair.b.receive(), "there");
}

TEST(RingChangeTest, CursorsThatAreOnTheirWayMeanTheSame)
{
	Pair pair{growing_config()};

	exchange(pair);
	ASSERT_TRUE(pair.b.offer(kLarger));
	pair.wire.settle();
	// Both write at once, so the reader's message knows nothing of the change.
	pair.a.send("one way");
	pair.b.send("and the other");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "one way");
	EXPECT_EQ(pair.a.receive(), "and the other");
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), kLarger - 7);
	exchange(pair);
}

TEST(RingChangeTest, TheFirstMessageThereIsNotCompact)
{
	Pair pair{growing_config(/*compact=*/true)};

	exchange(pair);
	exchange(pair);
	EXPECT_TRUE(pair.a.last_plan.compact);
	ASSERT_TRUE(pair.b.offer(kLarger));
	EXPECT_FALSE(pair.b.last_plan.compact);
	EXPECT_TRUE(pair.b.last_plan.message.offers_ring);
	pair.wire.settle();
	pair.a.send("1");
	EXPECT_FALSE(pair.a.last_plan.compact);
	EXPECT_EQ(pair.a.last_plan.message.ring, 1u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "1");
	exchange(pair);
	EXPECT_TRUE(pair.a.last_plan.compact);
}

TEST(RingChangeTest, AnOfferThatGoesWithBytesIsNotCompact)
{
	Pair pair{growing_config(/*compact=*/true)};

	exchange(pair);
	exchange(pair);
	ASSERT_TRUE(pair.b.connection.offer_ring(kLarger));
	pair.b.send("bytes");
	EXPECT_FALSE(pair.b.last_plan.compact);
	EXPECT_TRUE(pair.b.last_plan.message.offers_ring);
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive(), "bytes");
}

TEST(RingChangeTest, AnOfferThatIsLostWithItsLinkIsMadeAgain)
{
	Pair pair{growing_config()};

	exchange(pair);
	ASSERT_TRUE(pair.b.offer(kLarger));
	lose_all(pair);
	pair.wire.settle();
	pair.a.send("there");
	EXPECT_EQ(pair.a.last_plan.message.ring, 1u);
	// And so is the first message in the new ring.
	lose_all(pair);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "there");
	EXPECT_EQ(pair.b.connection.ring(), 1u);
	exchange(pair);
}

TEST(RingChangeTest, NotWhileBytesMayHaveToBeSentAgain)
{
	Pair pair{growing_config()};

	exchange(pair);
	pair.a.send("unread");
	pair.wire.settle();
	ASSERT_TRUE(pair.b.offer(kLarger));
	for (End *end : {&pair.a, &pair.b}) {
		pair.wire.lose_link(*end, SIZE_MAX, false, SIZE_MAX);
		while (!end->arrived.empty())
			pair.wire.deliver(*end);
	}
	pair.a.connection.fail_over();
	EXPECT_FALSE(pair.a.connection.ring_change_due());
}

TEST(RingChangeTest, OnlyLargerOnesAndOneAtATime)
{
	Pair plain;
	EXPECT_FALSE(plain.a.connection.offer_ring(kLarger));
	EXPECT_FALSE(plain.a.connection.wants_peer_ring(kLarger));

	Pair pair{growing_config()};
	EXPECT_FALSE(pair.b.connection.offer_ring(16384));
	EXPECT_FALSE(pair.b.connection.offer_ring(ring::kMaxSizeBytes + 1));
	EXPECT_TRUE(pair.b.connection.offer_ring(kLarger));
	EXPECT_EQ(pair.b.connection.offered_ring_bytes(), kLarger);
	EXPECT_FALSE(pair.b.connection.offer_ring(2 * kLarger));
	EXPECT_FALSE(pair.a.connection.wants_peer_ring(16384));
	EXPECT_FALSE(pair.a.connection.wants_peer_ring(ring::kMaxSizeBytes + 1));
	EXPECT_TRUE(pair.a.connection.wants_peer_ring(kLarger));
	pair.a.connection.take_peer_ring(kLarger);
	EXPECT_FALSE(pair.a.connection.wants_peer_ring(2 * kLarger));
	pair.a.connection.drop_peer_ring();
	EXPECT_FALSE(pair.a.connection.ring_change_due());

	pair.a.connection.close();
	EXPECT_FALSE(pair.a.connection.offer_ring(kLarger));
	EXPECT_FALSE(pair.a.connection.wants_peer_ring(kLarger));
}

TEST(RingChangeTest, ARingThatIsNotThereIsAViolation)
{
	Pair pair{growing_config()};
	CursorMessage message{.sequence = 1, .token = 0x2222, .producer = {0, 3}, .ring = 1};

	EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kWrongRing);
	ASSERT_TRUE(pair.b.connection.offer_ring(kLarger));
	message.ring = 2;
	EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kWrongRing);

	// With bytes in the one before.
	message.ring = 0;
	EXPECT_TRUE(pair.b.connection.on_cdc(message).ok());
	message = {.sequence = 2, .token = 0x2222, .producer = {0, 4}, .ring = 1};
	EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kWrongRing);
	// With bytes that the writer does not know to be read.
	(void)pair.b.connection.consume(3);
	EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kWrongRing);
	pair.b.transmit();
	const Verdict verdict = pair.b.connection.on_cdc(message);
	EXPECT_TRUE(verdict.ok());
	EXPECT_TRUE(verdict.has(event::kNewRing));
	// And not back.
	message = {.sequence = 3, .token = 0x2222, .producer = {0, 4}, .ring = 0};
	EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kWrongRing);
}

TEST(RingChangeTest, ACursorBehindTheNewRingIsAViolationInIt)
{
	Pair pair{growing_config()};

	ASSERT_TRUE(pair.b.connection.offer_ring(kLarger));
	pair.b.transmit();
	const Verdict verdict = pair.b.connection.on_cdc(
		{.sequence = 1, .token = 0x2222, .producer = {0, kLarger}, .ring = 1});
	EXPECT_EQ(verdict.violation, Violation::kCursorOutsideRing);
	EXPECT_TRUE(verdict.has(event::kNewRing)); // its memory is the one in use
}

TEST(RingChangeTest, EarlyCompactMessageInTheRingOfTheOneBefore)
{
	Pair pair{growing_config(/*compact=*/true)};
	const CompactMessage brief{.written_bytes = 3};
	CursorMessage before{.sequence = 1, .token = 0x2222, .producer = {0, 20000}, .ring = 1};

	EXPECT_FALSE(pair.b.connection.in_full(brief, before)); // there is no such ring
	ASSERT_TRUE(pair.b.connection.offer_ring(kLarger));
	const auto full = pair.b.connection.in_full(brief, before);
	ASSERT_TRUE(full);
	EXPECT_EQ(full->ring, 1u);
	EXPECT_EQ(full->producer, (ring::Cursor{0, 20003}));
	before.ring = 0;
	EXPECT_FALSE(pair.b.connection.in_full(brief, before));
}

TEST(RingChangeTest, ARingThatWasFullAndIsReadEmptyIsTooSmall)
{
	Pair pair{growing_config()};
	const std::string full(16384, 'x');

	EXPECT_EQ(pair.a.send(full), full.size());
	pair.wire.settle();
	(void)pair.b.receive(16383);
	EXPECT_FALSE(pair.b.connection.take_ran_empty());
	(void)pair.b.receive(1);
	EXPECT_TRUE(pair.b.connection.take_ran_empty());
	EXPECT_FALSE(pair.b.connection.take_ran_empty());
	pair.wire.settle();
	// One that was not full is large enough.
	pair.a.send("some");
	pair.wire.settle();
	(void)pair.b.receive();
	EXPECT_FALSE(pair.b.connection.take_ran_empty());
}

TEST(RingChangeTest, WritableWhenTheSendBufferCanBeReplaced)
{
	Pair pair{growing_config()};

	EXPECT_FALSE(pair.a.connection.await_idle_send_buffer()); // it is
	EXPECT_TRUE(pair.a.connection.writable_for_poll());
	pair.a.send(std::string(100, 'x'));
	ASSERT_TRUE(pair.a.connection.await_idle_send_buffer());
	pair.a.transmit();
	EXPECT_FALSE(pair.a.connection.writable_for_poll());
	// The cursor alone does not say that no work request reads it.
	while (pair.wire.carry(pair.a)) {}
	while (!pair.b.arrived.empty())
		pair.wire.deliver(pair.b);
	(void)pair.b.receive();
	pair.b.send("answer");
	while (pair.wire.carry(pair.b)) {}
	while (!pair.a.arrived.empty())
		pair.wire.deliver(pair.a);
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), 16384u);
	EXPECT_FALSE(pair.a.connection.writable_for_poll());
	const Wire::Events events = pair.wire.settle();
	EXPECT_TRUE((events.a & event::kWritable) != 0);
	EXPECT_TRUE(pair.a.connection.replace_send_buffer(kLarger));
	EXPECT_TRUE(pair.a.connection.writable_for_poll());
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), kLarger);
}

} // namespace
} // namespace smc::connection::test
