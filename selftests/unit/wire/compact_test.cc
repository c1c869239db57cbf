// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "core/wire/compact.hpp"

namespace smc::wire {
namespace {

TEST(CompactTest, Layout)
{
	EXPECT_EQ(encode(Compact{}), 0u);
	EXPECT_EQ(encode(Compact{.slot = 0xa5}), 0xa5000000u);
	EXPECT_EQ(encode(Compact{.wrapped = true}), 0x00800000u);
	EXPECT_EQ(encode(Compact{.write_blocked = true}), 0x00400000u);
	EXPECT_EQ(encode(Compact{.consumed_bytes = kCompactConsumedMaxBytes}), 0x003fffffu);
	EXPECT_EQ(encode(Compact{.slot = 1, .wrapped = true, .consumed_bytes = 64}), 0x01800040u);
}

TEST(CompactTest, EveryBitCountsOnce)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		const std::uint32_t immediate = 1U << bit;

		EXPECT_EQ(encode(decode_compact(immediate)), immediate);
		EXPECT_EQ(encode(decode_compact(~immediate)), ~immediate);
	}
}

} // namespace
} // namespace smc::wire
