// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/doubt.hpp"

#include <gtest/gtest.h>

namespace smc::group {
namespace {

TcpAddress address(std::uint8_t number)
{
	TcpAddress address{};

	address[15] = number;
	return address;
}

const TcpAddress founder = address(1);
const TcpAddress stranger = address(2);

// After so many handshakes, one after the other, that each leave an RMB in doubt, the peer is
// refused.
std::uint32_t tries(Doubt &doubt, const TcpAddress &from, std::uint32_t most = 1000)
{
	std::uint32_t count = 0;

	while (count < most && doubt.admits(from)) {
		doubt.begin(from);
		doubt.left_in_doubt(from);
		count++;
	}
	return count;
}

void complete(Doubt &doubt, const TcpAddress &from)
{
	doubt.begin(from);
	doubt.completed(from);
}

TEST(Doubt, StrangerHasAFewAndPaysAlone)
{
	Doubt doubt(founder);

	complete(doubt, founder);
	EXPECT_EQ(tries(doubt, stranger), Doubt::kStrangerMax);
	EXPECT_EQ(doubt.rmbs(), Doubt::kStrangerMax);
	EXPECT_FALSE(doubt.admits(stranger));
	EXPECT_TRUE(doubt.admits(founder));
	EXPECT_TRUE(doubt.admits(address(3)));
}

TEST(Doubt, ThePeerHasMore)
{
	Doubt doubt(founder);

	complete(doubt, address(3));
	EXPECT_EQ(tries(doubt, address(3)), Doubt::kOwnMax);
	EXPECT_TRUE(doubt.admits(stranger));
}

TEST(Doubt, HandshakesUnderWayCountForAStranger)
{
	Doubt doubt(founder);
	std::uint32_t count = 0;

	for (; count < 1000 && doubt.admits(stranger); count++)
		doubt.begin(stranger);
	EXPECT_EQ(count, Doubt::kStrangerMax);
	doubt.given_up(stranger);
	EXPECT_TRUE(doubt.admits(stranger));
	doubt.begin(stranger);
	doubt.left_in_doubt(stranger);
	EXPECT_FALSE(doubt.admits(stranger));
	// One of them was the peer itself after all.
	doubt.completed(stranger);
	EXPECT_TRUE(doubt.admits(stranger));
	EXPECT_EQ(doubt.rmbs(), 1U);
}

TEST(Doubt, StrangersTogetherAreBounded)
{
	Doubt doubt(founder);

	complete(doubt, founder);
	complete(doubt, address(200));
	for (std::uint8_t number = 2; number < 100; number++)
		(void)tries(doubt, address(number), 2);
	EXPECT_EQ(doubt.rmbs(), Doubt::kStrangersMax);
	EXPECT_FALSE(doubt.admits(address(101)));
	EXPECT_TRUE(doubt.admits(founder));
}

// After its handshake succeeded, the doubts that a stranger left count as the peer's own.
TEST(Doubt, WhatBecomesThePeersIsNoStrangersAnyMore)
{
	Doubt doubt(founder);

	for (std::uint8_t number = 2; number < 20; number++) {
		EXPECT_EQ(tries(doubt, address(number), Doubt::kStrangerMax - 1),
			  Doubt::kStrangerMax - 1);
		complete(doubt, address(number));
	}
	EXPECT_TRUE(doubt.admits(address(100)));
}

// A peer with more addresses than the table has places: none is refused, and no doubt is forgotten.
TEST(Doubt, ManyAddressesOfThePeer)
{
	Doubt doubt(founder);

	EXPECT_EQ(tries(doubt, stranger), Doubt::kStrangerMax);
	for (std::uint8_t number = 3; number < 250; number++) {
		ASSERT_TRUE(doubt.admits(address(number))) << unsigned{number};
		complete(doubt, address(number));
	}
	EXPECT_FALSE(doubt.admits(stranger));
	EXPECT_TRUE(doubt.admits(founder));
}

// As many handshakes at once as there are places: one without a place waits, the founder never
// does.
TEST(Doubt, NoPlaceLeft)
{
	Doubt doubt(founder);

	for (std::uint8_t number = 2; number < 2 + Doubt::kAddressesMax - 1; number++) {
		ASSERT_TRUE(doubt.admits(address(number)));
		doubt.begin(address(number));
	}
	EXPECT_FALSE(doubt.admits(address(200)));
	EXPECT_TRUE(doubt.admits(founder));
	doubt.given_up(address(5));
	EXPECT_TRUE(doubt.admits(address(200)));
	doubt.begin(address(200));
	EXPECT_FALSE(doubt.admits(address(201)));
}

} // namespace
} // namespace smc::group
