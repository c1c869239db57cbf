// SPDX-License-Identifier: GPL-2.0-only
//
// The receiving direction: which messages are accepted, which are refused, and when the peer gets
// an update.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

CursorMessage message(std::uint16_t sequence, ring::Cursor producer, ring::Cursor consumer = {})
{
	return {.sequence = sequence, .token = 0x1111, .producer = producer, .consumer = consumer};
}

// Of one send(), which is under way no more.
void read_all_of(Pair &pair, std::size_t bytes)
{
	pair.a.send(std::string(bytes, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.read().size(), bytes);
}

TEST(ReceiveTest, BytesComeInOrder)
{
	Pair pair;
	pair.a.send("hello ");
	pair.wire.carry(pair.a);
	const Verdict verdict = pair.wire.deliver(pair.b);
	EXPECT_EQ(verdict.events, event::kReadable);
	EXPECT_TRUE(verdict.ok());
	EXPECT_EQ(pair.b.connection.readable_bytes(), 6u);
	pair.a.send("world");
	pair.wire.settle();
	EXPECT_EQ(pair.b.peek(), "hello world");
	EXPECT_EQ(pair.b.peek(3, 6), "wor");
	EXPECT_EQ(pair.b.peek(3, 11), "");
	EXPECT_EQ(pair.b.peek(3, 12), "");
	EXPECT_EQ(pair.b.read(2), "he");
	EXPECT_EQ(pair.b.read(), "llo world");
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_FALSE(pair.b.connection.at_eof());
}

// The caller then looks for the reason. Bytes that it may have handed out are gone.
TEST(ReceiveTest, MoreConsumedThanThereIsIsRefused)
{
	Pair pair;
	pair.a.send("abc");
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.consume(4));
	EXPECT_TRUE(pair.b.connection.broken());
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
}

TEST(ReceiveTest, HighWater)
{
	Pair pair;
	EXPECT_EQ(pair.b.connection.high_water_bytes(), 0u);
	pair.a.send("abc");
	pair.wire.settle();
	pair.b.receive();
	EXPECT_EQ(pair.b.connection.high_water_bytes(), 3u);
	pair.a.send(std::string(16384, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.high_water_bytes(), 16384u);
}

// No cursor covers what was under way.
TEST(ReceiveTest, HighWaterOfAnAbortedConnection)
{
	Pair pair;
	pair.a.send("abc");
	pair.wire.settle();
	pair.a.send("unheard of");
	pair.a.transmit();
	pair.b.connection.abort();
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.high_water_bytes(), pair.b.connection.rmb_size_bytes());
}

TEST(ReceiveTest, NewestSegments)
{
	Pair pair;
	const std::uint32_t size_bytes = pair.b.connection.rmb_size_bytes();
	EXPECT_TRUE(pair.b.connection.newest_segments(0).empty());
	pair.a.send(std::string(size_bytes - 2, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), size_bytes - 2);
	pair.wire.settle();
	pair.a.send("abcde");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "abcde");
	EXPECT_EQ(pair.b.connection.received_bytes(), size_bytes + 3u);
	const ring::Segments newest = pair.b.connection.newest_segments(5);
	ASSERT_EQ(newest.pieces().size(), 2u);
	EXPECT_EQ(newest.pieces()[0], (ring::Segment{size_bytes - 2, 2}));
	EXPECT_EQ(newest.pieces()[1], (ring::Segment{0, 3}));
}

// --- Sequence numbers ------------------------------------------------------------------------

TEST(ReceiveTest, OlderMessagesAreIgnoredAndCounted)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(message(1, {0, 10})).has(event::kReadable));
	EXPECT_TRUE(b.on_cdc(message(2, {0, 20})).has(event::kReadable));
	EXPECT_EQ(b.on_cdc(message(1, {0, 30})).events, event::kStale);
	EXPECT_EQ(b.on_cdc(message(65000, {0, 30})).events, event::kStale);
	EXPECT_EQ(b.readable_bytes(), 20u);
	EXPECT_EQ(b.diagnostics().stale_messages, 2u);
	EXPECT_TRUE(b.on_cdc(message(2, {0, 20})).ok()); // equal: accepted, says nothing new
	EXPECT_EQ(b.readable_bytes(), 20u);
	EXPECT_TRUE(b.on_cdc(message(2, {0, 25})).has(event::kReadable));
}

