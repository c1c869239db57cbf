// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace smc {
namespace {

using Word = std::array<std::uint8_t, 4>;

TEST(Load, TakesWhatIsAllThere)
{
	const std::vector<std::byte> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
					   std::byte{5}};
	EXPECT_EQ(load<Word>(bytes), (Word{1, 2, 3, 4}));
	EXPECT_EQ(load<Word>(bytes, 1), (Word{2, 3, 4, 5}));
	EXPECT_FALSE(load<Word>(bytes, 2));
	EXPECT_FALSE(load<Word>(bytes, 5));
	EXPECT_FALSE(load<Word>(bytes, 6));
	EXPECT_FALSE(load<Word>(bytes, std::numeric_limits<std::size_t>::max()));
	EXPECT_FALSE(load<Word>({}));
}

TEST(Store, WritesAllOrNothing)
{
	std::vector<std::byte> bytes(5);
	EXPECT_TRUE(store(bytes, 1, Word{1, 2, 3, 4}));
	EXPECT_EQ(load<Word>(bytes, 1), (Word{1, 2, 3, 4}));
	EXPECT_FALSE(store(bytes, 2, Word{9, 9, 9, 9}));
	EXPECT_FALSE(store(bytes, 6, Word{9, 9, 9, 9}));
	EXPECT_FALSE(store(bytes, std::numeric_limits<std::size_t>::max(), Word{9, 9, 9, 9}));
	EXPECT_EQ(load<Word>(bytes, 1), (Word{1, 2, 3, 4}));
}

} // namespace
} // namespace smc
