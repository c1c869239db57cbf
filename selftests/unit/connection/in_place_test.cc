// SPDX-License-Identifier: GPL-2.0-only
//
// Two connections that share their memory: each end's send buffer is the other end's ring, and
// messages are delivered at once.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "connection/in_place.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection {
namespace {

constexpr std::uint32_t kSizeBytes = 16384;

class InPlaceTest : public testing::Test {
protected:
	void SetUp() override
	{
		ASSERT_TRUE(a_.init(in_place_config(kSizeBytes)));
		ASSERT_TRUE(b_.init(in_place_config(kSizeBytes)));
	}
	// Moves data once each way; returns how many messages were sent.
	static int speak(Connection &from, Connection &to)
	{
		int said = 0;

		while (const auto saying = from.speak()) {
			const Verdict verdict = to.hear(*saying);
			EXPECT_TRUE(verdict.ok());
			events_ |= verdict.events;
			EXPECT_LE(++said, 4);
		}
		return said;
	}
	// Until both ends are finished.
	void converse(Connection &first, Connection &second)
	{
		events_ = 0;
		for (int turns = 0; speak(first, second) != 0 && speak(second, first) != 0; turns++)
			ASSERT_LE(turns, 4);
		EXPECT_FALSE(first.speak());
		EXPECT_FALSE(second.speak());
		EXPECT_FALSE(a_.broken() || b_.broken());
	}
	void send(Connection &from, Connection &to, std::uint32_t bytes,
		  SendHint hint = SendHint::kNormal)
	{
		from.produce(bytes, hint);
		converse(from, to);
	}
	void read(Connection &reader, Connection &peer, std::uint32_t bytes)
	{
		if (reader.consume(bytes))
			converse(reader, peer);
	}