TEST(ReceiveTest, SequenceWraps)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(message(20000, {0, 1})).ok());
	EXPECT_TRUE(b.on_cdc(message(50000, {0, 2})).ok());
	EXPECT_TRUE(b.on_cdc(message(65535, {0, 3})).ok());
	EXPECT_TRUE(b.on_cdc(message(0, {0, 4})).ok());
	EXPECT_EQ(b.readable_bytes(), 4u);
	EXPECT_EQ(b.on_cdc(message(65535, {0, 5})).events, event::kStale);
}

// --- Impossible cursors ----------------------------------------------------------------------

TEST(ReceiveTest, CursorOutsideTheRing)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_EQ(b.on_cdc(message(1, {0, 16384})).violation, Violation::kCursorOutsideRing);
	EXPECT_EQ(b.on_cdc(message(1, {0, UINT32_MAX})).violation, Violation::kCursorOutsideRing);
	EXPECT_EQ(b.on_cdc(message(1, {0, 1}, {0, 16384})).violation,
		  Violation::kCursorOutsideRing);
	EXPECT_EQ(b.readable_bytes(), 0u);
}

TEST(ReceiveTest, ProducerBeyondTheFreeSpace)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_EQ(b.on_cdc(message(1, {1, 1})).violation, Violation::kProducerOverrun);
	EXPECT_EQ(b.on_cdc(message(1, {2, 0})).violation, Violation::kProducerOverrun);
	EXPECT_TRUE(b.on_cdc(message(1, {1, 0})).ok());
	EXPECT_EQ(b.readable_bytes(), 16384u);
	// Consumed but not reported: the peer cannot know of the room.
	EXPECT_TRUE(b.consume(16384));
	EXPECT_EQ(b.on_cdc(message(2, {1, 1})).violation, Violation::kProducerOverrun);
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_TRUE(b.on_cdc(message(2, {1, 1})).ok());
}

TEST(ReceiveTest, ProducerBackward)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(message(1, {0, 10})).ok());
	EXPECT_EQ(b.on_cdc(message(2, {0, 9})).violation, Violation::kProducerBackward);
	EXPECT_EQ(b.on_cdc(message(2, {65535, 16383})).violation, Violation::kProducerBackward);
	EXPECT_EQ(b.readable_bytes(), 10u);
}

TEST(ReceiveTest, ConsumerBeyondWhatWasSent)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_EQ(b.on_cdc(message(1, {}, {0, 1})).violation, Violation::kConsumerBeyondSent);
	pair.b.append("12345", SendHint::kMore); // appended is not sent
	EXPECT_EQ(b.on_cdc(message(1, {}, {0, 1})).violation, Violation::kConsumerBeyondSent);
	b.push();
	pair.b.transmit();
	EXPECT_EQ(b.on_cdc(message(1, {}, {0, 6})).violation, Violation::kConsumerBeyondSent);
	EXPECT_EQ(b.on_cdc(message(1, {}, {1, 1})).violation, Violation::kConsumerBeyondSent);
	EXPECT_TRUE(b.on_cdc(message(1, {}, {0, 5})).ok());
	EXPECT_EQ(b.undelivered_bytes(), 0u);
}

TEST(ReceiveTest, ConsumerBackward)
{
	Pair pair;
	Connection &b = pair.b.connection;
	pair.b.send("12345");
	EXPECT_TRUE(b.on_cdc(message(1, {}, {0, 5})).ok());
	EXPECT_EQ(b.on_cdc(message(2, {}, {0, 4})).violation, Violation::kConsumerBackward);
	EXPECT_EQ(b.peer_window_bytes(), 16384u);
}

