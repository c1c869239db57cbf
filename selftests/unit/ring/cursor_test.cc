// SPDX-License-Identifier: GPL-2.0-only
#include "core/ring/cursor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace smc::ring {
namespace {

TEST(CursorTest, InsideMeansBelowTheSize)
{
	EXPECT_TRUE(is_inside({0, 0}, 16384));
	EXPECT_TRUE(is_inside({65535, 16383}, 16384));
	EXPECT_FALSE(is_inside({0, 16384}, 16384));
	EXPECT_FALSE(is_inside({0, UINT32_MAX}, kMaxSizeBytes));
}

TEST(CursorTest, AdvanceStaysInTheLap)
{
	EXPECT_EQ(advance({3, 10}, 0, 100), (Cursor{3, 10}));
	EXPECT_EQ(advance({3, 10}, 89, 100), (Cursor{3, 99}));
}

TEST(CursorTest, AdvanceToTheEndStartsTheNextLap)
{
	EXPECT_EQ(advance({3, 10}, 90, 100), (Cursor{4, 0}));
	EXPECT_EQ(advance({3, 10}, 91, 100), (Cursor{4, 1}));
	EXPECT_EQ(advance({3, 10}, 100, 100), (Cursor{4, 10}));
	EXPECT_EQ(advance({65535, 99}, 1, 100), (Cursor{0, 0}));
}

TEST(CursorTest, LargestRing)
{
	constexpr Cursor last{65535, kMaxSizeBytes - 1};
	EXPECT_EQ(advance(last, kMaxSizeBytes, kMaxSizeBytes), (Cursor{0, kMaxSizeBytes - 1}));
	EXPECT_EQ(forward_distance_bytes(last, {0, kMaxSizeBytes - 1}, kMaxSizeBytes),
		  kMaxSizeBytes);
}

TEST(CursorTest, EmptyAndFull)
{
	EXPECT_EQ(forward_distance_bytes({7, 42}, {7, 42}, 100), 0u);
	EXPECT_EQ(forward_distance_bytes({7, 42}, {8, 42}, 100), 100u);
	EXPECT_EQ(forward_distance_bytes({65535, 0}, {0, 0}, 100), 100u);
}

TEST(CursorTest, BackwardIsNoDistance)
{
	EXPECT_FALSE(forward_distance_bytes({7, 42}, {7, 41}, 100));
	EXPECT_FALSE(forward_distance_bytes({7, 42}, {6, 42}, 100));
	EXPECT_FALSE(forward_distance_bytes({0, 0}, {65535, 99}, 100));
}

TEST(CursorTest, MoreThanARingIsNoDistance)
{
	EXPECT_FALSE(forward_distance_bytes({7, 42}, {8, 43}, 100));
	EXPECT_FALSE(forward_distance_bytes({7, 42}, {9, 0}, 100));
	EXPECT_FALSE(forward_distance_bytes({7, 42}, {7 + 32768, 42}, 100));
}

TEST(CursorTest, RetreatUndoesAdvance)
{
	EXPECT_EQ(retreat({0, 0}, 1, 100), (Cursor{65535, 99}));
	EXPECT_EQ(retreat({4, 10}, 10, 100), (Cursor{4, 0}));
	EXPECT_EQ(retreat({4, 10}, 100, 100), (Cursor{3, 10}));
}

// All positions of a small ring and all distances, around the wrap of the wrap count.
TEST(CursorTest, ExhaustiveOnASmallRing)
{
	constexpr std::uint32_t size_bytes = 7;
	for (std::uint32_t wrap = 65534; wrap < 65538; wrap++) {
		for (std::uint32_t count = 0; count < size_bytes; count++) {
			const Cursor from{static_cast<std::uint16_t>(wrap), count};
			const std::uint32_t place = wrap * size_bytes + count;
			for (std::uint32_t bytes = 0; bytes <= size_bytes; bytes++) {
				const Cursor to = advance(from, bytes, size_bytes);
				EXPECT_EQ(to.count, (place + bytes) % size_bytes);
				EXPECT_EQ(to.wrap,
					  static_cast<std::uint16_t>((place + bytes) / size_bytes));
				EXPECT_EQ(forward_distance_bytes(from, to, size_bytes), bytes);
				EXPECT_EQ(retreat(to, bytes, size_bytes), from);
				if (bytes != 0 && bytes != size_bytes) {
					EXPECT_FALSE(forward_distance_bytes(to, from, size_bytes));
				}
			}
		}
	}
}

// For any two cursors the distance is at most a ring, and leads from one to the other.
TEST(CursorTest, RandomPairs)
{
	std::mt19937 random{1};
	for (int round = 0; round < 200000; round++) {
		const std::uint32_t size_bytes = 1 + random() % (round % 2 ? 50 : kMaxSizeBytes);
		const Cursor from{static_cast<std::uint16_t>(random() % 4),
				  static_cast<std::uint32_t>(random() % size_bytes)};
		const Cursor to{static_cast<std::uint16_t>(random() % 4),
				static_cast<std::uint32_t>(random() % size_bytes)};
		const auto bytes = forward_distance_bytes(from, to, size_bytes);
		if (!bytes)
			continue;
		ASSERT_LE(*bytes, size_bytes);
		ASSERT_EQ(advance(from, *bytes, size_bytes), to);
	}
}

} // namespace
} // namespace smc::ring
