// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/peer_rules.hpp"

#include <gtest/gtest.h>

namespace smc::control {
namespace {

using Added = PeerRules::Added;
using Address = std::array<std::uint8_t, 16>;

Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d)
{
	return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

PeerRule deny(const Address &address, unsigned prefix_bits)
{
	return {.address = address, .prefix_bits = static_cast<std::uint8_t>(prefix_bits)};
}

TEST(PeerRulesTest, AllowsAllWithoutARule)
{
	const PeerRules rules;

	EXPECT_TRUE(rules.allow({true, v4(10, 0, 0, 1), 80}));
	EXPECT_TRUE(rules.allow({false, v4(10, 0, 0, 1), 80}));
}

TEST(PeerRulesTest, MatchesAPrefixToTheBit)
{
	for (unsigned bits = 96; bits <= 128; bits++) {
		PeerRules rules;
		const unsigned host_bits = 128 - bits;
		Address first = v4(10, 85, 170, 204);
		for (unsigned bit = bits; bit < 128; bit++)
			first[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> bit % 8));
		ASSERT_EQ(rules.add(deny(first, bits)), Added::kYes) << bits;

		Address last = first;
		for (unsigned bit = bits; bit < 128; bit++)
			last[bit / 8] |= static_cast<std::uint8_t>(0x80U >> bit % 8);
		EXPECT_FALSE(rules.allow({true, first, 80})) << host_bits;
		EXPECT_FALSE(rules.allow({true, last, 80})) << host_bits;
		Address other = first;
		other[(bits - 1) / 8] ^= static_cast<std::uint8_t>(0x80U >> (bits - 1) % 8);
		EXPECT_TRUE(rules.allow({true, other, 80})) << host_bits;
	}
}

TEST(PeerRulesTest, NoBitsAreEveryAddress)
{
	PeerRules rules;

	ASSERT_EQ(rules.add(deny({}, 0)), Added::kYes);
	EXPECT_FALSE(rules.allow({true, v4(10, 0, 0, 1), 80}));
	EXPECT_FALSE(rules.allow({true, {0x20, 0x01, 0x0d, 0xb8}, 80}));
}

TEST(PeerRulesTest, MatchesPortsAndDirection)
{
	PeerRules rules;

	ASSERT_EQ(rules.add({.out = true, .in = false, .port_first = 80, .port_last = 90}),
		  Added::kYes);
	for (const std::uint16_t port : {80, 85, 90}) {
		EXPECT_FALSE(rules.allow({true, {}, port}));
		EXPECT_TRUE(rules.allow({false, {}, port}));
	}
	EXPECT_TRUE(rules.allow({true, {}, 79}));
	EXPECT_TRUE(rules.allow({true, {}, 91}));
	rules.clear();
	ASSERT_EQ(rules.add({.out = false, .in = true}), Added::kYes);
	EXPECT_TRUE(rules.allow({true, {}, 80}));
	EXPECT_FALSE(rules.allow({false, {}, 80}));
}

TEST(PeerRulesTest, TheFirstRuleThatMatchesDecides)
{
	PeerRules rules;

	ASSERT_EQ(rules.add({.allow = true, .address = v4(10, 0, 0, 0), .prefix_bits = 104}),
		  Added::kYes);
	ASSERT_EQ(rules.add(deny({}, 0)), Added::kYes);
	EXPECT_TRUE(rules.allow({true, v4(10, 1, 2, 3), 80}));
	EXPECT_FALSE(rules.allow({true, v4(11, 1, 2, 3), 80}));
	EXPECT_TRUE(rules.remove(deny({}, 0)));
	EXPECT_FALSE(rules.remove(deny({}, 0)));
	EXPECT_TRUE(rules.allow({true, v4(11, 1, 2, 3), 80}));
}

TEST(PeerRulesTest, RefusesWhatMakesNoSense)
{
	PeerRules rules;

	EXPECT_EQ(rules.add({.out = false, .in = false}), Added::kInvalid);
	EXPECT_EQ(rules.add({.port_first = 81, .port_last = 80}), Added::kInvalid);
	EXPECT_EQ(rules.add(deny(v4(10, 0, 0, 1), 127)), Added::kInvalid);
	EXPECT_EQ(rules.add(deny(v4(10, 0, 0, 1), 0)), Added::kInvalid);
	EXPECT_EQ(rules.add(deny(v4(10, 0, 0, 1), 129)), Added::kInvalid);
	EXPECT_EQ(rules.size(), 0U);
}

TEST(PeerRulesTest, HasRoomForSoMany)
{
	PeerRules rules;

	for (std::size_t i = 0; i < PeerRules::kCapacity; i++) {
		const auto last = static_cast<std::uint8_t>(i);

		EXPECT_EQ(rules.add(deny(v4(10, 0, 0, last), 128)), Added::kYes);
		EXPECT_EQ(rules.add(deny(v4(10, 0, 0, last), 128)), Added::kExists);
	}
	EXPECT_EQ(rules.add(deny({}, 0)), Added::kFull);
	EXPECT_EQ(rules.size(), PeerRules::kCapacity);
	EXPECT_EQ(rules.rule(3).address, v4(10, 0, 0, 3));
}

} // namespace
} // namespace smc::control
