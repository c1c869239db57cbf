// SPDX-License-Identifier: GPL-2.0-only
//
// The end of a connection: shutdown, close, abort, and what each end must still receive.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

TEST(EndingTest, ShutdownThenCloseBothWays)
{
	Pair pair;
	Connection &a = pair.a.connection;
	Connection &b = pair.b.connection;
	pair.a.send("last words");
	a.shutdown_write();
	EXPECT_EQ(a.send_status(), SendStatus::kShutdown);
	EXPECT_EQ(a.state(), State::kPeerCloseWait1);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kSendingDone);
	EXPECT_TRUE(pair.a.last_plan.signal);
	EXPECT_FALSE(a.closing_flag_owed());
	EXPECT_EQ(pair.wire.settle().b, event::kReadable | event::kPeerDone);
	EXPECT_EQ(b.state(), State::kAppCloseWait1);
	EXPECT_TRUE(b.peer_finished_sending());
	EXPECT_FALSE(b.at_eof());
	EXPECT_EQ(pair.b.receive(), "last words");
	EXPECT_TRUE(b.at_eof());

	// The other direction still works.
	EXPECT_EQ(b.send_status(), SendStatus::kOpen);
	pair.b.send("answer");
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive(), "answer");
	b.close();
	EXPECT_EQ(b.state(), State::kPeerFinCloseWait);
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.state_flags, state_flag::kClosed);
	const auto events = pair.wire.settle();
	EXPECT_EQ(events.a & (event::kPeerClosed | event::kReadable),
		  event::kPeerClosed | event::kReadable);
	EXPECT_EQ(a.state(), State::kAppFinCloseWait);
	EXPECT_TRUE(a.at_eof());
	EXPECT_FALSE(a.finished());

	a.close();
	EXPECT_EQ(a.state(), State::kClosed);
	EXPECT_TRUE(a.closing_flag_owed());
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.state_flags,
		  state_flag::kSendingDone | state_flag::kClosed);
	EXPECT_TRUE(a.finished());
	EXPECT_FALSE(a.releasable()); // the message is still on its way
	const auto last = pair.wire.settle();
	EXPECT_TRUE(last.a & event::kReleasable);
	EXPECT_TRUE(last.b & event::kReleasable);
	EXPECT_EQ(a.on_transmit_complete(pair.a.last_plan.marker).events, 0); // reported once
	EXPECT_TRUE(a.releasable());
	EXPECT_TRUE(b.releasable());
	EXPECT_EQ(b.state(), State::kClosed);
	EXPECT_FALSE(a.reset());
	EXPECT_FALSE(b.reset());
}

TEST(EndingTest, ShutdownOfBothSides)
{
	Pair pair;
	pair.a.connection.shutdown_write();
	pair.a.transmit();
	pair.wire.settle();
	pair.b.connection.shutdown_write();
	EXPECT_EQ(pair.b.connection.state(), State::kAppCloseWait2);
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.state(), State::kPeerCloseWait2);
	EXPECT_TRUE(pair.a.connection.at_eof());
	pair.a.connection.close();
	EXPECT_EQ(pair.a.connection.state(), State::kPeerCloseWait2);
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.state(), State::kAppCloseWait2);
	pair.b.connection.close();
	EXPECT_EQ(pair.b.connection.state(), State::kClosed);
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.releasable());
	EXPECT_TRUE(pair.b.connection.releasable());
}

TEST(EndingTest, CrossingCloses)
{
	Pair pair;
	pair.a.connection.close();
	pair.b.connection.close();
	pair.a.transmit();
	pair.b.transmit();
	const auto events = pair.wire.settle();
	EXPECT_TRUE(events.a & event::kReleasable);
	EXPECT_TRUE(events.b & event::kReleasable);
	EXPECT_EQ(pair.a.connection.state(), State::kClosed);
	EXPECT_EQ(pair.b.connection.state(), State::kClosed);
}

