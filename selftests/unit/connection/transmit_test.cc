// SPDX-License-Identifier: GPL-2.0-only
//
// The sending direction: when data is sent, in which pieces, and when the send buffer is freed.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

TEST(TransmitTest, FreshConnectionHasNothingToSend)
{
	Pair pair;
	TransmitPlan plan;
	EXPECT_FALSE(pair.a.connection.plan_transmit(plan));
	EXPECT_EQ(pair.a.connection.state(), State::kActive);
	EXPECT_EQ(pair.a.connection.send_status(), SendStatus::kOpen);
	EXPECT_TRUE(pair.a.connection.writable_for_poll());
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), 16384u);
	EXPECT_EQ(pair.a.connection.local_token(), 0x1111u);
}

TEST(TransmitTest, SizesAreChecked)
{
	Connection connection;
	Config config = plain_config();
	config.sndbuf_size_bytes = Connection::kMinRingBytes - 1;
	EXPECT_FALSE(connection.init(config));
	EXPECT_EQ(connection.state(), State::kInit);
	EXPECT_EQ(connection.send_status(), SendStatus::kShutdown);
	config = plain_config();
	config.rmb_size_bytes = 0;
	EXPECT_FALSE(connection.init(config));
	config = plain_config();
	config.peer_rmb_size_bytes = ring::kMaxSizeBytes + 1;
	EXPECT_FALSE(connection.init(config));
	config.peer_rmb_size_bytes = ring::kMaxSizeBytes;
	EXPECT_TRUE(connection.init(config));
}

TEST(TransmitTest, FirstMessage)
{
	Pair pair;
	EXPECT_EQ(pair.a.append("hello!"), 6u);
	TransmitPlan plan;
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	ASSERT_EQ(plan.write_count, 1u);
	EXPECT_EQ(plan.write_segments()[0].sndbuf_offset_bytes, 0u);
	EXPECT_EQ(plan.write_segments()[0].peer_offset_bytes, 0u);
	EXPECT_EQ(plan.write_segments()[0].length_bytes, 6u);
	EXPECT_EQ(plan.write_bytes, 6u);
	EXPECT_EQ(plan.message.sequence, 1);
	EXPECT_EQ(plan.message.token, 0x2222u);
	EXPECT_EQ(plan.message.producer, (ring::Cursor{0, 6}));
	EXPECT_EQ(plan.message.consumer, (ring::Cursor{0, 0}));
	EXPECT_EQ(plan.message.producer_flags, 0);
	EXPECT_EQ(plan.message.state_flags, 0);
	EXPECT_FALSE(plan.signal);
}

TEST(TransmitTest, UncommittedPlanIsPlannedAgain)
{
	Pair pair;
	pair.a.append("abc");
	TransmitPlan plan;
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	pair.a.append("def");
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	EXPECT_EQ(plan.write_bytes, 6u);
	EXPECT_EQ(plan.message.sequence, 1);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 6u);
	pair.a.connection.commit_transmit(plan);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 6u);
	EXPECT_FALSE(pair.a.connection.plan_transmit(plan));
}

TEST(TransmitTest, StalePlanIsRefused)
{
	Pair pair;
	pair.a.append("abc");
	TransmitPlan plan;
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	pair.a.connection.commit_transmit(plan);
	EXPECT_FALSE(pair.a.connection.broken());
	pair.a.connection.commit_transmit(plan);
	EXPECT_TRUE(pair.a.connection.broken());
}

TEST(TransmitTest, TooMuchProducedIsRefused)
{
	Pair pair;
	pair.a.connection.produce(16385);
	EXPECT_TRUE(pair.a.connection.broken());
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
}

TEST(TransmitTest, CompletionOfWhatWasNeverSentIsRefused)
{
	Pair pair;
	EXPECT_EQ(pair.a.connection.on_transmit_complete({1, 1}).events, 0);
	EXPECT_TRUE(pair.a.connection.broken());
}