TEST(ReceiveTest, ViolationChangesNothing)
{
	Pair pair;
	Connection &b = pair.b.connection;
	CursorMessage bad = message(7, {0, 10}, {0, 1});
	bad.state_flags = state_flag::kClosed;
	bad.producer_flags = producer_flag::kConsumerUpdateWanted;
	EXPECT_EQ(b.on_cdc(bad).events, 0);
	EXPECT_EQ(b.readable_bytes(), 0u);
	EXPECT_EQ(b.state(), State::kActive);
	EXPECT_EQ(pair.b.transmit(), 0);
	// Its sequence number does not count either: the next regular message is not behind it.
	EXPECT_EQ(b.on_cdc(message(1, {0, 1})).events, event::kReadable);
	EXPECT_EQ(b.readable_bytes(), 1u);
}

TEST(ReceiveTest, BeforeInitEverythingIsIgnored)
{
	Connection connection;
	EXPECT_EQ(connection.on_cdc(message(1, {0, 1})).events, event::kIgnored);
	CursorMessage validation = message(0, {});
	validation.producer_flags = producer_flag::kFailoverValidation;
	EXPECT_EQ(connection.on_cdc(validation).events, event::kIgnored);
	TransmitPlan plan;
	EXPECT_FALSE(connection.plan_transmit(plan));
}

// --- Consumer updates ------------------------------------------------------------------------

TEST(ReceiveTest, NoUpdateWhileThePeerHasRoom)
{
	Pair pair;
	for (int i = 0; i < 3; i++) {
		read_all_of(pair, 2000);
		EXPECT_FALSE(pair.b.update_wanted);
	}
}

TEST(ReceiveTest, UpdateWhenLessThanHalfTheRingIsLeft)
{
	Pair pair;
	pair.a.send(std::string(8193, 'x'));
	pair.wire.settle();
	pair.b.read(2304);
	EXPECT_FALSE(pair.b.update_wanted); // not worth a message yet
	pair.b.read(1);
	EXPECT_TRUE(pair.b.update_wanted);
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{0, 2305}));
	EXPECT_FALSE(pair.b.last_plan.signal);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u - 8193u + 2305u);
}

// An answer of that size tells it. Between two of a ring of 128 KiB a turn of 64 KiB each way takes
// one message each.
TEST(ReceiveTest, NoUpdateWhileHalfTheRingIsLeft)
{
	Pair pair;
	read_all_of(pair, 8192);
	EXPECT_FALSE(pair.b.update_wanted);
	pair.b.send("x");
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
}

// Where the peer has room left, the reader is expected to take what has just come, too.
TEST(ReceiveTest, OneUpdateForSeveralMessages)
{
	Pair pair;
	for (int i = 1; i <= 2; i++) {
		pair.a.send(std::string(4097, 'x'));
		pair.wire.settle();
		EXPECT_EQ(pair.b.transmit(), 0);
		EXPECT_EQ(pair.b.read().size(), 4097u);
		EXPECT_EQ(pair.b.update_wanted, i == 2);
	}
	EXPECT_EQ(pair.b.transmit(), 1);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
}

TEST(ReceiveTest, APeerWhoseRoomIsShortIsToldAtOnce)
{
	Pair pair;
	pair.a.send(std::string(4096, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), 4096u);
	pair.a.send(std::string(8191, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 4097u);
	pair.a.send("x");
	pair.wire.settle();
	// Told without a reader, of what was read before.
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 8192u);
}

TEST(ReceiveTest, UpdateStaysDueUntilItIsPosted)
{
	Pair pair;
	pair.a.send(std::string(16384, 'x'));
	pair.wire.settle();
	pair.b.send_queue_limit = 0;
	EXPECT_EQ(pair.b.receive().size(), 16384u);
	EXPECT_TRUE(pair.b.posted.empty());
	pair.b.send_queue_limit = 1;
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.transmit(), 0);
}

TEST(ReceiveTest, DataCarriesTheUpdate)
{
	Pair pair;
	read_all_of(pair, 16384);
	EXPECT_TRUE(pair.b.update_wanted);
	EXPECT_EQ(pair.b.send("reply"), 5u);
	EXPECT_EQ(pair.b.posted.size(), 1u);
	EXPECT_EQ(pair.b.last_plan.write_bytes, 5u);
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{1, 0}));
}