// A reset that cannot be sent over a dead link must not look like an end in order, which TCP would
// show as well.
TEST(EndingTest, AnAbortIsOwedUntilItHasCompleted)
{
	Pair pair;
	pair.a.connection.abort();
	EXPECT_TRUE(pair.a.connection.owes());
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_TRUE(pair.a.connection.owes());
	(void)pair.wire.settle();
	EXPECT_FALSE(pair.a.connection.owes());

	Pair closed;
	closed.a.connection.close();
	EXPECT_TRUE(closed.a.connection.owes());
	EXPECT_EQ(closed.a.transmit(), 1);
	EXPECT_FALSE(closed.a.connection.owes());
}

TEST(EndingTest, RepeatedCallsSayNothingNew)
{
	Pair pair;
	pair.a.connection.shutdown_write();
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.a.connection.shutdown_write();
	EXPECT_EQ(pair.a.transmit(), 0);
	pair.a.connection.close();
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.a.connection.close();
	EXPECT_EQ(pair.a.transmit(), 0);
	EXPECT_FALSE(pair.a.connection.broken());
}

// The kernel's own module says "closed" after two seconds whatever is left, and a reader that wakes
// later loses the rest. Here the flag waits for the data without a limit.
TEST(EndingTest, NothingIsLostAtClose)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 131072;
	Pair pair{config};
	std::string data;
	for (int i = 0; i < 120000; i++)
		data.push_back(static_cast<char>(i * 7));
	EXPECT_EQ(pair.a.send(data), data.size());
	pair.a.connection.close();
	pair.a.transmit();
	EXPECT_EQ(pair.a.connection.state(), State::kPeerCloseWait1);
	EXPECT_TRUE(pair.a.connection.closing_flag_owed());
	EXPECT_FALSE(pair.a.connection.transmit_idle());

	std::string received;
	for (int i = 0; i < 100 && !pair.b.connection.at_eof(); i++) {
		EXPECT_FALSE(pair.wire.settle().b & event::kPeerClosed &&
			     received.size() + 16384 < data.size());
		received += pair.b.receive(10000);
	}
	EXPECT_EQ(received, data);
	EXPECT_TRUE(pair.b.connection.at_eof());
	EXPECT_FALSE(pair.b.connection.reset());
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kClosed);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0);
}

TEST(EndingTest, HeldDataGoesOutWithTheFlag)
{
	Pair pair;
	pair.a.connection.set_corked(true);
	pair.a.send("held");
	EXPECT_TRUE(pair.a.posted.empty());
	pair.a.connection.close();
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 4u);
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kClosed);
}

TEST(EndingTest, FlagOfAnExactlyFullRing)
{
	Pair pair;
	EXPECT_EQ(pair.a.append(std::string(16384, 'x')), 16384u);
	pair.a.connection.close();
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kClosed);
	EXPECT_EQ(pair.a.last_plan.message.producer_flags, 0); // nothing is blocked behind it
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), 16384u);
	EXPECT_TRUE(pair.b.connection.at_eof());
}

TEST(EndingTest, ClosedReaderThrowsAwayAndThePeerMayFinish)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 65536;
	Pair pair{config};
	// B has closed but cannot send the flag: its own data does not fit into A's ring.
	pair.b.send(std::string(16384, 'b'));
	pair.wire.settle();
	pair.b.send(std::string(100, 'b'));
	pair.b.connection.close();
	pair.b.transmit();
	EXPECT_TRUE(pair.b.connection.closing_flag_owed());

	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(pair.a.send(std::string(16384, 'a')), 16384u);
		pair.wire.settle();
		EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	}
	EXPECT_EQ(pair.b.connection.readable_bytes(), 0u);
	EXPECT_EQ(pair.a.receive().size(), 16384u);
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive().size(), 100u);
	EXPECT_TRUE(pair.a.connection.at_eof());
	EXPECT_EQ(pair.a.connection.send_status(), SendStatus::kPeerClosed);
}