// Wrapping of a 96-byte send buffer and an 80-byte ring at different places.
TEST(TransmitTest, ThreePiecesWhereBothRingsWrap)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 96;
	config.peer_rmb_size_bytes = 80;
	Pair pair{config};
	const std::string filler(72, 'x');
	ASSERT_EQ(pair.a.send(filler), 72u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), filler);
	pair.wire.settle();
	ASSERT_EQ(pair.a.connection.sndbuf_free_bytes(), 96u);
	ASSERT_EQ(pair.a.connection.peer_window_bytes(), 80u);

	std::string data;
	for (int i = 0; i < 70; i++)
		data.push_back(static_cast<char>('0' + i));
	ASSERT_EQ(pair.a.send(data), 70u);
	const auto writes = pair.a.last_plan.write_segments();
	ASSERT_EQ(writes.size(), 3u);
	EXPECT_EQ(writes[0].sndbuf_offset_bytes, 72u); // to the end of the peer's ring
	EXPECT_EQ(writes[0].peer_offset_bytes, 72u);
	EXPECT_EQ(writes[0].length_bytes, 8u);
	EXPECT_EQ(writes[1].sndbuf_offset_bytes, 80u); // to the end of the send buffer
	EXPECT_EQ(writes[1].peer_offset_bytes, 0u);
	EXPECT_EQ(writes[1].length_bytes, 16u);
	EXPECT_EQ(writes[2].sndbuf_offset_bytes, 0u);
	EXPECT_EQ(writes[2].peer_offset_bytes, 16u);
	EXPECT_EQ(writes[2].length_bytes, 46u);
	EXPECT_EQ(pair.a.last_plan.message.producer, (ring::Cursor{1, 62}));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), data);
}

TEST(TransmitTest, FullRingBlocksAndSaysSo)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 65536;
	Pair pair{config};
	const std::string data(20000, 'd');
	EXPECT_EQ(pair.a.send(data), 20000u);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 16384u);
	EXPECT_EQ(pair.a.last_plan.message.producer, (ring::Cursor{1, 0}));
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, producer_flag::kWriteBlocked);
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 0u);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 3616u);

	EXPECT_EQ(pair.b.receive(), data.substr(0, 16384));
	EXPECT_TRUE(pair.b.update_wanted);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
	EXPECT_EQ(pair.b.receive(), data.substr(16384));
}

// Room that arrives with the peer's own data, a few bytes at a time, is not used for tiny writes.
TEST(TransmitTest, SmallWindowsGather)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 65536;
	Pair pair{config};
	pair.a.send(std::string(20000, 'd'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.read(2047).size(), 2047u);
	pair.b.send("reply");
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 2047u);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 3616u);
	EXPECT_EQ(pair.a.transmit(), 0);
	EXPECT_EQ(pair.b.read(1).size(), 1u);
	pair.b.send("reply");
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 3616u - 2048u);
	// The rest of the data fits, so it is sent although it is small.
	pair.b.read(100);
	pair.b.send("reply");
	pair.wire.settle();
	Pair other;
	other.a.send(std::string(16384 - 100, 'd'));
	other.wire.settle();
	EXPECT_EQ(other.a.send(std::string(100, 'e')), 100u);
	EXPECT_EQ(other.a.connection.unsent_bytes(), 0u);
}

TEST(TransmitTest, WriteBlockedIsTakenBackWhenNothingIsPending)
{
	Pair pair;
	EXPECT_EQ(pair.a.send(std::string(16384, 'd')), 16384u);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, producer_flag::kWriteBlocked);
	pair.wire.settle();
	EXPECT_EQ(pair.b.send("x"), 1u);
	pair.wire.settle();
	pair.a.connection.shutdown_write();
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
}

// --- Signals and the send buffer -------------------------------------------------------------

