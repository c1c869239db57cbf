// SPDX-License-Identifier: GPL-2.0-only
//
// A connection goes on over another link: what is said again, and in which order.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

constexpr std::uint8_t kMoved = producer_flag::kFailoverValidation;

TEST(FailoverTest, SaysWhatIsKnownAndThenEverythingSince)
{
	Pair pair;

	pair.a.send("known");
	pair.a.connection.request_completion();
	pair.a.transmit();
	pair.wire.settle();
	pair.a.send("lost");
	pair.a.send("not sent yet"); // it waits for the completion
	lose_all(pair);
	ASSERT_EQ(pair.a.posted.size(), 2u);
	const TransmitPlan validation = pair.a.posted[0];
	EXPECT_EQ(validation.message.producer_flags, kMoved);
	EXPECT_EQ(validation.message.sequence, 2);
	EXPECT_EQ(validation.message.producer, ring::Cursor{});
	EXPECT_EQ(validation.write_count, 0u);
	const TransmitPlan repeat = pair.a.posted[1];
	EXPECT_EQ(repeat.message.sequence, 4);
	EXPECT_EQ(repeat.message.producer, (ring::Cursor{0, 9}));
	EXPECT_TRUE(repeat.signal);
	EXPECT_FALSE(repeat.compact);
	ASSERT_EQ(repeat.write_count, 1u);
	EXPECT_EQ(repeat.writes[0].peer_offset_bytes, 5u);
	EXPECT_EQ(repeat.writes[0].length_bytes, 4u);
	EXPECT_EQ(pair.a.connection.diagnostics().repeated_bytes, 4u);
	EXPECT_EQ(pair.a.connection.diagnostics().sent_bytes, 9u);
	EXPECT_FALSE(pair.a.connection.transmit_idle());
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.transmit_idle());
	EXPECT_EQ(pair.b.receive(), "knownlostnot sent yet");
}

TEST(FailoverTest, ConsumerCursorIsSaidAgain)
{
	Pair pair;
	const std::string full(16384, 'x');

	pair.a.send(full);
	pair.wire.settle();
	EXPECT_EQ(pair.a.append("y"), 1u);
	pair.a.transmit();
	EXPECT_EQ(pair.b.receive(), full);
	EXPECT_FALSE(pair.b.posted.empty()); // the update, which is lost
	lose_all(pair);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "y");
}

// This end has given up, and hears all the same that the peer's ring may be gone.
TEST(FailoverTest, NothingIsWrittenAgainToAPeerThatHasClosed)
{
	Pair pair;

	pair.a.send("lost, or not");
	pair.b.connection.abort();
	pair.b.transmit();
	pair.a.connection.give_up();
	pair.a.transmit();
	while (pair.wire.carry(pair.b)) {}
	EXPECT_TRUE(pair.wire.deliver(pair.a).has(event::kIgnored));
	EXPECT_TRUE(pair.a.connection.peer_closed());
	pair.wire.lose_link(pair.a, 0, false, SIZE_MAX);
	Wire::move(pair.a);
	ASSERT_EQ(pair.a.posted.size(), 2u);
	EXPECT_EQ(pair.a.posted[1].write_count, 0u);
	EXPECT_EQ(pair.a.posted[1].message.state_flags, state_flag::kAborted);
}

// This end has given up, and its flag has not gone out yet.
TEST(FailoverTest, AFlagThatIsOwedFollowsAValidation)
{
	Pair pair;

	pair.a.send("abc");
	pair.a.connection.request_completion();
	pair.a.transmit();
	pair.wire.settle();
	pair.a.connection.give_up();
	pair.wire.lose_link(pair.a, 0, false, SIZE_MAX);
	Wire::move(pair.a);
	ASSERT_EQ(pair.a.posted.size(), 3u);
	EXPECT_EQ(pair.a.posted[0].message.producer_flags, kMoved);
	EXPECT_EQ(pair.a.posted[2].message.state_flags, state_flag::kAborted);
}

// Until the peer has said so by the new link, it may write once more what it has written before.
TEST(FailoverTest, PeerMayRepeatUntilItSaysThatItHasClosed)
{
	Pair pair;

	pair.a.send("abc");
	pair.a.connection.close();
	pair.a.transmit();
	while (pair.wire.carry(pair.a)) {}
	pair.b.connection.close();
	pair.b.transmit();
	while (!pair.b.arrived.empty())
		pair.wire.deliver(pair.b);
	EXPECT_TRUE(pair.b.connection.peer_closed());
	EXPECT_FALSE(pair.b.connection.peer_may_repeat());
	for (End *end : {&pair.a, &pair.b})
		pair.wire.lose_link(*end, 0, false, SIZE_MAX);
	pair.b.connection.expect_repeats();
	Wire::move(pair.a);
	Wire::move(pair.b);
	EXPECT_TRUE(pair.wire.carry(pair.a)); // the validation
	pair.wire.deliver(pair.b);
	EXPECT_TRUE(pair.b.connection.peer_may_repeat());
	EXPECT_TRUE(pair.wire.carry(pair.a));
	pair.wire.deliver(pair.b);
	EXPECT_FALSE(pair.b.connection.peer_may_repeat());
}

