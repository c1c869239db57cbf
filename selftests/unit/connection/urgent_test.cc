// SPDX-License-Identifier: GPL-2.0-only
//
// Urgent data: MSG_OOB in both directions, out of line and in line.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

constexpr std::uint8_t kBothFlags = producer_flag::kUrgentPending | producer_flag::kUrgentPresent;

// --- Sending ---------------------------------------------------------------------------------

TEST(UrgentTest, FlagsOfAnUrgentSend)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, kBothFlags);
	EXPECT_EQ(pair.a.last_plan.message.producer, (ring::Cursor{0, 4}));
	pair.a.send("more");
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
}

TEST(UrgentTest, UrgentDataDoesNotWait)
{
	Pair pair;
	pair.a.connection.set_corked(true);
	pair.a.send("1");
	EXPECT_TRUE(pair.a.posted.empty());
	pair.a.send("!", SendHint::kUrgent);
	EXPECT_EQ(pair.a.posted.size(), 1u);
}

TEST(UrgentTest, ProducerCursorStopsAtTheUrgentByte)
{
	Pair pair;
	pair.a.append("abc!", SendHint::kUrgent);
	pair.a.append("def");
	TransmitPlan plan;
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	EXPECT_EQ(plan.write_bytes, 4u);
	EXPECT_EQ(plan.message.producer_flags, kBothFlags);
	pair.a.connection.commit_transmit(plan);
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	EXPECT_EQ(plan.write_bytes, 3u);
	EXPECT_EQ(plan.message.producer_flags, 0);
}

TEST(UrgentTest, AnnouncedBeforeItIsThere)
{
	Config config = plain_config();
	config.peer_rmb_size_bytes = 64;
	Pair pair{config};
	pair.a.connection.announce_urgent(true);
	pair.a.send(std::string(99, 'x') + "!", SendHint::kUrgent);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 64u);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags,
		  producer_flag::kUrgentPending | producer_flag::kWriteBlocked);
	EXPECT_TRUE(pair.wire.settle().b & event::kUrgentPending);
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kWait);
	EXPECT_FALSE(pair.b.connection.urgent_for_poll());
	EXPECT_EQ(pair.b.receive().size(), 64u);
	EXPECT_TRUE(pair.wire.settle().b & event::kUrgent);
	EXPECT_TRUE(pair.b.connection.urgent_for_poll());
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
}

TEST(UrgentTest, AnnouncementIsTakenBack)
{
	Pair pair;
	pair.a.connection.announce_urgent(true);
	pair.a.send("1");
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, producer_flag::kUrgentPending);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kWait);
	pair.a.connection.announce_urgent(false);
	pair.a.send("2");
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
	// A byte in the send buffer is already under way.
	pair.a.append("!", SendHint::kUrgent);
	pair.a.connection.announce_urgent(false);
	pair.a.transmit();
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, kBothFlags);
}

TEST(UrgentTest, NewestMarkCounts)
{
	Pair pair;
	pair.a.append("a1", SendHint::kUrgent);
	pair.a.append("b2", SendHint::kUrgent);
	pair.a.transmit();
	EXPECT_EQ(pair.a.posted.size(), 1u);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 4u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '2');
	EXPECT_EQ(pair.b.read(), "a1b");
}

// --- Receiving out of line -------------------------------------------------------------------

TEST(UrgentTest, OutOfLine)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	EXPECT_EQ(pair.wire.settle().b, event::kReadable | event::kUrgent);
	EXPECT_EQ(pair.b.connection.readable_bytes(), 3u);
	EXPECT_TRUE(pair.b.connection.urgent_for_poll());
	EXPECT_FALSE(pair.b.connection.at_mark());
	EXPECT_EQ(pair.b.connection.take_urgent(true).status, UrgentStatus::kByte);
	const UrgentRead urgent = pair.b.connection.take_urgent(false);
	EXPECT_EQ(urgent.status, UrgentStatus::kByte);
	EXPECT_EQ(urgent.value, '!');
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
	EXPECT_FALSE(pair.b.connection.urgent_for_poll());
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_TRUE(pair.b.update_wanted); // the byte was skipped, the peer may wait for that
	EXPECT_TRUE(pair.b.connection.at_mark());
	pair.b.transmit();
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{0, 4}));
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.at_mark());
	EXPECT_EQ(pair.b.read(1), "d");
	EXPECT_FALSE(pair.b.connection.at_mark());
	EXPECT_EQ(pair.b.read(), "ef");
}