TEST(TransmitTest, PingPongNeedsNoCompletion)
{
	Pair pair;
	for (int i = 0; i < 70000; i++) { // the sequence number wraps on the way
		ASSERT_EQ(pair.a.send("p"), 1u);
		ASSERT_FALSE(pair.a.last_plan.signal);
		pair.wire.settle();
		ASSERT_EQ(pair.b.receive(), "p");
		ASSERT_FALSE(pair.b.update_wanted);
		ASSERT_EQ(pair.b.send("q"), 1u);
		ASSERT_FALSE(pair.b.last_plan.signal);
		pair.wire.settle();
		ASSERT_EQ(pair.a.receive(), "q");
	}
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 0u);
	EXPECT_EQ(pair.a.last_plan.message.sequence, 70000 % 65536);
}

TEST(TransmitTest, SecondMessageIsSignalledThirdWaits)
{
	Pair pair;
	pair.a.send("1");
	EXPECT_FALSE(pair.a.last_plan.signal);
	pair.a.send("2");
	EXPECT_TRUE(pair.a.last_plan.signal);
	EXPECT_EQ(pair.a.posted.size(), 2u);
	pair.a.send("3");
	pair.a.send("4");
	EXPECT_EQ(pair.a.posted.size(), 2u);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 2u);

	pair.wire.carry(pair.a);
	pair.wire.carry(pair.a);
	ASSERT_EQ(pair.a.completions.size(), 1u);
	const Verdict verdict = pair.wire.complete(pair.a);
	EXPECT_TRUE(can_transmit(pair.a.connection));
	EXPECT_FALSE(verdict.has(event::kWritable));
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 2u);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 2u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "1234");
}

TEST(TransmitTest, AStreamTakesOneMessageForEachCompletion)
{
	Pair pair;
	pair.a.send("1");
	pair.a.send("2");
	for (int i = 0; i < 20; i++) {
		const std::size_t posted = pair.a.posted.size();

		pair.a.send("three");
		pair.a.send("words");
		pair.a.send("each ");
		EXPECT_EQ(pair.a.posted.size(), posted);
		pair.wire.carry(pair.a);
		if (i == 0)
			pair.wire.carry(pair.a);
		ASSERT_EQ(pair.a.completions.size(), 1u);
		EXPECT_TRUE(pair.wire.complete(pair.a).ok());
		EXPECT_TRUE(can_transmit(pair.a.connection));
		EXPECT_EQ(pair.a.transmit(), 1);
		EXPECT_EQ(pair.a.last_plan.write_bytes, 15u);
		EXPECT_TRUE(pair.a.last_plan.signal);
		while (!pair.b.arrived.empty())
			pair.wire.deliver(pair.b);
		EXPECT_EQ(pair.b.receive().size(), i == 0 ? 2u : 15u);
	}
	// It may go on after a pause, until the peer answers.
	pair.wire.settle();
	pair.a.send("x");
	EXPECT_TRUE(pair.a.last_plan.signal);
	pair.wire.settle();
	pair.b.receive();
	pair.b.send("answer");
	pair.wire.settle();
	pair.a.send("y");
	EXPECT_FALSE(pair.a.last_plan.signal);
}

TEST(TransmitTest, AClockThatNothingWaitsForTicksLess)
{
	Pair pair;
	pair.a.send("1");
	const auto ticks = [&pair](int messages) {
		int count = 0;

		for (int i = 0; i < messages; i++) {
			pair.a.send("x");
			count += pair.a.last_plan.signal ? 1 : 0;
			pair.wire.settle();
			pair.b.receive();
		}
		return count;
	};

	EXPECT_EQ(ticks(16), 16);
	EXPECT_EQ(ticks(32), 16);
	EXPECT_EQ(ticks(64 + 128), 32);
	EXPECT_EQ(ticks(1600), 100);

	// Now the device is slow for once.
	do {
		pair.a.send("x");
	} while (!pair.a.last_plan.signal);
	pair.a.send("y");
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 1u);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_EQ(ticks(15), 15);
}