TEST(FailoverTest, MessageThatThePeerHadAndHasLostEndsTheConnection)
{
	Pair pair;

	pair.a.send("abc");
	pair.a.connection.request_completion();
	pair.a.transmit();
	pair.wire.carry(pair.a);
	pair.wire.carry(pair.a);
	while (!pair.a.completions.empty())
		(void)pair.wire.complete(pair.a);
	pair.b.arrived.clear();
	pair.wire.lose_link(pair.a, 0, false, 0);
	Wire::move(pair.a);
	EXPECT_EQ(pair.b.connection.on_cdc(pair.a.posted[0].message).violation,
		  Violation::kMessagesLost);
}

TEST(FailoverTest, UrgentByteKeepsItsMark)
{
	for (const bool more_behind : {false, true}) {
		for (const bool had_it : {false, true}) {
			SCOPED_TRACE(static_cast<int>(more_behind));
			SCOPED_TRACE(static_cast<int>(had_it));
			Pair pair;

			pair.a.send("ab!", SendHint::kUrgent);
			if (more_behind)
				pair.a.send("cd");
			pair.wire.lose_link(pair.a, had_it ? 1 : 0, false, SIZE_MAX);
			pair.wire.lose_link(pair.b, 0, false, SIZE_MAX);
			while (!pair.b.arrived.empty())
				(void)pair.wire.deliver(pair.b);
			Wire::move(pair.b);
			Wire::move(pair.a);
			pair.wire.settle();
			EXPECT_EQ(pair.b.receive(), "ab");
			const UrgentRead urgent = pair.b.connection.take_urgent(/*peek=*/false);
			EXPECT_EQ(urgent.status, UrgentStatus::kByte);
			EXPECT_EQ(urgent.value, '!');
			EXPECT_EQ(pair.b.receive(), more_behind ? "cd" : "");
		}
	}
}

TEST(FailoverTest, EndsInEveryState)
{
	for (const bool b_first : {false, true}) {
		for (const bool abort : {false, true}) {
			Pair pair;

			pair.a.send("last words");
			if (abort)
				pair.b.connection.abort();
			else
				pair.a.connection.shutdown_write();
			pair.a.transmit();
			pair.b.transmit();
			lose_all(pair);
			pair.wire.settle();
			if (!abort) {
				EXPECT_EQ(pair.b.receive(), "last words");
				EXPECT_TRUE(pair.b.connection.at_eof());
			} else {
				EXPECT_TRUE(pair.a.connection.reset());
			}
			End &first = b_first ? pair.b : pair.a;
			End &second = b_first ? pair.a : pair.b;
			first.connection.close();
			first.transmit();
			lose_all(pair);
			pair.wire.settle();
			second.connection.close();
			second.transmit();
			// Its own account is closed, and its last message is lost.
			lose_all(pair);
			pair.wire.settle();
			EXPECT_TRUE(pair.a.connection.releasable());
			EXPECT_TRUE(pair.b.connection.releasable());
		}
	}
}

TEST(FailoverTest, SecondLossBeforeTheFirstIsOvercome)
{
	Pair pair;

	pair.a.send("one");
	lose_all(pair);
	pair.a.send("two");
	lose_all(pair);
	// What was only given up with the first link is not known to have arrived.
	EXPECT_EQ(pair.a.posted[0].message.sequence, 0);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "onetwo");
}

TEST(FailoverTest, NothingIsCompactBeforeThePeerHasMoved)
{
	Config config = plain_config();

	config.compact = true;
	Pair pair(config);
	pair.b.send("hello");
	pair.wire.settle();
	pair.a.send("x");
	EXPECT_TRUE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.wire.lose_link(pair.a, 0, false, 0);
	pair.wire.lose_link(pair.b, 0, false, 0);
	Wire::move(pair.a);
	pair.a.send("y");
	EXPECT_FALSE(pair.a.last_plan.compact);
	Wire::move(pair.b);
	pair.wire.settle();
	pair.a.send("z");
	EXPECT_TRUE(pair.a.last_plan.compact);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "xyz");
}

TEST(FailoverTest, NothingElseGoesOutInBetween)
{
	Pair pair;

	pair.a.send_queue_limit = 1;
	pair.a.send("lost");
	pair.wire.lose_link(pair.a, 0, false, 0);
	pair.wire.lose_link(pair.b, 0, false, 0);
	Wire::move(pair.b);
	Wire::move(pair.a);
	EXPECT_EQ(pair.a.posted.size(), 1u);
	pair.a.send("new");
	pair.a.connection.shutdown_write();
	pair.a.transmit();
	EXPECT_EQ(pair.a.posted.front().message.producer_flags, kMoved);
	pair.wire.carry(pair.a);
	EXPECT_EQ(pair.a.posted.front().writes[0].length_bytes, 4u);
	EXPECT_EQ(pair.a.posted.front().message.state_flags, 0);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "lostnew");
	EXPECT_TRUE(pair.b.connection.at_eof());
}

} // namespace
} // namespace smc::connection::test