TEST(UrgentTest, ReadStopsAtTheMark)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 6u);
	EXPECT_EQ(pair.b.peek(), "abc");
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!'); // still there behind the mark
	EXPECT_EQ(pair.b.read(), "def");
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
}

TEST(UrgentTest, ByteIsLostWhenTheReaderHasPassed)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_EQ(pair.b.read(), "def");
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
}

TEST(UrgentTest, UrgentByteAloneIsNotReadable)
{
	Pair pair;
	pair.a.send("!", SendHint::kUrgent);
	const auto events = pair.wire.settle();
	EXPECT_FALSE(events.b & event::kReadable);
	EXPECT_TRUE(events.b & event::kUrgent);
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_TRUE(pair.b.connection.at_mark());
	// Skipped at once, and the peer was told.
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{0, 1}));
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
}

TEST(UrgentTest, SecondMarkMakesTheFirstAnOrdinaryByte)
{
	Pair pair;
	pair.a.send("a1", SendHint::kUrgent);
	pair.wire.settle();
	pair.a.send("b2", SendHint::kUrgent);
	EXPECT_TRUE(pair.wire.settle().b & event::kUrgent);
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '2');
	EXPECT_EQ(pair.b.read(), "a1b");
}

TEST(UrgentTest, RepeatedMessageDoesNotMarkAgain)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	const CursorMessage message = pair.a.last_plan.message;
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
	EXPECT_EQ(pair.b.connection.on_cdc(message).events, 0);
	EXPECT_EQ(pair.b.read(), "abc");
	pair.b.connection.on_cdc(message); // consumed by now
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
}

TEST(UrgentTest, UrgentFlagWithoutAByte)
{
	Pair pair;
	CursorMessage message{.sequence = 1, .producer_flags = kBothFlags};
	EXPECT_EQ(pair.b.connection.on_cdc(message).events, 0);
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
}

TEST(UrgentTest, NoReadAcrossTheMark)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.consume(4));
	EXPECT_TRUE(pair.b.connection.broken());
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
}

// While the reader copies what it was shown, the peer declares the last of these bytes urgent.
TEST(UrgentTest, NoMarkOnAByteThatCameWithoutIt)
{
	Pair pair;
	pair.a.send("abcd");
	pair.wire.settle();
	CursorMessage message = pair.a.last_plan.message;
	const ring::Segments view = pair.b.connection.read_segments(100);
	message.sequence++;
	message.producer_flags = kBothFlags;
	EXPECT_EQ(pair.b.connection.on_cdc(message).events, 0);
	EXPECT_EQ(pair.b.connection.take_urgent(true).status, UrgentStatus::kNone);
	(void)pair.b.connection.consume(view.length_bytes());
	EXPECT_FALSE(pair.b.connection.broken());
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
}

TEST(UrgentTest, StoreWithoutArrivalIsRefused)
{
	Pair pair;
	pair.b.connection.store_urgent('x');
	EXPECT_TRUE(pair.b.connection.broken());
}

TEST(UrgentTest, OffsetWhereTheRingWraps)
{
	Config config = plain_config();
	config.peer_rmb_size_bytes = 64;
	Pair pair{config};
	pair.a.send(std::string(60, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), 60u);
	pair.wire.settle();
	pair.a.send("abc!", SendHint::kUrgent); // the last byte of the ring
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.urgent_offset_bytes(), 63u);
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
}

TEST(UrgentTest, PeekAtTheMarkAndBehindIt)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("defg");
	pair.wire.settle();
	const auto peek = [&pair](std::uint32_t max_bytes, std::uint32_t skip_bytes) {
		return pair.b.text(pair.b.connection.peek_segments(max_bytes, skip_bytes));
	};
	EXPECT_EQ(peek(100, 0), "abc");
	EXPECT_EQ(peek(100, 2), "c");
	EXPECT_EQ(peek(100, 3), "defg");
	EXPECT_EQ(peek(2, 4), "ef");
	EXPECT_EQ(peek(100, 7), "");
	EXPECT_EQ(peek(100, 8), "");
	EXPECT_TRUE(pair.b.connection.mark_is_ahead(3));
	EXPECT_FALSE(pair.b.connection.mark_is_ahead(2));
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_EQ(peek(100, 0), "defg");
	EXPECT_EQ(peek(100, 3), "g");
}

TEST(UrgentTest, PeekBehindTheMarkInLine)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	const auto peek = [&pair](std::uint32_t max_bytes, std::uint32_t skip_bytes) {
		return pair.b.text(pair.b.connection.peek_segments(max_bytes, skip_bytes));
	};
	EXPECT_EQ(peek(100, 0), "abc");
	EXPECT_EQ(peek(100, 3), "!def");
	EXPECT_EQ(peek(100, 4), "def");
	EXPECT_EQ(peek(100, 7), "");
}