CursorMessage request(std::uint16_t sequence, ring::Cursor producer)
{
	CursorMessage result = message(sequence, producer);
	result.producer_flags = producer_flag::kConsumerUpdateWanted;
	return result;
}

TEST(ReceiveTest, RequestIsAnsweredWhenThereIsSomethingToTell)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(request(1, {0, 10})).ok());
	EXPECT_FALSE(can_transmit(b));
	EXPECT_FALSE(b.consume(9));
	EXPECT_TRUE(b.consume(1)); // all there is
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_FALSE(b.consume(0));
	EXPECT_TRUE(b.on_cdc(request(2, {0, 5000})).ok());
	EXPECT_FALSE(can_transmit(b));
	EXPECT_FALSE(b.consume(2304));
	EXPECT_TRUE(b.consume(1)); // a helping
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_FALSE(b.consume(1));
	EXPECT_TRUE(b.on_cdc(request(3, {0, 5001})).ok()); // another request
	EXPECT_TRUE(can_transmit(b));
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.write_bytes, 0u);
	EXPECT_EQ(pair.b.last_plan.message.consumer, (ring::Cursor{0, 2316}));
	EXPECT_TRUE(b.on_cdc(message(4, {0, 5001})).ok());
	EXPECT_FALSE(b.consume(2685)); // no longer asked for
}

// Even without news: the peer may have missed the last update. But two ends that both ask must not
// answer each other for ever.
TEST(ReceiveTest, RequestWithoutDataIsAnsweredOnce)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(request(1, {})).ok());
	EXPECT_TRUE(can_transmit(b));
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.write_bytes, 0u);
	EXPECT_EQ(pair.b.transmit(), 0);
	EXPECT_TRUE(b.on_cdc(request(2, {})).ok());
	EXPECT_FALSE(can_transmit(b));
	EXPECT_TRUE(b.on_cdc(message(3, {})).ok());
	EXPECT_FALSE(can_transmit(b));
	EXPECT_TRUE(b.on_cdc(request(4, {})).ok());
	EXPECT_TRUE(can_transmit(b));
	EXPECT_EQ(pair.b.transmit(), 1);
	// After a failover the answer may have been lost.
	CursorMessage validation = message(4, {});
	validation.producer_flags = producer_flag::kFailoverValidation;
	EXPECT_TRUE(b.on_cdc(validation).ok());
	EXPECT_TRUE(b.on_cdc(request(5, {})).ok());
	EXPECT_TRUE(can_transmit(b));
}

TEST(ReceiveTest, BlockedPeerIsToldWhenTheRingIsEmpty)
{
	Pair pair;
	// The peer says that it is blocked although there is room: it gets an update.
	CursorMessage blocked = message(1, {0, 10});
	blocked.producer_flags = producer_flag::kWriteBlocked;
	pair.b.connection.on_cdc(blocked);
	EXPECT_FALSE(pair.b.connection.consume(9));
	EXPECT_TRUE(pair.b.connection.consume(1));
}

TEST(ReceiveTest, BlockedPeerIsToldOfAHelping)
{
	Pair pair;
	CursorMessage blocked = message(1, {0, 5000});
	blocked.producer_flags = producer_flag::kWriteBlocked;
	pair.b.connection.on_cdc(blocked);
	EXPECT_FALSE(pair.b.connection.consume(2304));
	EXPECT_TRUE(pair.b.connection.consume(1));
}

TEST(ReceiveTest, PeerThatBecomesBlockedIsToldAtOnce)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(message(1, {0, 5000}));
	EXPECT_FALSE(b.consume(4999));
	CursorMessage blocked = message(2, {0, 5000});
	blocked.producer_flags = producer_flag::kWriteBlocked;
	EXPECT_TRUE(b.on_cdc(blocked).ok());
	EXPECT_TRUE(can_transmit(b));
}

TEST(ReceiveTest, LargeRingWaitsForATenth)
{
	Config config = plain_config();
	config.rmb_size_bytes = 65536;
	Pair pair{config};
	pair.a.connection.on_cdc(message(1, {1, 0}));
	EXPECT_FALSE(pair.a.connection.consume(6553));
	EXPECT_TRUE(pair.a.connection.consume(1));
}

