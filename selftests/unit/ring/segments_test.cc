// SPDX-License-Identifier: GPL-2.0-only
#include "core/ring/segments.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace smc::ring {
namespace {

std::vector<Segment> list(const Segments &segments)
{
	return {segments.begin(), segments.end()};
}

TEST(SegmentsTest, NothingHasNoPieces)
{
	EXPECT_TRUE(Segments{}.empty());
	EXPECT_TRUE(Segments(5, 0, 10).empty());
	EXPECT_EQ(Segments(5, 0, 10).length_bytes(), 0u);
	EXPECT_TRUE(Segments(5, 0, 10).pieces().empty());
}

TEST(SegmentsTest, OnePiece)
{
	EXPECT_EQ(list({5, 4, 10}), (std::vector<Segment>{{5, 4}}));
	EXPECT_EQ(list({5, 5, 10}), (std::vector<Segment>{{5, 5}}));
	EXPECT_EQ(list({0, 10, 10}), (std::vector<Segment>{{0, 10}}));
}

TEST(SegmentsTest, TwoPiecesWhereTheRingWraps)
{
	EXPECT_EQ(list({5, 6, 10}), (std::vector<Segment>{{5, 5}, {0, 1}}));
	EXPECT_EQ(list({9, 10, 10}), (std::vector<Segment>{{9, 1}, {0, 9}}));
	EXPECT_EQ(Segments(9, 10, 10).length_bytes(), 10u);
	EXPECT_EQ(Segments(9, 10, 10).pieces().size(), 2u);
}

TEST(SegmentsTest, EveryStretchOfASmallRing)
{
	constexpr std::uint32_t size_bytes = 9;
	for (std::uint32_t offset = 0; offset < size_bytes; offset++) {
		for (std::uint32_t length = 0; length <= size_bytes; length++) {
			std::uint32_t place = offset;
			std::uint32_t bytes = 0;
			for (const Segment &segment : Segments(offset, length, size_bytes)) {
				EXPECT_GT(segment.length_bytes, 0u);
				EXPECT_EQ(segment.offset_bytes, place);
				EXPECT_LE(segment.offset_bytes + segment.length_bytes, size_bytes);
				place = (place + segment.length_bytes) % size_bytes;
				bytes += segment.length_bytes;
			}
			EXPECT_EQ(bytes, length);
		}
	}
}

TEST(SegmentsTest, BetweenCursors)
{
	constexpr std::uint32_t kSize = 100;
	const auto pieces = [](Cursor from, Cursor to) {
		const Segments found = between(from, to, kSize);

		return std::vector<Segment>(found.begin(), found.end());
	};
	using Pieces = std::vector<Segment>;

	EXPECT_EQ(pieces({0, 10}, {0, 30}), (Pieces{{10, 20}}));
	EXPECT_EQ(pieces({0, 90}, {1, 30}), (Pieces{{90, 10}, {0, 30}}));
	EXPECT_EQ(pieces({0xffff, 50}, {0, 50}), (Pieces{{50, 50}, {0, 50}}));
	EXPECT_EQ(pieces({0, 10}, {0, 10}), Pieces{});
	// Backwards, by more than a ring, and outside of it.
	EXPECT_EQ(pieces({0, 10}, {0, 9}), Pieces{});
	EXPECT_EQ(pieces({0, 10}, {1, 11}), Pieces{});
	EXPECT_EQ(pieces({0, 100}, {1, 1}), Pieces{});
	EXPECT_EQ(pieces({0, 10}, {0, 100}), Pieces{});
}

} // namespace
} // namespace smc::ring
