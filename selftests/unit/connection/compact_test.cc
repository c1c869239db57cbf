// SPDX-License-Identifier: GPL-2.0-only
//
// Compact messages: which messages take that form, that both forms count as one stream, and what a
// peer cannot do with them. (model_test.cc and hostile_test.cc mix both forms at random.)
#include <gtest/gtest.h>

#include <string>

#include "connection/acquainted.hpp"
#include "core/wire/compact.hpp"

namespace smc::connection::test {
namespace {

TEST(CompactTest, OnlyWhereAgreedOn)
{
	Acquainted pair{plain_config()};

	pair.a.send("x");
	EXPECT_FALSE(pair.a.last_plan.compact);
}

// The peer may not have begun before it has spoken.
TEST(CompactTest, NotBeforeThePeerHasSpoken)
{
	Pair pair{compact_config()};

	pair.a.send("request");
	EXPECT_FALSE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.a.send("another");
	EXPECT_FALSE(pair.a.last_plan.compact);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "requestanother");
	pair.b.send("response");
	EXPECT_TRUE(pair.b.last_plan.compact);
	EXPECT_EQ(pair.b.last_plan.brief.consumed_bytes, 14u);
	pair.wire.settle();
	pair.a.send("next");
	EXPECT_TRUE(pair.a.last_plan.compact);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "next");
}

TEST(CompactTest, FlagsTakeTheLongForm)
{
	Acquainted pair;

	pair.a.send("oob", SendHint::kUrgent);
	EXPECT_FALSE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.a.send("x");
	EXPECT_TRUE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.a.connection.announce_urgent(true);
	pair.a.send("y");
	EXPECT_FALSE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.a.connection.announce_urgent(false);
	pair.a.connection.shutdown_write();
	pair.a.transmit();
	EXPECT_FALSE(pair.a.last_plan.compact);
	pair.wire.settle();
	// State flags stay set for good.
	pair.b.send("answer");
	pair.wire.settle();
	pair.a.receive();
	pair.a.connection.request_completion();
	pair.a.transmit();
	EXPECT_FALSE(pair.a.last_plan.compact);
}

TEST(CompactTest, NoBytesTakeTheLongForm)
{
	Acquainted pair;
	const std::string most(12000, 'm');

	pair.a.send(most);
	EXPECT_TRUE(pair.a.last_plan.compact);
	pair.wire.settle();
	pair.b.receive();
	EXPECT_EQ(pair.b.last_plan.write_bytes, 0u);
	EXPECT_FALSE(pair.b.last_plan.compact);
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
}

TEST(CompactTest, WriteBlocked)
{
	Config config = compact_config();
	config.sndbuf_size_bytes = 32768;
	Acquainted pair{config, Pair::mirrored(compact_config())};
	const std::string more(20000, 'm');

	pair.a.send(more);
	pair.wire.settle();
	EXPECT_NE(pair.b.connection.diagnostics().rx_producer_flags & producer_flag::kWriteBlocked,
		  0);
	std::string got;
	while (got.size() < more.size()) {
		const std::string part = pair.b.receive();
		ASSERT_FALSE(part.empty());
		got += part;
		pair.wire.settle();
	}
	EXPECT_EQ(got, more);
}

TEST(CompactTest, WrapsWithTheRing)
{
	Acquainted pair;

	for (int i = 0; i < 40; i++) {
		const std::string data(5000, static_cast<char>('a' + i % 26));

		pair.a.send(data);
		EXPECT_TRUE(pair.a.last_plan.compact) << i;
		EXPECT_EQ(pair.a.last_plan.brief.wrapped, pair.a.last_plan.write_count == 2) << i;
		pair.wire.settle();
		EXPECT_EQ(pair.b.receive(), data);
		pair.wire.settle();
	}
}

// Up to the last byte of the ring, exactly.
TEST(CompactTest, EndsWithTheRing)
{
	Acquainted pair;
	const std::string rest(16384 - 5, 'r');

	pair.a.send(rest);
	EXPECT_TRUE(pair.a.last_plan.compact);
	EXPECT_FALSE(pair.a.last_plan.brief.wrapped);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), rest);
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.diagnostics().rx_producer, (ring::Cursor{1, 0}));
}

// A cut where the send buffer ends cannot be said by one length.
TEST(CompactTest, CutsOfTheSendBufferTakeTheLongForm)
{
	Config config = compact_config();
	config.sndbuf_size_bytes = 5000;
	Acquainted pair{config, Pair::mirrored(compact_config())};
	int compact = 0;

	for (int i = 0; i < 30; i++) {
		const std::string data(1900, static_cast<char>('a' + i % 26));

		pair.a.send(data);
		const TransmitPlan &plan = pair.a.last_plan;
		EXPECT_EQ(plan.compact,
			  plan.write_count == 1 ||
				  (plan.write_count == 2 && plan.writes[1].peer_offset_bytes == 0))
			<< i;
		compact += plan.compact ? 1 : 0;
		pair.wire.settle();
		EXPECT_EQ(pair.b.receive(), data);
		pair.wire.settle();
	}
	EXPECT_GT(compact, 10);
	EXPECT_LT(compact, 30);
}