TEST(TransmitTest, ConsumerCursorEndsTheWaitAsWell)
{
	Pair pair;
	pair.a.send("1");
	pair.a.send("2");
	pair.a.send("3");
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 1u);
	pair.wire.carry(pair.a);
	pair.wire.carry(pair.a);
	while (!pair.b.arrived.empty())
		pair.wire.deliver(pair.b);
	EXPECT_EQ(pair.b.receive(), "12");
	pair.b.send("answer");
	pair.wire.carry(pair.b);
	EXPECT_TRUE(pair.wire.deliver(pair.a).ok());
	EXPECT_TRUE(can_transmit(pair.a.connection));
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_FALSE(pair.a.last_plan.signal); // nothing outstanding any more
}

TEST(TransmitTest, LargeAmountsDoNotWait)
{
	Pair pair;
	pair.a.send("1");
	pair.a.send("2");
	EXPECT_EQ(pair.a.send(std::string(8192, 'x')), 8192u);
	EXPECT_EQ(pair.a.posted.size(), 2u);
	pair.a.send("y");
	// More than half of the send buffer has come together.
	EXPECT_EQ(pair.a.posted.size(), 3u);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 8193u);
	EXPECT_TRUE(pair.a.last_plan.signal);
}

TEST(TransmitTest, AutocorkingSizeBoundsTheWait)
{
	Config config = plain_config();
	config.autocorking_size_bytes = 10;
	Pair pair{config};
	pair.a.send("1");
	pair.a.send("2");
	pair.a.send("1234567890");
	EXPECT_EQ(pair.a.posted.size(), 2u);
	pair.a.send("x");
	EXPECT_EQ(pair.a.posted.size(), 3u);
}

TEST(TransmitTest, AutocorkingOff)
{
	Config config = plain_config();
	config.autocorking_size_bytes = 0;
	Pair pair{config};
	for (int i = 0; i < 10; i++)
		pair.a.send("x");
	EXPECT_EQ(pair.a.posted.size(), 10u);
}

// Else the answer says that they have arrived.
TEST(TransmitTest, MoreThanHalfOfTheSendBufferIsSignalled)
{
	Pair pair;
	ASSERT_EQ(pair.a.connection.sndbuf_free_bytes(), 16384u);
	pair.a.send(std::string(8192, 'x'));
	EXPECT_FALSE(pair.a.last_plan.signal);
	Pair other;
	other.a.send(std::string(8193, 'x'));
	EXPECT_TRUE(other.a.last_plan.signal);
}

TEST(TransmitTest, HalfOfTheSendBufferIsCopiedAtOnceAndNotLessThan64KiB)
{
	const auto quantum = [](std::uint32_t sndbuf_size_bytes) {
		Config config = plain_config();
		config.sndbuf_size_bytes = sndbuf_size_bytes;
		return Pair{config}.a.connection.send_quantum_bytes();
	};
	EXPECT_EQ(quantum(16384), 16384u);
	EXPECT_EQ(quantum(65536), 65536u);
	EXPECT_EQ(quantum(131072), 65536u);
	EXPECT_EQ(quantum(1048576), 524288u);
}

TEST(TransmitTest, CallerMayRaiseTheSignal)
{
	Pair pair;
	pair.a.append("1");
	TransmitPlan plan;
	ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
	ASSERT_FALSE(plan.signal);
	plan.signal = true;
	pair.a.connection.commit_transmit(plan);
	EXPECT_FALSE(pair.a.connection.transmit_idle());
	pair.a.send("2");
	EXPECT_TRUE(pair.a.posted.empty()); // needs that completion
	EXPECT_TRUE(pair.a.connection.on_transmit_complete(plan.marker).ok());
	EXPECT_TRUE(can_transmit(pair.a.connection));
	EXPECT_TRUE(pair.a.connection.transmit_idle());
}