TEST(EndingTest, PendingDataForAClosedPeerIsDropped)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 65536;
	Pair pair{config};
	pair.a.append(std::string(30000, 'x'));
	pair.b.connection.close();
	pair.b.transmit();
	pair.wire.carry(pair.b);
	const Verdict verdict = pair.wire.deliver(pair.a);
	EXPECT_TRUE(verdict.has(event::kPeerClosed));
	EXPECT_FALSE(can_transmit(pair.a.connection));
	EXPECT_EQ(pair.a.transmit(), 0);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), 65536u);
	EXPECT_EQ(pair.a.connection.send_status(), SendStatus::kPeerClosed);
	pair.a.connection.produce(10); // the copy that was under way
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_FALSE(pair.a.connection.broken());
	pair.a.connection.close();
	EXPECT_EQ(pair.a.connection.state(), State::kClosed);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_TRUE(pair.wire.settle().a & event::kReleasable);
}

// --- Abort -----------------------------------------------------------------------------------

TEST(EndingTest, CloseWithUnreadDataIsAnAbort)
{
	Pair pair;
	pair.a.send("unread");
	pair.wire.settle();
	pair.b.append("unsent", SendHint::kMore);
	pair.b.connection.close();
	EXPECT_EQ(pair.b.connection.state(), State::kPeerAbortWait);
	EXPECT_EQ(pair.b.connection.unsent_bytes(), 0u);
	EXPECT_EQ(pair.b.connection.send_status(), SendStatus::kAborted);
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.state_flags, state_flag::kAborted);
	EXPECT_EQ(pair.b.last_plan.write_bytes, 0u);
	EXPECT_TRUE(pair.b.last_plan.signal);

	// A answers without its user, so that B can free the connection.
	const auto events = pair.wire.settle();
	EXPECT_TRUE(events.a & event::kPeerAborted);
	EXPECT_TRUE(events.b & event::kReleasable);
	EXPECT_EQ(pair.a.connection.state(), State::kProcessAbort);
	EXPECT_TRUE(pair.a.connection.reset());
	EXPECT_EQ(pair.a.connection.send_status(), SendStatus::kAborted);
	EXPECT_TRUE(pair.a.connection.at_eof());
	EXPECT_EQ(pair.b.connection.state(), State::kClosed);
	EXPECT_TRUE(pair.a.connection.releasable());
	pair.a.connection.close();
	EXPECT_EQ(pair.a.connection.state(), State::kClosed);
	EXPECT_EQ(pair.a.transmit(), 0);
}

TEST(EndingTest, AnUrgentByteThatNobodyHasReadPastIsUnread)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "abc");
	EXPECT_EQ(pair.b.connection.take_urgent(false).value, '!');
	pair.b.connection.close();
	EXPECT_EQ(pair.b.connection.send_status(), SendStatus::kAborted);
}

TEST(EndingTest, AnUrgentByteThatTheReaderHasPassedIsRead)
{
	Pair pair;
	pair.a.send("abc!", SendHint::kUrgent);
	pair.a.send("d");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "abc");
	EXPECT_EQ(pair.b.receive(), "d");
	pair.b.connection.close();
	EXPECT_EQ(pair.b.connection.state(), State::kPeerCloseWait1);
}

TEST(EndingTest, WhatHadArrivedBeforeAnAbortCanBeRead)
{
	Pair pair;
	pair.a.send("news");
	pair.wire.settle();
	pair.a.connection.abort();
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.reset());
	EXPECT_FALSE(pair.b.connection.at_eof());
	EXPECT_EQ(pair.b.read(), "news");
	EXPECT_FALSE(pair.b.update_wanted);
	EXPECT_TRUE(pair.b.connection.at_eof());
}

TEST(EndingTest, WhoHasShutDownBothWaysRefusesData)
{
	Pair pair;
	Connection &a = pair.a.connection;
	pair.b.send("before");
	pair.wire.settle();
	a.shutdown_write();
	a.refuse_data();
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_EQ(a.send_status(), SendStatus::kShutdown); // an answer without data is welcome
	EXPECT_TRUE(pair.b.connection.at_orderly_end());

	pair.b.send("behind");
	const auto events = pair.wire.settle();
	EXPECT_TRUE(events.a & event::kRefused);
	EXPECT_EQ(a.send_status(), SendStatus::kAborted);
	EXPECT_EQ(pair.a.read(), "before");
	EXPECT_FALSE(a.reset_breaks_pipe());
	EXPECT_TRUE(events.b & event::kPeerAborted);
	EXPECT_TRUE(pair.b.connection.reset_breaks_pipe());
	EXPECT_TRUE(a.finished());
	EXPECT_FALSE(a.broken());
}

