// SPDX-License-Identifier: GPL-2.0-only
//
// Connection::pass() against the steps that it replaces. Two pairs of connections get the same
// calls: one pair speaks and hears, the other passes wherever it can. Their states must be equal at
// all times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "connection/alike.hpp"
#include "connection/in_place.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection {
namespace {

constexpr std::uint32_t kSizeBytes = 16384;

struct Pair {
	Connection ends[2];
	std::uint16_t events[2] = {}; // since the last look

	Pair()
	{
		const Config config = in_place_config(kSizeBytes);

		EXPECT_TRUE(ends[0].init(config));
		EXPECT_TRUE(ends[1].init(config));
	}
	bool speak(std::uint32_t side)
	{
		bool said = false;

		while (const auto saying = ends[side].speak()) {
			const Verdict verdict = ends[1 - side].hear(*saying);

			EXPECT_TRUE(verdict.ok());
			if (verdict.has(event::kUrgent))
				ends[1 - side].store_urgent('u');
			events[1 - side] |= verdict.events;
			said = true;
		}
		return said;
	}
	void converse(std::uint32_t side)
	{
		for (std::uint32_t speaker = side; speak(speaker);)
			speaker = 1 - speaker;
	}
	bool pass(std::uint32_t side, std::uint32_t bytes)
	{
		const bool may = Connection::may_pass(ends[side], ends[1 - side], bytes);
		const ring::Segments room = ends[side].write_segments(bytes);
		const auto offset = Connection::room_to_pass(ends[side], ends[1 - side], bytes);
		const std::uint16_t heard = Connection::pass(ends[side], ends[1 - side], bytes);

		EXPECT_EQ(may, heard != 0);
		EXPECT_EQ(offset.has_value(), may && room.pieces().size() == 1);
		if (offset) {
			EXPECT_EQ(*offset, room.begin()->offset_bytes);
		}
		if (heard == 0)
			return false;
		events[1 - side] |= heard;
		if (ends[1 - side].has_something_to_say())
			converse(1 - side);
		return true;
	}
};

class PassTest : public testing::Test {
protected:
	void produce(std::uint32_t side, std::uint32_t bytes, SendHint hint)
	{
		spoken_.ends[side].produce(bytes, hint);
		spoken_.converse(side);
		if (hint == SendHint::kNormal && passed_.pass(side, bytes)) {
			passes_++;
			return;
		}
		passed_.ends[side].produce(bytes, hint);
		passed_.converse(side);
		if (hint == SendHint::kNormal)
			long_ways_++;
	}
	template <class F>
	void both(std::uint32_t side, F &&f)
	{
		for (Pair *pair : {&spoken_, &passed_}) {
			f(*pair);
			pair->converse(side);
		}
	}
	void expect_no_difference()
	{
		for (int side : {0, 1}) {
			expect_alike(spoken_.ends[side], passed_.ends[side]);
			EXPECT_EQ(spoken_.events[side], passed_.events[side]);
			spoken_.events[side] = passed_.events[side] = 0;
		}
	}

	Pair spoken_;
	Pair passed_;
	std::uint32_t passes_ = 0;
	std::uint32_t long_ways_ = 0;
};

TEST_F(PassTest, NobodyCanTell)
{
	for (std::uint32_t seed = 1; seed <= 300; seed++) {
		std::mt19937 random{seed};
		const auto up_to = [&random](std::uint32_t most) {
			return static_cast<std::uint32_t>(random() % (most + 1));
		};

		spoken_ = Pair();
		passed_ = Pair();
		for (int step = 0; step < 400; step++) {
			const std::uint32_t side = up_to(1);
			Connection &own = spoken_.ends[side];
			const std::uint32_t free_bytes = own.sndbuf_free_bytes();
			const std::uint32_t what = up_to(1000);

			if (what < 450 && free_bytes != 0 &&
			    own.send_status() == SendStatus::kOpen) {
				const std::uint32_t most_bytes =
					up_to(3) == 0 ? free_bytes : std::min(free_bytes, 3000u);
				const std::uint32_t bytes =
					up_to(9) == 0 ? most_bytes : 1 + up_to(most_bytes - 1);
				const SendHint hint = what < 5    ? SendHint::kUrgent
						      : what < 15 ? SendHint::kMore
								  : SendHint::kNormal;
				produce(side, bytes, hint);
			} else if (what < 940) {
				const std::uint32_t bytes =
					own.read_segments(kSizeBytes).length_bytes();
				const std::uint32_t taken = up_to(2) == 0 ? up_to(bytes) : bytes;

				for (Pair *pair : {&spoken_, &passed_}) {
					if (pair->ends[side].consume(taken))
						pair->converse(side);
				}
			} else if (what < 960) {
				// The option is off more often than on.
				both(side, [&](Pair &pair) {
					pair.ends[side].set_corked(what % 10 == 0);
				});
			} else if (what < 970) {
				both(side, [&](Pair &pair) { pair.ends[side].push(); });
			} else if (what < 980) {
				both(side, [&](Pair &pair) {
					if (pair.ends[side].set_urgent_inline(what % 2 == 0))
						pair.converse(side);
				});
			} else if (what < 985) {
				both(side, [&](Pair &pair) {
					pair.ends[side].announce_urgent(what % 2 == 0);
				});
			} else if (what < 990) {
				both(side, [&](Pair &pair) { pair.ends[side].leave_mark(); });
			} else if (step > 300) {
				both(side, [&](Pair &pair) {
					if (what < 994)
						pair.ends[side].shutdown_write();
					else if (what < 996)
						pair.ends[side].refuse_data();
					else if (what < 998)
						pair.ends[side].close();
					else
						pair.ends[side].abort();
				});
			}
			expect_no_difference();
			if (HasFailure()) {
				ADD_FAILURE() << "seed " << seed << ", step " << step;
				return;
			}
		}
	}
	EXPECT_GT(passes_, 20'000u);
	EXPECT_GT(long_ways_, 1'000u);
}

// One byte more, and the peer is asked for its cursor.
TEST_F(PassTest, HalfARingIsTheMost)
{
	EXPECT_FALSE(passed_.pass(0, kSizeBytes / 2 + 1));
	EXPECT_TRUE(passed_.pass(0, kSizeBytes / 2));
	EXPECT_FALSE(passed_.pass(0, 1));
	EXPECT_EQ(passed_.ends[1].readable_bytes(), kSizeBytes / 2);
}

// A copy from user space that fails at its first byte changes nothing and wakes no one.
TEST_F(PassTest, NothingIsNoMessage)
{
	EXPECT_EQ(Connection::pass(passed_.ends[0], passed_.ends[1], 0), 0);
	EXPECT_EQ(passed_.ends[0].last_completed().message_number, 0u);
}

// The same before the peer is told: hear() drops such bytes.
TEST_F(PassTest, NothingIsPassedToAReaderThatHasClosed)
{
	passed_.ends[1].close();
	EXPECT_EQ(Connection::pass(passed_.ends[0], passed_.ends[1], 100), 0);
	EXPECT_EQ(passed_.ends[0].diagnostics().sent_bytes, 0u);
	EXPECT_EQ(passed_.ends[1].readable_bytes(), 0u);
}

} // namespace
} // namespace smc::connection