TEST(TransmitTest, CompletionsMayBeReportedInAnyOrder)
{
	Pair pair;
	pair.a.send("1");
	const TransmitMarker first = pair.a.last_plan.marker;
	pair.a.send("2");
	const TransmitMarker second = pair.a.last_plan.marker;
	pair.a.connection.on_transmit_complete(second);
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 0u);
	pair.a.connection.on_transmit_complete(first);
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 0u);
	EXPECT_EQ(pair.a.connection.last_completed().message_number, 2u);
	EXPECT_EQ(pair.a.connection.last_completed().sent_bytes, 2u);
	EXPECT_FALSE(pair.a.connection.broken());
}

TEST(TransmitTest, WritableFromAThirdOn)
{
	Pair pair;
	EXPECT_EQ(pair.a.send(std::string(16384, 'x')), 16384u);
	EXPECT_FALSE(pair.a.connection.writable_for_poll());
	EXPECT_EQ(pair.a.append("more"), 0u);
	pair.wire.carry(pair.a);
	pair.wire.deliver(pair.b);
	EXPECT_TRUE(pair.wire.complete(pair.a).has(event::kWritable));
	EXPECT_TRUE(pair.a.connection.writable_for_poll());

	// Window still closed: fill the send buffer to two thirds and beyond.
	EXPECT_EQ(pair.a.send(std::string(10923, 'y')), 10923u);
	EXPECT_TRUE(pair.a.connection.writable_for_poll()); // 5461 of 16384 free
	EXPECT_EQ(pair.a.send("y"), 1u);
	EXPECT_FALSE(pair.a.connection.writable_for_poll());
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), 5460u);
	pair.b.receive();
	const auto events = pair.wire.settle();
	EXPECT_TRUE(events.a & event::kWritable);
}

TEST(TransmitTest, RequestedCompletionComesByAnEmptyMessage)
{
	Pair pair;
	pair.a.connection.request_completion();
	EXPECT_EQ(pair.a.transmit(), 0); // nothing to learn
	pair.a.send("x");
	ASSERT_FALSE(pair.a.last_plan.signal);
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 1u);
	pair.a.connection.request_completion();
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_TRUE(pair.a.last_plan.signal);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 0u);
	pair.a.connection.request_completion();
	EXPECT_EQ(pair.a.transmit(), 0); // under way already
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 0u);
	EXPECT_TRUE(pair.a.connection.transmit_idle());
}

// A device whose completions prove nothing: the peer's cursor is requested in time.
TEST(TransmitTest, CompletionThatFreesNothing)
{
	Config config = plain_config();
	config.peer_rmb_size_bytes = 262144;
	config.completion_frees_sndbuf = false;
	Pair pair{config};
	pair.a.send(std::string(8192, 'x'));
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
	pair.a.connection.request_completion();
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.transmit_idle());
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 8192u);
	pair.a.send("x");
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, producer_flag::kConsumerUpdateWanted);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 8193u);
	EXPECT_EQ(pair.b.receive().size(), 8193u);
	EXPECT_TRUE(pair.b.update_wanted);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.undelivered_bytes(), 0u);
}

// --- Corks -----------------------------------------------------------------------------------

TEST(TransmitTest, CorkHoldsUntilUncorked)
{
	Pair pair;
	pair.a.connection.set_corked(true);
	pair.a.send("1");
	pair.a.send("2");
	EXPECT_TRUE(pair.a.posted.empty());
	pair.a.connection.set_corked(false);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 2u);
	EXPECT_EQ(pair.a.transmit(), 0);
}

TEST(TransmitTest, CorkLetsAQuantumGo)
{
	Pair pair;
	pair.a.connection.set_corked(true);
	pair.a.send(std::string(4095, 'x'));
	EXPECT_TRUE(pair.a.posted.empty());
	pair.a.send("x");
	EXPECT_EQ(pair.a.posted.size(), 1u);
}

// A corked writer that sleeps until the send buffer is writable must not sleep for ever.
TEST(TransmitTest, CorkHoldsOnlyWhileWritable)
{
	Config config = plain_config();
	config.peer_rmb_size_bytes = 65536;
	Pair pair{config};
	for (int i = 0; i < 100 && pair.a.connection.writable_for_poll(); i++) {
		pair.a.connection.set_corked(true);
		pair.a.send(std::string(i % 2 ? 4095 : 4096, 'x')); // every second one is held
	}
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.writable_for_poll());
}