TEST(EndingTest, AResetBreaksThePipeOfThoseOnlyWhoStillWrite)
{
	Pair pair;
	pair.a.connection.shutdown_write();
	pair.b.connection.shutdown_write();
	pair.a.transmit();
	pair.b.transmit();
	pair.wire.settle();
	pair.b.connection.abort();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.reset());
	EXPECT_FALSE(pair.a.connection.reset_breaks_pipe());
}

TEST(EndingTest, BothHaveEndedWhenEachKnowsOfTheOther)
{
	Pair pair;
	pair.a.connection.shutdown_write();
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_FALSE(pair.a.connection.both_ended());
	EXPECT_FALSE(pair.b.connection.both_ended());
	pair.b.connection.shutdown_write();
	EXPECT_FALSE(pair.b.connection.both_ended()); // not sent yet
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.both_ended());
	EXPECT_TRUE(pair.b.connection.both_ended());
	pair.a.connection.transport_lost();
	EXPECT_FALSE(pair.a.connection.broken_off());
}

TEST(EndingTest, ALinkThatIsLostBeforeBothHaveEndedBreaksOff)
{
	Pair pair;
	EXPECT_FALSE(pair.a.connection.broken_off());
	pair.b.connection.shutdown_write();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_FALSE(pair.a.connection.broken_off());
	pair.a.connection.transport_lost();
	EXPECT_TRUE(pair.a.connection.broken_off());
	pair.b.connection.transport_lost();
	EXPECT_TRUE(pair.b.connection.broken_off());
	pair.b.connection.close();
	EXPECT_TRUE(pair.b.connection.broken_off());
}

TEST(EndingTest, ALinkThatIsLostBeforeItSaysThatOurEndHasArrivedBreaksOff)
{
	Pair pair;
	pair.b.connection.shutdown_write();
	pair.b.transmit();
	pair.wire.settle();
	pair.a.connection.shutdown_write();
	pair.a.transmit();
	EXPECT_TRUE(pair.a.connection.both_ended());
	pair.a.connection.transport_lost();
	EXPECT_TRUE(pair.a.connection.broken_off());
}

TEST(EndingTest, ALinkThatIsLostBehindACloseThatThePeerHasHeardOfBreaksNothingOff)
{
	Pair pair;
	pair.a.connection.close();
	pair.a.transmit();
	pair.wire.settle();
	pair.a.connection.transport_lost();
	EXPECT_FALSE(pair.a.connection.broken_off());
}

TEST(EndingTest, BothCloseInOrder)
{
	Pair pair;
	pair.a.connection.close();
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_FALSE(pair.b.connection.both_closed_in_order()); // the peer alone has
	pair.b.connection.shutdown_write();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_FALSE(pair.a.connection.both_closed_in_order()); // it may still read
	pair.b.connection.close();
	EXPECT_FALSE(pair.b.connection.both_closed_in_order()); // not sent yet
	pair.b.transmit();
	EXPECT_TRUE(pair.b.connection.both_closed_in_order());
	EXPECT_FALSE(pair.a.connection.both_closed_in_order()); // on its way
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.both_closed_in_order());
}

TEST(EndingTest, AResetIsNoOrder)
{
	Pair pair;
	pair.a.connection.close();
	pair.a.transmit();
	pair.wire.settle();
	pair.b.connection.abort();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.finished());
	EXPECT_FALSE(pair.a.connection.both_closed_in_order());
	EXPECT_FALSE(pair.b.connection.both_closed_in_order());
}

TEST(EndingTest, WhoLeavesDoesNotBreakOff)
{
	Pair pair;
	pair.a.connection.close();
	pair.a.transmit();
	pair.a.connection.leave();
	EXPECT_TRUE(pair.a.connection.finished());
	EXPECT_FALSE(pair.a.connection.broken_off());
	EXPECT_FALSE(pair.a.connection.both_closed_in_order());
	// The peer may not have heard.
	pair.a.connection.transport_lost();
	EXPECT_TRUE(pair.a.connection.broken_off());
}

