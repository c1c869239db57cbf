// SPDX-License-Identifier: GPL-2.0-only
//
// CDC messages that arrive before the peer's Confirm are kept. A connection that starts with them
// must be in the same state as one that handled each when it arrived.
#include "core/connection/early_messages.hpp"

#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

// A pair whose end b starts late. Messages of a are kept for it until then.
struct LateStart {
	Pair pair;
	EarlyMessages early;

	void say(const std::string &data, SendHint hint = SendHint::kNormal)
	{
		pair.a.send(data, hint);
		arrive();
		while (!pair.a.completions.empty())
			(void)pair.wire.complete(pair.a);
		pair.a.transmit();
		arrive();
	}
	void arrive()
	{
		while (pair.wire.carry(pair.a))
			;
		for (const Arrived &arrived : pair.b.arrived)
			early.keep(arrived.message);
		pair.b.arrived.clear();
	}
	// The events of b's start.
	std::uint16_t start()
	{
		std::uint16_t events = 0;

		for (const CursorMessage &message : early.all())
			pair.b.arrived.push_back({.message = message});
		while (!pair.b.arrived.empty())
			events |= pair.wire.deliver(pair.b).events;
		return events;
	}
	// 0: none
	char urgent_byte()
	{
		const UrgentRead urgent = pair.b.connection.take_urgent(false);

		return urgent.status == UrgentStatus::kByte ? static_cast<char>(urgent.value) : 0;
	}
};

// The peer moves twice before the first link is drained here. What the second validation asks for
// has come by the second link.
TEST(EarlyMessagesTest, TwoMovesInARow)
{
	Pair pair;
	EarlyMessages early;
	const auto keep_all = [&] {
		while (pair.wire.carry(pair.a)) {}
		for (const Arrived &arrived : pair.b.arrived)
			early.keep(arrived.message);
		pair.b.arrived.clear();
	};

	pair.a.send("one ");
	pair.wire.settle();
	pair.a.send("two");
	for (int i = 0; i < 2; i++) {
		pair.wire.lose_link(pair.a, 0, false, 0);
		Wire::move(pair.a);
		keep_all();
		while (!pair.a.completions.empty())
			(void)pair.wire.complete(pair.a);
	}
	for (const CursorMessage &message : early.all_after_move())
		EXPECT_EQ(pair.b.connection.on_cdc(message).violation, Violation::kNone);
	EXPECT_EQ(pair.b.read(), "one two");
}

TEST(EarlyMessagesTest, NothingCame)
{
	LateStart late;
	EXPECT_TRUE(late.early.all().empty());
	EXPECT_EQ(late.start(), 0);
}

TEST(EarlyMessagesTest, TheNewestSaysItAll)
{
	LateStart late;
	for (const char *word : {"one ", "two ", "three"})
		late.say(word);
	EXPECT_EQ(late.early.all().size(), 1u);
	EXPECT_TRUE(late.start() & event::kReadable);
	EXPECT_EQ(late.pair.b.read(), "one two three");
	EXPECT_EQ(late.urgent_byte(), 0);
}

TEST(EarlyMessagesTest, AnUrgentByteIsNotForgotten)
{
	LateStart late;
	late.say("abc!", SendHint::kUrgent);
	late.say("def");
	late.say("ghi");
	EXPECT_TRUE(late.start() & event::kUrgent);
	EXPECT_EQ(late.urgent_byte(), '!');
	EXPECT_EQ(late.pair.b.read(), "abc");
	EXPECT_TRUE(late.pair.b.connection.at_mark());
	EXPECT_EQ(late.pair.b.read(), "defghi");
}

TEST(EarlyMessagesTest, OfTwoMarksTheNewerOne)
{
	for (const bool more : {false, true}) {
		LateStart late;
		late.say("a1", SendHint::kUrgent);
		late.say("b2", SendHint::kUrgent);
		if (more)
			late.say("c");
		EXPECT_LE(late.early.all().size(), 2u);
		(void)late.start();
		EXPECT_EQ(late.urgent_byte(), '2');
		EXPECT_EQ(late.pair.b.read(), "a1b");
	}
}

// From here on every message says that the stream has ended.
TEST(EarlyMessagesTest, AMarkAndTheEnd)
{
	LateStart late;
	late.say("abc!", SendHint::kUrgent);
	late.pair.a.connection.shutdown_write();
	late.say("");
	EXPECT_TRUE(late.start() & event::kPeerDone);
	EXPECT_EQ(late.urgent_byte(), '!');
	EXPECT_EQ(late.pair.b.read(), "abc");
}

// A validation message asks whether all before it arrived; it replaces none of the kept ones.
TEST(EarlyMessagesTest, AValidation)
{
	LateStart late;
	late.say("abc");
	CursorMessage question = late.early.all()[0];
	question.producer_flags = producer_flag::kFailoverValidation;
	late.early.keep(question);
	EXPECT_TRUE(late.start() & event::kReadable);
	EXPECT_EQ(late.pair.b.read(), "abc");
}

} // namespace
} // namespace smc::connection::test