TEST(UrgentTest, InquiryStopsAtTheMark)
{
	Pair pair;
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 0u);
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("defg");
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 7u);
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 3u);
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 0u);
	EXPECT_EQ(pair.b.read(1), "d");
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 3u);
}

TEST(UrgentTest, InquiryInLineCountsAll)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("defg");
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 8u);
}

TEST(UrgentTest, LeavingTheMarkWithNothingBehindIt)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.wire.settle();
	pair.b.connection.leave_mark(); // not there yet
	EXPECT_TRUE(pair.b.connection.urgent_for_poll());
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_TRUE(pair.b.connection.at_mark());
	pair.b.connection.leave_mark();
	EXPECT_FALSE(pair.b.connection.at_mark());
	EXPECT_FALSE(pair.b.connection.urgent_for_poll());
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(), "def");
}

TEST(UrgentTest, TheMarkIsNotLeftForWhatLiesBehindIt)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(), "abc");
	pair.b.connection.leave_mark();
	EXPECT_TRUE(pair.b.connection.at_mark());
}

// --- In line ---------------------------------------------------------------------------------

TEST(UrgentTest, InLine)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	EXPECT_TRUE(pair.wire.settle().b & event::kUrgent);
	EXPECT_EQ(pair.b.connection.readable_bytes(), 7u);
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_TRUE(pair.b.connection.at_mark());
	EXPECT_EQ(pair.b.read(1), "!");
	EXPECT_TRUE(pair.b.update_wanted);
	EXPECT_FALSE(pair.b.connection.at_mark());
	EXPECT_EQ(pair.b.read(), "def");
}

TEST(UrgentTest, InLineAtTheMarkAndThenOut)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("abc!", SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(), "abc");
	EXPECT_TRUE(pair.b.connection.set_urgent_inline(false));
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
}

// The kernel's own module sends nothing behind an urgent byte until the peer has passed it.
TEST(UrgentTest, OutOfLineAtTheMarkIsToldThePeer)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("!", SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	ASSERT_TRUE(pair.b.connection.set_urgent_inline(false));
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{0, 1}));
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(false));
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
}

TEST(UrgentTest, OutOfLineBeforeTheMarkIsNothingToTell)
{
	Pair pair;
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(true));
	pair.a.send("abc!", SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(2), "ab");
	EXPECT_FALSE(pair.b.connection.set_urgent_inline(false));
	EXPECT_EQ(pair.b.transmit(), 0);
}

// poll() and ioctl() run while a reader copies what it was shown: they must not take the urgent
// byte or the rest away.
TEST(UrgentTest, LookingTheOtherWayChangesNothing)
{
	Pair pair;
	(void)pair.b.connection.set_urgent_inline(true);
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("def");
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(), "abc");
	const ring::Segments view = pair.b.connection.read_segments(100);
	EXPECT_EQ(view.length_bytes(), 4u);
	EXPECT_EQ(pair.b.connection.readable_bytes(), 4u);
	EXPECT_EQ(pair.b.connection.readable_bytes(/*urgent_inline=*/false), 3u);
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 4u);
	EXPECT_EQ(pair.b.connection.inquired_bytes(/*urgent_inline=*/false), 0u);
	(void)pair.b.connection.consume(view.length_bytes());
	EXPECT_FALSE(pair.b.connection.broken());
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
}

// The byte counts as out of line until the reader sets SO_OOBINLINE.
TEST(UrgentTest, OutOfLineUntilTheReaderLooks)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(/*urgent_inline=*/true), 4u);
	EXPECT_EQ(pair.b.connection.inquired_bytes(/*urgent_inline=*/true), 4u);
	EXPECT_EQ(pair.b.connection.readable_bytes(), 3u);
	EXPECT_EQ(pair.b.connection.inquired_bytes(), 3u);
}

TEST(UrgentTest, NothingUrgentForAClosedReader)
{
	Pair pair;
	pair.b.connection.close();
	pair.b.transmit();
	pair.a.send("abc!", SendHint::kUrgent); // on its way before the close arrives
	pair.wire.carry(pair.a);
	EXPECT_FALSE(pair.wire.deliver(pair.b).has(event::kUrgent | event::kReadable));
	EXPECT_EQ(pair.b.connection.take_urgent(false).status, UrgentStatus::kNone);
}

} // namespace
} // namespace smc::connection::test
