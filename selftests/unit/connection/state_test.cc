// SPDX-License-Identifier: GPL-2.0-only
//
// The close states: every state with every event, against the table of legal changes.
#include "core/connection/state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/connection/close_machine.hpp"

namespace smc::connection {
namespace {

using enum State;

// The legal changes, written a second time.
const std::map<State, std::set<State>> kLegal{
	{kInit, {kActive}},
	{kActive, {kPeerCloseWait1, kAppCloseWait1, kPeerAbortWait, kProcessAbort, kClosed}},
	{kPeerCloseWait1,
	 {kPeerCloseWait2, kAppFinCloseWait, kPeerAbortWait, kProcessAbort, kClosed}},
	{kPeerCloseWait2, {kAppFinCloseWait, kPeerAbortWait, kProcessAbort, kClosed}},
	{kAppCloseWait1,
	 {kAppCloseWait2, kPeerFinCloseWait, kPeerAbortWait, kProcessAbort, kClosed}},
	{kAppCloseWait2, {kPeerFinCloseWait, kPeerAbortWait, kProcessAbort, kClosed}},
	{kAppFinCloseWait, {kProcessAbort, kClosed}},
	{kPeerFinCloseWait, {kPeerAbortWait, kClosed}},
	{kPeerAbortWait, {kClosed}},
	{kProcessAbort, {kClosed}},
	{kClosed, {}},
};

TEST(StateTest, NumbersAreThoseOfSockDiag)
{
	EXPECT_EQ(static_cast<int>(kActive), 1);
	EXPECT_EQ(static_cast<int>(kInit), 2);
	EXPECT_EQ(static_cast<int>(kClosed), 7);
	EXPECT_EQ(static_cast<int>(kPeerCloseWait1), 20);
	EXPECT_EQ(static_cast<int>(kPeerCloseWait2), 21);
	EXPECT_EQ(static_cast<int>(kAppCloseWait1), 22);
	EXPECT_EQ(static_cast<int>(kAppCloseWait2), 23);
	EXPECT_EQ(static_cast<int>(kAppFinCloseWait), 24);
	EXPECT_EQ(static_cast<int>(kPeerFinCloseWait), 25);
	EXPECT_EQ(static_cast<int>(kPeerAbortWait), 26);
	EXPECT_EQ(static_cast<int>(kProcessAbort), 27);
}

TEST(StateTest, LegalTransitions)
{
	ASSERT_EQ(kLegal.size(), kAllStates.size());
	for (const State from : kAllStates) {
		for (const State to : kAllStates)
			EXPECT_EQ(transition_is_legal(from, to),
				  from == to || kLegal.at(from).contains(to))
				<< static_cast<int>(from) << " to " << static_cast<int>(to);
	}
}

// Every state, every event, all conditions: the change is legal, and each legal change occurs.
TEST(StateTest, EveryEventInEveryState)
{
	std::set<std::pair<State, State>> seen;
	for (const State state : kAllStates) {
		for (const CloseEvent event : kAllCloseEvents) {
			for (const bool locally_closed : {false, true}) {
				for (const bool peer_closed : {false, true}) {
					const State next = next_state(
						state, event, {locally_closed, peer_closed});
					EXPECT_TRUE(transition_is_legal(state, next))
						<< static_cast<int>(state) << " event "
						<< static_cast<int>(event);
					if (next != state)
						seen.insert({state, next});
				}
			}
		}
	}
	for (const auto &[from, targets] : kLegal) {
		for (const State to : targets)
			EXPECT_TRUE(seen.contains({from, to}))
				<< static_cast<int>(from) << " to " << static_cast<int>(to);
	}
}

struct Step {
	State state;
	CloseEvent event;
	State next;
	CloseFacts facts{};
};

TEST(StateTest, TableOfTheProtocol)
{
	using enum CloseEvent;
	constexpr CloseFacts peer_closed{.peer_closed = true};
	constexpr CloseFacts locally_closed{.locally_closed = true};
	const Step steps[]{
		{kInit, kStart, kActive},
		{kInit, kLocalClose, kInit},
		{kInit, kTransportLost, kInit},
		{kActive, kStart, kActive},
		{kActive, kLocalShutdown, kPeerCloseWait1},
		{kActive, kLocalClose, kPeerCloseWait1},
		{kActive, kLocalAbort, kPeerAbortWait},
		{kActive, kPeerDone, kAppCloseWait1},
		{kActive, kPeerClosed, kAppCloseWait1},
		{kActive, kPeerAborted, kProcessAbort},
		{kActive, kTransportLost, kClosed},
		{kPeerCloseWait1, kLocalClose, kPeerCloseWait1},
		{kPeerCloseWait1, kPeerDone, kPeerCloseWait2},
		{kPeerCloseWait1, kPeerClosed, kAppFinCloseWait},
		{kPeerCloseWait1, kPeerClosed, kClosed, locally_closed},
		{kPeerCloseWait1, kPeerAborted, kProcessAbort},
		{kPeerCloseWait1, kPeerAborted, kClosed, locally_closed},
		{kPeerCloseWait2, kPeerClosed, kAppFinCloseWait},
		{kPeerCloseWait2, kPeerClosed, kClosed, locally_closed},
		{kAppCloseWait1, kLocalShutdown, kAppCloseWait2},
		{kAppCloseWait1, kLocalClose, kPeerFinCloseWait},
		{kAppCloseWait1, kLocalClose, kClosed, peer_closed},
		{kAppCloseWait1, kPeerClosed, kAppCloseWait1},
		{kAppCloseWait1, kLocalAbort, kClosed, peer_closed},
		{kAppCloseWait2, kLocalClose, kPeerFinCloseWait},
		{kAppCloseWait2, kLocalClose, kClosed, peer_closed},
		{kAppFinCloseWait, kLocalClose, kClosed},
		{kAppFinCloseWait, kLocalAbort, kClosed},
		{kPeerFinCloseWait, kPeerClosed, kClosed},
		{kPeerFinCloseWait, kPeerAborted, kClosed},
		{kPeerAbortWait, kPeerAborted, kClosed},
		{kPeerAbortWait, kPeerClosed, kClosed},
		{kPeerAbortWait, kPeerDone, kPeerAbortWait},
		{kProcessAbort, kLocalClose, kClosed},
		{kProcessAbort, kLocalAbort, kClosed},
		{kProcessAbort, kPeerClosed, kProcessAbort},
		{kClosed, kPeerAborted, kClosed},
		{kClosed, kTransportLost, kClosed},
	};
	for (const Step &step : steps)
		EXPECT_EQ(next_state(step.state, step.event, step.facts), step.next)
			<< static_cast<int>(step.state) << " event "
			<< static_cast<int>(step.event);
}

// Sequences of up to six calls in every order: every change is legal, flags stay set, and state and
// flags agree.
void walk(const CloseMachine &machine, int depth)
{
	ASSERT_FALSE(machine.broken());
	if (machine.state() == kActive) {
		EXPECT_EQ(machine.owed_flags(), 0);
		EXPECT_EQ(machine.peer_flags(), 0);
	}
	if (machine.state() == kProcessAbort) {
		EXPECT_TRUE(machine.peer_flags() & state_flag::kAborted);
	}
	if (machine.may_send()) {
		EXPECT_TRUE(machine.state() == kActive || machine.state() == kAppCloseWait1);
	}
	EXPECT_EQ(machine.sent_flags() & ~(machine.owed_flags()), 0);
	if (depth == 0)
		return;
	for (int call = 0; call < 10; call++) {
		CloseMachine next = machine;
		switch (call) {
		case 0: next.shutdown_write(); break;
		case 1: next.close(); break;
		case 2: next.abort(); break;
		case 3: next.transport_lost(); break;
		case 4: next.on_peer_flags(state_flag::kSendingDone); break;
		case 5: next.on_peer_flags(state_flag::kClosed); break;
		case 6: next.on_peer_flags(state_flag::kAborted); break;
		case 7: next.on_peer_flags(0xff); break;
		case 8: next.flags_sent(next.ready_flags(true)); break;
		case 9: next.give_up(); break;
		}
		EXPECT_EQ(machine.sent_flags() & ~next.sent_flags(), 0);
		EXPECT_EQ(machine.peer_flags() & ~next.peer_flags(), 0);
		walk(next, depth - 1);
	}
}

TEST(CloseMachineTest, AllSequences)
{
	CloseMachine machine;
	machine.shutdown_write(); // before the start messages do not count
	machine.close();
	machine.abort();
	machine.give_up();
	machine.transport_lost();
	EXPECT_FALSE(machine.link_lost());
	EXPECT_EQ(machine.on_peer_flags(state_flag::kAll), 0);
	EXPECT_EQ(machine.state(), kInit);
	EXPECT_FALSE(machine.started());
	EXPECT_FALSE(machine.finished());
	EXPECT_EQ(machine.owed_flags(), 0);
	EXPECT_EQ(machine.peer_flags(), 0);
	machine.start();
	EXPECT_EQ(machine.state(), kActive);
	walk(machine, 6);
}

} // namespace
} // namespace smc::connection