TEST(TransmitTest, MoreHoldsUntilASendWithout)
{
	Pair pair;
	EXPECT_FALSE(pair.a.connection.waits_behind_cork());
	pair.a.send("head", SendHint::kMore);
	EXPECT_TRUE(pair.a.posted.empty());
	EXPECT_TRUE(pair.a.connection.waits_behind_cork());
	pair.a.send("body");
	EXPECT_FALSE(pair.a.connection.waits_behind_cork());
	EXPECT_EQ(pair.a.posted.size(), 1u);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 8u);
}

TEST(TransmitTest, PushLetsHeldDataGo)
{
	Pair pair;
	pair.a.connection.push();
	pair.a.send("head", SendHint::kMore);
	EXPECT_TRUE(pair.a.posted.empty()); // an earlier push does not count
	pair.a.connection.push();
	EXPECT_EQ(pair.a.transmit(), 1);
	// Pushed data is held back neither by a cork nor by a timer.
	pair.a.send("2");
	pair.a.send("3");
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 1u);
	EXPECT_FALSE(pair.a.connection.waits_behind_cork());
	pair.a.connection.push();
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.a.send("4");
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 1u);
}

TEST(TransmitTest, CorkDoesNotHoldConsumerUpdates)
{
	Pair pair;
	pair.b.connection.set_corked(true);
	pair.b.send("reply");
	pair.a.send(std::string(16384, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), 16384u);
	EXPECT_TRUE(pair.b.update_wanted);
	EXPECT_EQ(pair.b.posted.size(), 1u);
	EXPECT_EQ(pair.b.last_plan.write_bytes, 0u);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
}

TEST(TransmitTest, FullSendQueueOnlyDelays)
{
	Pair pair;
	pair.a.send_queue_limit = 0;
	pair.a.send("data");
	EXPECT_TRUE(pair.a.posted.empty());
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 4u);
	pair.a.send_queue_limit = 1;
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "data");
}

TEST(TransmitTest, Diagnostics)
{
	Pair pair;
	pair.a.send("12345");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(2), "12");
	pair.b.send("abc");
	pair.wire.settle();
	pair.a.append("678", SendHint::kMore);
	const Diagnostics a = pair.a.connection.diagnostics();
	EXPECT_EQ(a.state, State::kActive);
	EXPECT_EQ(a.token, 0x1111u);
	EXPECT_EQ(a.sndbuf_size_bytes, 16384u);
	EXPECT_EQ(a.rmb_size_bytes, 16384u);
	EXPECT_EQ(a.peer_rmb_size_bytes, 16384u);
	EXPECT_EQ(a.rx_producer, (ring::Cursor{0, 3}));
	EXPECT_EQ(a.rx_consumer, (ring::Cursor{0, 2}));
	EXPECT_EQ(a.tx_producer, (ring::Cursor{0, 5}));
	EXPECT_EQ(a.tx_consumer, (ring::Cursor{0, 0}));
	EXPECT_EQ(a.tx_prepared, (ring::Cursor{0, 8}));
	EXPECT_EQ(a.tx_sent, (ring::Cursor{0, 5}));
	EXPECT_EQ(a.tx_finished, (ring::Cursor{0, 2}));
	EXPECT_EQ(a.sent_bytes, 5u);
	EXPECT_EQ(a.received_bytes, 3u);
	EXPECT_EQ(a.sent_messages, 1u);
	EXPECT_EQ(a.stale_messages, 0u);
	pair.b.connection.close();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.diagnostics().rx_state_flags,
		  state_flag::kAborted); // unread data
	EXPECT_EQ(pair.b.connection.diagnostics().tx_state_flags, state_flag::kAborted);
	EXPECT_EQ(pair.b.connection.diagnostics().state, State::kClosed);
}

} // namespace
} // namespace smc::connection::test
