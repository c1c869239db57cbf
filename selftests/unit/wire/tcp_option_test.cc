// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/tcp_option.hpp"

#include <gtest/gtest.h>

#include "wire/golden.hpp"
#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using testing::Bytes;
using testing::first;
using testing::hex;

TEST(TcpOption, IsEncodedAsLinuxDoes)
{
	Bytes out(kTcpOptionPaddedSize);
	EXPECT_EQ(encode_tcp_option(out), 8U);
	EXPECT_EQ(out, hex("0101fe06e2d4c3d9"));
}

TEST(TcpOption, NeedsRoom)
{
	for (std::size_t size = 0; size < kTcpOptionPaddedSize; size++) {
		Bytes out(size);
		EXPECT_EQ(encode_tcp_option(out), 0U);
		EXPECT_EQ(out, Bytes(size));
	}
}

TEST(TcpOption, IsFoundInLinuxsOwnPackets)
{
	EXPECT_EQ(find_tcp_option(hex(golden::kSynOptions)), 22U);
	EXPECT_EQ(find_tcp_option(hex(golden::kSynAckOptions)), 22U);
}

TEST(TcpOption, IsNotFoundInAnyTruncatedBlock)
{
	const Bytes whole = hex(golden::kSynOptions);
	for (std::size_t size = 0; size < whole.size(); size++)
		EXPECT_FALSE(find_tcp_option(first(whole, size))) << size;
}

TEST(TcpOption, IsFoundAnywhere)
{
	EXPECT_EQ(find_tcp_option(hex("fe06e2d4c3d9")), 0U);
	EXPECT_EQ(find_tcp_option(hex("fe06e2d4c3d900")), 0U);
	EXPECT_EQ(find_tcp_option(hex("01 fe04f989 fe06e2d4c3d9 01")), 5U);
	EXPECT_EQ(find_tcp_option(hex("fe08e2d4c3d90000")), 0U);
}

TEST(TcpOption, IsNothingElse)
{
	EXPECT_FALSE(find_tcp_option({}));
	EXPECT_FALSE(find_tcp_option(hex("01010101")));
	EXPECT_FALSE(find_tcp_option(hex("00 fe06e2d4c3d9"))); // behind the end of the list
	EXPECT_FALSE(find_tcp_option(hex("fd06e2d4c3d9")));
	EXPECT_FALSE(find_tcp_option(hex("fe06e2d4c3d8")));
	EXPECT_FALSE(find_tcp_option(hex("fe07e2d4c3d900"))); // odd length
	EXPECT_FALSE(find_tcp_option(hex("fe04e2d4")));
	EXPECT_FALSE(find_tcp_option(hex("fe04e2d4c3d9")));
}

TEST(TcpOption, SignaturesAreSeen)
{
	EXPECT_TRUE(has_tcp_signature(hex("1312 00000000000000000000000000000000")));
	EXPECT_TRUE(has_tcp_signature(hex("020405b4 0101 1d10 0101 000000000000000000000000")));
	EXPECT_FALSE(has_tcp_signature({}));
	EXPECT_FALSE(has_tcp_signature(hex(golden::kSynOptions)));
	EXPECT_FALSE(has_tcp_signature(hex("fe06131d1313"))); // in the middle of another option
	EXPECT_FALSE(has_tcp_signature(hex("00 1312")));      // behind the end of the list
	EXPECT_FALSE(has_tcp_signature(hex("1313 00")));      // longer than the block
}

TEST(TcpOption, MalformedBlocksEnd)
{
	EXPECT_FALSE(find_tcp_option(hex("02")));
	EXPECT_FALSE(find_tcp_option(hex("0200 fe06e2d4c3d9"))); // would loop for ever
	EXPECT_FALSE(find_tcp_option(hex("0201 fe06e2d4c3d9")));
	EXPECT_FALSE(find_tcp_option(hex("02ff fe06e2d4c3d9")));
	EXPECT_FALSE(find_tcp_option(hex("fe06e2d4c3")));
}

} // namespace
} // namespace smc::wire