TEST(CompactTest, MoreConsumedThanItCanSay)
{
	Acquainted pair{spacious_config()};
	const std::string data(5U << 20, 'd');

	for (const bool over : {false, true}) {
		const std::uint32_t bytes = wire::kCompactConsumedMaxBytes + (over ? 1 : 0);

		pair.a.send(std::string_view(data).substr(0, bytes));
		pair.wire.settle();
		ASSERT_EQ(pair.b.read().size(), bytes);
		pair.b.send("x");
		EXPECT_EQ(pair.b.last_plan.compact, !over);
		pair.wire.settle();
		EXPECT_EQ(pair.a.receive(), "x");
		EXPECT_EQ(pair.a.connection.peer_window_bytes(), 16U << 20);
		pair.wire.settle();
	}
}

// A message of the long form is as new as the compact ones before it.
TEST(CompactTest, BothFormsCount)
{
	Acquainted pair;

	for (std::uint32_t i = 0; i < 70000; i++) {
		pair.a.send("x");
		pair.wire.settle();
		ASSERT_EQ(pair.b.receive(), "x");
		if (i % 7000 == 0) {
			pair.b.send("y");
			pair.wire.settle();
			ASSERT_EQ(pair.a.receive(), "y");
		}
		pair.wire.settle();
	}
	pair.a.connection.close();
	pair.a.transmit();
	pair.wire.settle();
	EXPECT_TRUE(pair.b.connection.peer_closed());
	EXPECT_EQ(pair.b.connection.diagnostics().stale_messages, 0u);
}

TEST(CompactTest, MoreThanThereIsRoomFor)
{
	const CompactMessage bad[]{
		{.written_bytes = 16384},
		{.written_bytes = 16385},
		{.written_bytes = UINT32_MAX},
		{.written_bytes = 16384 - 5, .wrapped = true},
		{.written_bytes = 6, .wrapped = true},
		{.written_bytes = UINT32_MAX, .wrapped = true},
		{.written_bytes = 1, .consumed_bytes = 1},
		{.written_bytes = 1, .consumed_bytes = UINT32_MAX},
	};

	for (const CompactMessage &message : bad) {
		Acquainted pair;
		// All that b has sent is consumed, and 5 bytes of its ring are not confirmed.
		pair.a.send("hello");
		pair.wire.settle();
		const Diagnostics before = pair.b.connection.diagnostics();
		const Verdict verdict = pair.b.connection.on_cdc(message);

		EXPECT_EQ(verdict.violation, Violation::kCursorOutsideRing)
			<< message.written_bytes << ' ' << message.consumed_bytes;
		EXPECT_EQ(verdict.events, 0);
		const Diagnostics after = pair.b.connection.diagnostics();
		EXPECT_EQ(after.rx_producer, before.rx_producer);
		EXPECT_EQ(after.rx_consumer, before.rx_consumer);
	}
}

// One that waits behind another message says the same as when it is taken in behind it.
TEST(CompactTest, InFull)
{
	Acquainted pair;
	const CompactMessage compact{
		.written_bytes = 16384 - 7, .consumed_bytes = 0, .write_blocked = true};
	const CursorMessage before{.sequence = 9,
				   .producer = {.wrap = 3, .count = 7},
				   .consumer = {.wrap = 0xffff, .count = 16383}};
	auto full = pair.b.connection.in_full(compact, before);

	ASSERT_TRUE(full);
	EXPECT_EQ(full->sequence, 10);
	EXPECT_EQ(full->producer, (ring::Cursor{.wrap = 4, .count = 0}));
	EXPECT_EQ(full->consumer, before.consumer);
	EXPECT_EQ(full->producer_flags, producer_flag::kWriteBlocked);
	full = pair.b.connection.in_full({.written_bytes = 5, .consumed_bytes = 2, .wrapped = true},
					 before);
	ASSERT_TRUE(full);
	EXPECT_EQ(full->producer, (ring::Cursor{.wrap = 4, .count = 5}));
	EXPECT_EQ(full->consumer, (ring::Cursor{.wrap = 0, .count = 1}));
}

TEST(CompactTest, InFullBehindWhatCannotBeRight)
{
	Acquainted pair;
	const CursorMessage outside[]{{.producer = {.wrap = 0, .count = 16384}},
				      {.consumer = {.wrap = 0, .count = 16384}}};

	for (const CursorMessage &before : outside)
		EXPECT_FALSE(pair.b.connection.in_full({.written_bytes = 1}, before));
	EXPECT_FALSE(pair.b.connection.in_full({.written_bytes = 16385}, CursorMessage{}));
	EXPECT_FALSE(pair.b.connection.in_full({.consumed_bytes = 16385}, CursorMessage{}));
}

// After our abort the peer's bytes do not count, but a later closing flag does.
TEST(CompactTest, AfterAnAbort)
{
	Acquainted pair;

	pair.b.connection.abort();
	for (std::uint32_t i = 0; i < 40000; i++)
		EXPECT_TRUE(pair.b.connection.on_cdc(CompactMessage{.written_bytes = 1}).ok());
	const auto sequence = static_cast<std::uint16_t>(40000 + 1 + 1);
	EXPECT_TRUE(pair.b.connection
			    .on_cdc(CursorMessage{.sequence = sequence,
						  .state_flags = state_flag::kAborted})
			    .has(event::kPeerAborted));
}

} // namespace
} // namespace smc::connection::test
