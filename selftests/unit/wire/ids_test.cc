// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using testing::id_from_hex;

TEST(Ids, AreTypesOfTheirOwn)
{
	static_assert(!std::is_convertible_v<std::uint32_t, Qpn>);
	static_assert(!std::is_convertible_v<Qpn, std::uint32_t>);
	static_assert(!std::is_constructible_v<Psn, Qpn>);
	static_assert(!std::is_constructible_v<Token, Rkey>);
	static_assert(!std::is_constructible_v<PeerId, IsmGid>);
	static_assert(sizeof(PeerId) == 8 && sizeof(Gid) == 16 && sizeof(Mac) == 6);
	static_assert(sizeof(Eid) == 32 && alignof(Eid) == 1);
}

TEST(Ids, NumbersKeepToTheirWidth)
{
	EXPECT_EQ(Qpn{0x01234567}.value(), 0x234567U);
	EXPECT_EQ(Psn{0xffffffff}.value(), 0xffffffU);
	EXPECT_EQ(Rkey{0xffffffff}.value(), 0xffffffffU);
	EXPECT_EQ(IsmGid{~std::uint64_t{0}}.value(), ~std::uint64_t{0});
	EXPECT_TRUE(LinkId{}.is_zero());
	EXPECT_FALSE(LinkId{1}.is_zero());
}

TEST(Ids, Compare)
{
	EXPECT_EQ(Token{5}, Token{5});
	EXPECT_LT(Token{4}, Token{5});
	EXPECT_LT(id_from_hex<PeerId>("00000000000000ff"), id_from_hex<PeerId>("0100000000000000"));
	EXPECT_TRUE(Eid{}.is_zero());
	EXPECT_FALSE(id_from_hex<Mac>("000000000001").is_zero());
}

TEST(Ids, EmulatedDevicesHaveTheHighChids)
{
	EXPECT_FALSE(is_emulated(Chid{0xfeff}));
	EXPECT_TRUE(is_emulated(Chid{0xff00}));
	EXPECT_TRUE(is_emulated(Chid{0xffff}));
}

TEST(BufferSize, DoublesFrom16KiB)
{
	EXPECT_EQ(BufferSize{}.bytes(), 16384U);
	EXPECT_EQ(BufferSize{2}.bytes(), 65536U);
	EXPECT_EQ(BufferSize{15}.bytes(), 512U << 20);
	EXPECT_EQ(BufferSize{0x12}.code(), 2);
	EXPECT_LT(BufferSize{1}, BufferSize{2});
}

TEST(BufferSize, CoversWhatIsAskedFor)
{
	EXPECT_EQ(BufferSize::covering(0).code(), 0);
	EXPECT_EQ(BufferSize::covering(16384).code(), 0);
	EXPECT_EQ(BufferSize::covering(16385).code(), 1);
	EXPECT_EQ(BufferSize::covering(65536).code(), 2);
	EXPECT_EQ(BufferSize::covering(~std::uint64_t{0}).code(), 15);
}

TEST(QpMtu, KnowsFiveSizes)
{
	EXPECT_EQ(QpMtu{1}.bytes(), 256U);
	EXPECT_EQ(QpMtu{3}.bytes(), 1024U);
	EXPECT_EQ(QpMtu{5}.bytes(), 4096U);
	EXPECT_FALSE(QpMtu{}.is_known());
	EXPECT_EQ(QpMtu{0}.bytes(), 0U);
	EXPECT_EQ(QpMtu{6}.bytes(), 0U);
	EXPECT_EQ(QpMtu{0xf3}.code(), 3);
	EXPECT_LT(QpMtu{1}, QpMtu{5});
}

TEST(Gid, CarriesAnIpv4Address)
{
	const Gid gid = gid_from_ipv4({10, 9, 0, 2});
	EXPECT_EQ(gid, id_from_hex<Gid>("00000000000000000000ffff0a090002"));
	EXPECT_EQ(ipv4_from_gid(gid), (std::array<std::uint8_t, 4>{10, 9, 0, 2}));
	EXPECT_FALSE(ipv4_from_gid(id_from_hex<Gid>("fe80000000000000505400fffe000001")));
	EXPECT_FALSE(ipv4_from_gid(Gid{}));
}

} // namespace
} // namespace smc::wire