TEST(EndingTest, AbortAfterCloseVoidsTheClosedFlag)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 65536;
	Pair pair{config};
	pair.a.send(std::string(20000, 'x'));
	pair.a.connection.close();
	pair.a.connection.abort(); // the lingering is over
	EXPECT_EQ(pair.a.connection.state(), State::kPeerAbortWait);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kAborted);
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.releasable());
}

TEST(EndingTest, CrossingAborts)
{
	Pair pair;
	pair.a.connection.abort();
	pair.b.connection.abort();
	pair.a.transmit();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.releasable());
	EXPECT_TRUE(pair.b.connection.releasable());
	EXPECT_EQ(pair.a.connection.state(), State::kClosed);
}

TEST(EndingTest, AbortedConnectionLooksOnlyAtFlags)
{
	Pair pair;
	pair.a.connection.abort();
	pair.a.transmit();
	CursorMessage message{.sequence = 1, .producer = {9, 99999}, .consumer = {9, 99999}};
	EXPECT_EQ(pair.a.connection.on_cdc(message).events, 0); // would be a violation otherwise
	message.state_flags = state_flag::kSendingDone;
	EXPECT_EQ(pair.a.connection.on_cdc(message).events, event::kPeerDone);
	EXPECT_FALSE(pair.a.connection.finished());
	message.state_flags |= state_flag::kClosed;
	EXPECT_EQ(pair.a.connection.on_cdc(message).events, event::kPeerClosed);
	EXPECT_TRUE(pair.a.connection.finished());
	EXPECT_EQ(pair.a.connection.on_cdc(message).events, event::kIgnored);
	EXPECT_TRUE(pair.a.connection.on_transmit_complete(pair.a.last_plan.marker)
			    .has(event::kReleasable));
}

TEST(EndingTest, LostTransport)
{
	Pair pair;
	pair.a.send("arrived");
	pair.wire.settle();
	pair.b.append("never");
	pair.b.connection.transport_lost();
	EXPECT_EQ(pair.b.connection.state(), State::kClosed);
	EXPECT_TRUE(pair.b.connection.reset());
	EXPECT_TRUE(pair.b.connection.finished());
	EXPECT_TRUE(pair.b.connection.releasable());
	EXPECT_EQ(pair.b.connection.send_status(), SendStatus::kAborted);
	EXPECT_EQ(pair.b.transmit(), 0);
	EXPECT_EQ(pair.b.receive(), "arrived");
	EXPECT_TRUE(pair.b.connection.at_eof());
	pair.b.connection.close();
	EXPECT_EQ(pair.b.connection.state(), State::kClosed);
	EXPECT_EQ(pair.b.connection.on_cdc({.sequence = 2}).events, event::kIgnored);
}

TEST(EndingTest, GivenUpWaitsForTheDeviceButNotForThePeer)
{
	Pair pair;
	Connection &a = pair.a.connection;
	pair.a.append("posted");
	EXPECT_EQ(pair.a.transmit(), 1);
	pair.a.append("never");
	a.give_up();
	EXPECT_EQ(a.state(), State::kClosed);
	EXPECT_TRUE(a.reset());
	EXPECT_TRUE(a.finished());
	EXPECT_FALSE(a.releasable()); // a work request may still read the send buffer
	EXPECT_EQ(a.send_status(), SendStatus::kAborted);
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_EQ(pair.a.last_plan.message.state_flags, state_flag::kAborted);
	EXPECT_EQ(pair.a.last_plan.write_bytes, 0u);
	EXPECT_TRUE(pair.a.last_plan.signal);
	EXPECT_FALSE(a.releasable());
	EXPECT_EQ(a.on_cdc({.sequence = 1, .state_flags = state_flag::kClosed}).events,
		  event::kIgnored);
	const auto events = pair.wire.settle();
	EXPECT_TRUE(events.a & event::kReleasable);
	EXPECT_TRUE(events.b & event::kPeerAborted);
	EXPECT_TRUE(a.releasable());
	EXPECT_EQ(pair.a.transmit(), 0);
	a.close();
	EXPECT_EQ(pair.a.transmit(), 0);
}

