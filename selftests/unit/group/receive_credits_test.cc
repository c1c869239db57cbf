// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "core/group/receive_credits.hpp"

namespace smc::group {
namespace {

constexpr std::uint32_t kReceives = 64;
constexpr std::uint32_t kRepostBatch = 8;

// One end of a queue pair: what it has posted is on its way, in order; receives come back in
// batches, and some are kept for a while.
struct Side {
	ReceiveCredits credits;
	std::deque<std::optional<std::uint32_t>>
		wire; // to the other one; with a count: announcements
	std::uint32_t receives = kReceives;
	std::uint32_t reposts = 0;
	std::uint32_t kept = 0;
	std::uint64_t data_sent = 0;

	void announce()
	{
		wire.push_back(credits.taken());
		credits.announced();
	}
	void give_back()
	{
		if (++reposts == kRepostBatch) {
			receives += reposts;
			reposts = 0;
		}
		credits.took();
		if (credits.announcement_due())
			announce();
	}
};

// The next message from @from arrives. False: it finds no receive, or says what cannot be.
[[nodiscard]] bool deliver(Side &from, Side &to, bool keep)
{
	const auto message = from.wire.front();

	from.wire.pop_front();
	if (to.receives == 0 || (message && !to.credits.heard(*message)))
		return false;
	to.receives--;
	if (!message && keep)
		to.kept++;
	else
		to.give_back();
	return true;
}

TEST(ReceiveCreditsTest, EachMessageFindsAReceiveAndNobodyWaitsForEver)
{
	for (unsigned seed = 0; seed < 200; seed++) {
		std::mt19937 random(seed);
		Side sides[2];
		// Now and then one of them does nothing for a long time.
		for (int step = 0; step < 5000; step++) {
			const unsigned busy = (random() % 200 == 0) ? 0 : 1;
			Side &one = sides[random() % 2];
			Side &other = &one == &sides[0] ? sides[1] : sides[0];

			for (unsigned i = random() % 60; busy && i > 0; i--) {
				const bool control = random() % 4 == 0;

				if (control ? one.credits.may_send_control()
					    : one.credits.may_send_data()) {
					one.wire.push_back(std::nullopt);
					one.credits.sent();
					one.data_sent++;
				}
			}
			ASSERT_LE(one.credits.under_way(), ReceiveCredits::kUnderWayMax);
			for (unsigned i = random() % 60; i > 0 && !one.wire.empty(); i--)
				ASSERT_TRUE(
					deliver(one, other, other.kept < 4 && random() % 8 == 0))
					<< "seed " << seed;
			if (random() % 3 == 0 && other.kept != 0) {
				other.kept--;
				other.give_back();
			}
		}
		while (!sides[0].wire.empty() || !sides[1].wire.empty()) {
			for (int i = 0; i < 2; i++) {
				if (sides[i].wire.empty())
					continue;
				ASSERT_TRUE(deliver(sides[i], sides[1 - i], false))
					<< "seed " << seed;
			}
		}
		for (const Side &side : sides) {
			EXPECT_TRUE(side.credits.may_send_data()) << "seed " << seed;
			EXPECT_GT(side.data_sent, 1000u);
		}
	}
}

TEST(ReceiveCreditsTest, TheLimits)
{
	ReceiveCredits credits;

	for (std::uint32_t i = 0; i < ReceiveCredits::kDataMax; i++) {
		EXPECT_TRUE(credits.may_send_data());
		credits.sent();
	}
	EXPECT_FALSE(credits.may_send_data());
	EXPECT_TRUE(credits.may_send_control());
	while (credits.under_way() < ReceiveCredits::kControlMax)
		credits.sent();
	EXPECT_FALSE(credits.may_send_control());
	EXPECT_TRUE(credits.heard(9));
	EXPECT_TRUE(credits.may_send_data());
}

TEST(ReceiveCreditsTest, WhatCannotBeIsNotBelieved)
{
	ReceiveCredits credits;

	credits.sent();
	credits.sent();
	EXPECT_FALSE(credits.heard(3));
	EXPECT_TRUE(credits.heard(2));
	EXPECT_FALSE(credits.heard(1)); // backwards
	EXPECT_FALSE(credits.heard(0x80000000));
	EXPECT_EQ(credits.under_way(), 0u);
}

} // namespace
} // namespace smc::group
