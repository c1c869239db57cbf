// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/endian.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <type_traits>

namespace smc {
namespace {

template <class Wire>
auto bytes_of(Wire wire)
{
	return std::bit_cast<std::array<std::uint8_t, sizeof(Wire)>>(wire);
}

TEST(WireInt, LiesMostSignificantByteFirst)
{
	EXPECT_EQ(bytes_of(Be16::from(0x0102)), (std::array<std::uint8_t, 2>{1, 2}));
	EXPECT_EQ(bytes_of(Be24::from(0x010203)), (std::array<std::uint8_t, 3>{1, 2, 3}));
	EXPECT_EQ(bytes_of(Be32::from(0x01020304)), (std::array<std::uint8_t, 4>{1, 2, 3, 4}));
	EXPECT_EQ(bytes_of(Be64::from(0x0102030405060708)),
		  (std::array<std::uint8_t, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(WireInt, HostOrderIsTheMachinesOwn)
{
	EXPECT_EQ(std::bit_cast<std::uint16_t>(Host16::from(0x0102)), 0x0102);
}

TEST(WireInt, ComesBack)
{
	EXPECT_EQ(Be16::from(0xfffe).get(), 0xfffe);
	EXPECT_EQ(Be24::from(0xfffefd).get(), 0xfffefdU);
	EXPECT_EQ(Be32::from(0xfffefdfc).get(), 0xfffefdfcU);
	EXPECT_EQ(Be64::from(0xfffefdfcfbfaf9f8).get(), 0xfffefdfcfbfaf9f8U);
	EXPECT_EQ(Host16::from(0xfffe).get(), 0xfffe);
	static_assert(Be32::from(7).get() == 7);
}

TEST(WireInt, DropsBitsAboveItsWidth)
{
	EXPECT_EQ(Be24::from(0xff000001).get(), 1U);
}

TEST(WireInt, IsNoInteger)
{
	static_assert(!std::is_convertible_v<Be16, int>);
	static_assert(!std::is_convertible_v<int, Be16>);
	static_assert(!std::is_constructible_v<Be16, int>);
	static_assert(alignof(Be64) == 1);
	Be32 a;
	EXPECT_EQ(a.get(), 0U);
	EXPECT_EQ(a, Be32::from(0));
	a.set(5);
	EXPECT_NE(a, Be32::from(0));
}

} // namespace
} // namespace smc