// The send queue had no room for the reset until all else had completed.
TEST(EndingTest, GivenUpIsReleasableOnceMoreBehindItsReset)
{
	Pair pair;
	Connection &a = pair.a.connection;
	pair.a.append("posted");
	EXPECT_EQ(pair.a.transmit(), 1);
	const TransmitMarker posted = pair.a.last_plan.marker;
	a.give_up();
	EXPECT_TRUE(a.on_transmit_complete(posted).events & event::kReleasable);
	EXPECT_TRUE(a.releasable());
	EXPECT_EQ(pair.a.transmit(), 1);
	EXPECT_FALSE(a.releasable());
	const TransmitMarker reset = pair.a.last_plan.marker;
	EXPECT_TRUE(a.on_transmit_complete(reset).events & event::kReleasable);
	EXPECT_TRUE(a.releasable());
}

TEST(EndingTest, GivenUpAndThenTheLinkIsLost)
{
	Pair pair;
	Connection &a = pair.a.connection;
	pair.a.append("posted");
	EXPECT_EQ(pair.a.transmit(), 1);
	a.give_up();
	EXPECT_FALSE(a.releasable());
	a.transport_lost();
	EXPECT_TRUE(a.releasable());
	EXPECT_EQ(pair.a.transmit(), 0);
	EXPECT_FALSE(a.broken());
}

TEST(EndingTest, GivenUpWhenBothHaveClosedSaysNothing)
{
	Pair pair;
	pair.a.connection.close();
	pair.b.connection.close();
	pair.a.transmit();
	pair.b.transmit();
	pair.wire.settle();
	pair.a.connection.give_up();
	EXPECT_EQ(pair.a.transmit(), 0);
	EXPECT_TRUE(pair.a.connection.releasable());
}

TEST(EndingTest, AnOrderlyEndStaysOneWhenAResetComesBehindIt)
{
	Pair pair;
	pair.b.send("end");
	pair.b.connection.shutdown_write();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_FALSE(pair.a.connection.at_orderly_end());
	EXPECT_EQ(pair.a.receive(), "end");
	EXPECT_TRUE(pair.a.connection.at_orderly_end());
	pair.b.connection.abort();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.reset());
	EXPECT_TRUE(pair.a.connection.at_orderly_end());
}

TEST(EndingTest, AResetIsNoOrderlyEnd)
{
	Pair pair;
	pair.b.connection.abort();
	pair.b.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.a.connection.at_eof());
	EXPECT_FALSE(pair.a.connection.at_orderly_end());
}

TEST(EndingTest, AnEndInTheMessageOfAResetIsNoOrderlyOne)
{
	Pair pair;
	CursorMessage message{.sequence = 1,
			      .state_flags = state_flag::kSendingDone | state_flag::kAborted};
	EXPECT_TRUE(pair.a.connection.on_cdc(message).has(event::kPeerAborted));
	EXPECT_TRUE(pair.a.connection.at_eof());
	EXPECT_FALSE(pair.a.connection.at_orderly_end());
}

// --- An end of the stream that the peer announces too early --------------------------------

CursorMessage early_close(std::uint32_t bytes)
{
	return {.sequence = 1,
		.producer = {0, bytes},
		.producer_flags = producer_flag::kWriteBlocked,
		.state_flags = state_flag::kClosed};
}

TEST(EndingTest, EofWaitsForThePeersRest)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_TRUE(b.on_cdc(early_close(100)).has(event::kPeerClosed));
	EXPECT_FALSE(b.eof_withheld());
	EXPECT_TRUE(b.consume(100)); // the peer must learn of the room
	EXPECT_TRUE(b.eof_withheld());
	EXPECT_FALSE(b.at_eof());
	EXPECT_EQ(pair.b.transmit(), 1);
	CursorMessage rest{.sequence = 2, .producer = {0, 150}, .state_flags = state_flag::kClosed};
	EXPECT_EQ(b.on_cdc(rest).events, event::kReadable | event::kEndSeen);
	EXPECT_FALSE(b.at_eof());
	EXPECT_FALSE(b.consume(50));
	EXPECT_TRUE(b.at_eof());
	EXPECT_FALSE(b.eof_withheld());
}