	Connection a_;
	Connection b_;
	static inline std::uint16_t events_ = 0;
};

// A peek with MSG_WAITALL must not wait for a writer that waits for room.
TEST_F(InPlaceTest, WaitsForTheReaderWhereTheWriterWaits)
{
	send(a_, b_, kSizeBytes);
	EXPECT_TRUE(b_.waits_for_reader());
	for (std::uint32_t left_bytes = kSizeBytes; left_bytes != 0; left_bytes -= 64) {
		read(b_, a_, 64);
		EXPECT_EQ(b_.waits_for_reader(), !a_.writable_for_poll());
	}
	EXPECT_FALSE(b_.waits_for_reader());
}

// Each byte is written where the peer reads it, has arrived when the message is delivered, and
// makes room when the peer has consumed it and sent its cursor.
TEST_F(InPlaceTest, LapAfterLap)
{
	std::uint32_t offset_bytes = 0;

	for (int lap = 0; lap < 40; lap++) {
		EXPECT_EQ(a_.write_segments(1).begin()->offset_bytes, offset_bytes);
		send(a_, b_, 3000);
		EXPECT_TRUE((events_ & event::kReadable) != 0);
		EXPECT_EQ(b_.read_segments(3000).begin()->offset_bytes, offset_bytes);
		EXPECT_EQ(b_.readable_bytes(), 3000u);
		EXPECT_EQ(a_.undelivered_bytes(), 0u);
		EXPECT_EQ(a_.unsent_bytes(), 0u);
		EXPECT_EQ(a_.sndbuf_free_bytes(), kSizeBytes - 3000u);
		read(b_, a_, 3000);
		send(b_, a_, 1);
		EXPECT_EQ(a_.sndbuf_free_bytes(), kSizeBytes);
		EXPECT_EQ(a_.readable_bytes(), 1u);
		read(a_, b_, 1);
		offset_bytes = (offset_bytes + 3000) % kSizeBytes;
	}
}

// Half of the ring counts as the peer's receive buffer.
TEST_F(InPlaceTest, WaitsForTheReaderInItsUpperHalf)
{
	send(a_, b_, 8192);
	EXPECT_EQ(a_.queued_bytes(), 0u);
	send(a_, b_, 8000);
	EXPECT_EQ(a_.queued_bytes(), 8000u);
	EXPECT_EQ(a_.queued_unsent_bytes(), 8000u);
	EXPECT_EQ(a_.undelivered_bytes(), 0u);
	read(b_, a_, 16192);
	EXPECT_EQ(a_.queued_bytes(), 0u);
}

TEST_F(InPlaceTest, NeedsOneSize)
{
	Config other = in_place_config(kSizeBytes);
	other.peer_rmb_size_bytes = kSizeBytes * 2;
	EXPECT_FALSE(a_.init(other));
}

TEST_F(InPlaceTest, AFullRingWakesItsWriterWhenItIsRead)
{
	send(a_, b_, kSizeBytes);
	EXPECT_FALSE(a_.writable_for_poll());
	read(b_, a_, kSizeBytes);
	EXPECT_TRUE((events_ & event::kWritable) != 0);
	EXPECT_TRUE(a_.writable_for_poll());
}

TEST_F(InPlaceTest, NoCompletionIsAskedFor)
{
	send(a_, b_, 100);
	a_.request_completion();
	EXPECT_FALSE(a_.speak());
}

TEST_F(InPlaceTest, UrgentByteEndsASaying)
{
	a_.produce(10, SendHint::kUrgent);
	a_.produce(5);
	auto saying = a_.speak();
	ASSERT_TRUE(saying);
	EXPECT_EQ(saying->produced_bytes, 10u);
	EXPECT_TRUE(b_.hear(*saying).has(event::kUrgent));
	EXPECT_EQ(b_.urgent_offset_bytes(), 9u);
	b_.store_urgent('u');
	saying = a_.speak();
	ASSERT_TRUE(saying);
	EXPECT_EQ(saying->produced_bytes, 5u);
	EXPECT_TRUE(b_.hear(*saying).ok());
	EXPECT_EQ(b_.take_urgent(false).value, 'u');
	EXPECT_EQ(b_.read_segments(100).length_bytes(), 9u);
}

TEST_F(InPlaceTest, WhatIsSaidLastIsTheEnd)
{
	send(a_, b_, 100);
	a_.close();
	converse(a_, b_);
	EXPECT_TRUE((events_ & event::kPeerClosed) != 0);
	EXPECT_FALSE(b_.at_eof());
	read(b_, a_, 100);
	EXPECT_TRUE(b_.at_eof());
	b_.close();
	converse(b_, a_);
	EXPECT_TRUE(a_.releasable() && b_.releasable());
}

TEST_F(InPlaceTest, AnAbortIsAnswered)
{
	send(a_, b_, 100);
	a_.abort();
	converse(a_, b_);
	EXPECT_TRUE((events_ & event::kPeerAborted) != 0);
	EXPECT_TRUE(a_.releasable() && b_.releasable());
	EXPECT_EQ(b_.hear({}).events, event::kIgnored);
}

// The cursor comes from our own code, but one that would lead out of the ring is still refused.
TEST_F(InPlaceTest, CountsThatCannotBeAreRefused)
{
	Saying saying;

	send(a_, b_, 100);
	saying.produced_bytes = kSizeBytes - 100 + 1;
	EXPECT_EQ(b_.hear(saying).violation, Violation::kCursorOutsideRing);
	saying.produced_bytes = 0;
	saying.consumed_bytes = 101;
	EXPECT_EQ(a_.hear(saying).violation, Violation::kCursorOutsideRing);
	EXPECT_EQ(b_.readable_bytes(), 100u);
}

// Both ends write and read at random; a separate account of each direction must agree.
TEST_F(InPlaceTest, TwoAccountsAgree)
{
	std::mt19937 random{1};
	const auto up_to = [&random](std::uint32_t most) {
		return std::uniform_int_distribution<std::uint32_t>{0, most}(random);
	};
	std::uint64_t written[2] = {};
	std::uint64_t taken[2] = {};
	Connection *ends[2] = {&a_, &b_};

	for (int step = 0; step < 200'000; step++) {
		const std::uint32_t side = up_to(1);
		Connection &own = *ends[side];
		Connection &other = *ends[1 - side];

		if (up_to(1) != 0) {
			const std::uint32_t bytes = up_to(own.sndbuf_free_bytes());
			const ring::Segments where = own.write_segments(bytes);
			ASSERT_EQ(where.length_bytes(), bytes);
			if (bytes != 0) {
				ASSERT_EQ(where.begin()->offset_bytes, written[side] % kSizeBytes);
			}
			written[side] += bytes;
			send(own, other, bytes,
			     up_to(3) == 0 ? SendHint::kMore : SendHint::kNormal);
			own.push();
			converse(own, other);
		} else {
			const std::uint32_t bytes = up_to(own.readable_bytes());
			const ring::Segments where = own.read_segments(bytes);
			if (bytes != 0) {
				ASSERT_EQ(where.begin()->offset_bytes,
					  taken[1 - side] % kSizeBytes);
			}
			taken[1 - side] += bytes;
			read(own, other, bytes);
		}
		ASSERT_EQ(other.readable_bytes(), written[side] - taken[side]);
		ASSERT_EQ(own.readable_bytes(), written[1 - side] - taken[1 - side]);
		// Consumed bytes are reported at the latest when they amount to half of the ring.
		ASSERT_LE(own.sndbuf_free_bytes(), kSizeBytes - other.readable_bytes());
		if (other.readable_bytes() == 0) {
			ASSERT_GE(own.sndbuf_free_bytes(), kSizeBytes / 2);
		}
	}
	EXPECT_GT(written[0], 1000u * kSizeBytes);
}

} // namespace
} // namespace smc::connection