// --- SMC-D -----------------------------------------------------------------------------------

TEST(ReceiveTest, CursorsWithoutSequence)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cursors(message(0, {0, 5})).has(event::kReadable));
	EXPECT_TRUE(b.on_cursors(message(0, {0, 9})).has(event::kReadable));
	EXPECT_EQ(b.on_cursors(message(0, {0, 8})).violation, Violation::kProducerBackward);
}

// --- Failover --------------------------------------------------------------------------------

CursorMessage validation(std::uint16_t sequence)
{
	CursorMessage result = message(sequence, {});
	result.producer_flags = producer_flag::kFailoverValidation;
	return result;
}

TEST(ReceiveTest, ValidationOfWhatHasArrived)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(message(1, {0, 10}));
	b.on_cdc(message(2, {0, 20}));
	const Verdict verdict = b.on_cdc(validation(1));
	EXPECT_TRUE(verdict.ok());
	EXPECT_EQ(verdict.events, 0);
	EXPECT_EQ(b.readable_bytes(), 20u); // its zero cursors mean nothing
	// Its sequence number is that of an older message, and the state stays as it is.
	EXPECT_EQ(b.on_cdc(message(1, {0, 10})).events, event::kStale);
	// A message that the peer repeats may be behind the known state.
	EXPECT_EQ(b.on_cdc(message(2, {0, 15})).events, 0);
	EXPECT_EQ(b.readable_bytes(), 20u);
	EXPECT_TRUE(b.on_cdc(message(3, {0, 30})).has(event::kReadable));
	EXPECT_EQ(b.readable_bytes(), 30u);
	EXPECT_EQ(b.on_cdc(message(4, {1, 31})).violation, Violation::kProducerOverrun);
}

TEST(ReceiveTest, ConsumerMayRepeatAfterFailover)
{
	Pair pair;
	Connection &b = pair.b.connection;
	pair.b.send("12345");
	b.on_cdc(message(1, {}, {0, 5}));
	b.on_cdc(validation(1));
	EXPECT_TRUE(b.on_cdc(message(2, {}, {0, 4})).ok());
	EXPECT_EQ(b.peer_window_bytes(), 16384u);
	EXPECT_EQ(b.on_cdc(message(3, {}, {0, 6})).violation, Violation::kConsumerBeyondSent);
}

TEST(ReceiveTest, ValidationOfWhatNeverArrived)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(message(1, {0, 10}));
	EXPECT_EQ(b.on_cdc(validation(2)).violation, Violation::kMessagesLost);
	b.abort();
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.state_flags, state_flag::kAborted);
	EXPECT_EQ(b.on_cdc(validation(3)).events, event::kIgnored);
}

// --- When a peek has all ---------------------------------------------------------------------

// A sender leaves less than an eighth of the ring alone when it has more than that.
TEST(ReceiveTest, WaitsForTheReaderBelowACrumb)
{
	Pair pair;
	pair.a.send(std::string(14000, 'x'));
	pair.wire.settle();
	EXPECT_FALSE(pair.b.connection.waits_for_reader());
	pair.a.send(std::string(337, 'x'));
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.waits_for_reader());
	pair.a.send(std::string(4000, 'y'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 14337u);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 4000u);
	EXPECT_EQ(pair.b.receive(14000).size(), 14000u);
	EXPECT_FALSE(pair.b.connection.waits_for_reader());
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 4337u);
}

// An urgent byte out of line takes room, too.
TEST(ReceiveTest, WaitsForTheReaderWithAnUrgentByte)
{
	Pair pair;
	pair.a.send(std::string(14337, 'x'), SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 14336u);
	EXPECT_TRUE(pair.b.connection.waits_for_reader());
	pair.a.send(std::string(2047, 'y'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.readable_bytes(), 16383u);
	EXPECT_TRUE(pair.b.connection.waits_for_reader());
}

} // namespace
} // namespace smc::connection::test