TEST(EndingTest, ALinkThatIsLostBeforeThePeersRestIsNoOrderlyEnd)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(early_close(100));
	EXPECT_TRUE(b.consume(100));
	b.transport_lost();
	EXPECT_TRUE(b.at_eof());
	EXPECT_FALSE(b.at_orderly_end());
}

TEST(EndingTest, EofComesWhenThePeerIsNoLongerBlocked)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(early_close(10));
	EXPECT_TRUE(b.consume(10));
	CursorMessage rest{.sequence = 2, .producer = {0, 10}, .state_flags = state_flag::kClosed};
	// A reader that only waits for the end would not be woken by kReadable.
	EXPECT_EQ(b.on_cdc(rest).events & (event::kReadable | event::kEndSeen),
		  event::kReadable | event::kEndSeen);
	EXPECT_TRUE(b.at_eof());
}

TEST(EndingTest, WaitingForThePeersRestCanBeGivenUp)
{
	Pair pair;
	Connection &b = pair.b.connection;
	b.on_cdc(early_close(10));
	EXPECT_TRUE(b.consume(10));
	EXPECT_TRUE(b.eof_withheld());
	b.give_up_withheld_data();
	EXPECT_FALSE(b.eof_withheld());
	EXPECT_TRUE(b.at_eof());
}

// What the peer is asked about: only once it has been sent word that its ring is empty.
TEST(EndingTest, WithheldAtSoManyBytes)
{
	Pair pair;
	Connection &b = pair.b.connection;
	EXPECT_EQ(b.withheld_at_bytes(), std::nullopt);
	b.on_cdc(early_close(100));
	EXPECT_EQ(b.withheld_at_bytes(), std::nullopt);
	EXPECT_TRUE(b.consume(100));
	EXPECT_TRUE(b.eof_withheld());
	EXPECT_EQ(b.withheld_at_bytes(), std::nullopt);
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(b.withheld_at_bytes(), 100U);
	CursorMessage rest{.sequence = 2,
			   .producer = {0, 150},
			   .producer_flags = producer_flag::kWriteBlocked,
			   .state_flags = state_flag::kClosed};
	EXPECT_TRUE(b.on_cdc(rest).ok());
	EXPECT_EQ(b.withheld_at_bytes(), std::nullopt);
	EXPECT_TRUE(b.consume(50));
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(b.withheld_at_bytes(), 150U);
	b.give_up_withheld_data();
	EXPECT_EQ(b.withheld_at_bytes(), std::nullopt);
}

TEST(EndingTest, AnAbortDoesNotWaitForARest)
{
	Pair pair;
	Connection &b = pair.b.connection;
	CursorMessage message = early_close(10);
	message.state_flags = state_flag::kAborted;
	EXPECT_TRUE(b.on_cdc(message).ok());
	EXPECT_TRUE(can_transmit(b));
	EXPECT_EQ(pair.b.transmit(), 1);
	EXPECT_EQ(pair.b.last_plan.message.state_flags, state_flag::kAborted);
	EXPECT_FALSE(b.consume(10)); // no reader left
	EXPECT_TRUE(b.at_eof());
}

TEST(EndingTest, ConnectionCanBeUsedAgain)
{
	Pair pair;
	pair.a.send("x");
	pair.a.connection.abort();
	pair.a.transmit();
	ASSERT_TRUE(pair.a.connection.init(plain_config()));
	EXPECT_EQ(pair.a.connection.state(), State::kActive);
	EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), 16384u);
	EXPECT_EQ(pair.a.connection.diagnostics().sent_bytes, 0u);
	EXPECT_FALSE(pair.a.connection.finished());
}

} // namespace
} // namespace smc::connection::test
