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
	struct Message {
		std::uint64_t seq;
		std::optional<wire::Credit> credit; // announcements
	};
	std::deque<Message> wire; // to the other one
	std::uint32_t receives = kReceives;
	std::uint32_t reposts = 0;
	std::uint32_t kept = 0;
	std::uint64_t seq = 0;
	std::uint64_t arrived_seq = 0; // at the other one
	std::uint64_t data_sent = 0;

	void send()
	{
		wire.push_back({++seq, std::nullopt});
		credits.sent(seq);
		data_sent++;
	}
	void announce_if_due()
	{
		if (!credits.announcement_due() && !credits.question_due())
			return;
		const wire::Credit credit = credits.announcement();

		wire.push_back({++seq, credit});
		credits.announced(credit, seq);
	}
	void repost()
	{
		if (++reposts == kRepostBatch) {
			receives += reposts;
			reposts = 0;
		}
	}
};

// The next message from @from arrives. False: it finds no receive, or says what cannot be.
[[nodiscard]] bool deliver(Side &from, Side &to, bool keep)
{
	const Side::Message message = from.wire.front();

	from.wire.pop_front();
	if (to.receives == 0 || (message.credit && !to.credits.heard(*message.credit)))
		return false;
	to.receives--;
	from.arrived_seq = message.seq;
	if (!message.credit && keep) {
		to.kept++;
		to.credits.kept();
		return true;
	}
	to.repost();
	to.credits.took();
	to.announce_if_due();
	return true;
}

void give_back(Side &side)
{
	side.kept--;
	side.repost();
	side.credits.gave_back();
	side.announce_if_due();
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
					    : one.credits.may_send_data())
					one.send();
			}
			if (random() % 3 == 0) {
				one.credits.await(one.seq);
				one.announce_if_due();
			}
			ASSERT_LE(one.credits.under_way(), ReceiveCredits::kUnderWayMax);
			for (unsigned i = random() % 60; i > 0 && !one.wire.empty(); i--)
				ASSERT_TRUE(
					deliver(one, other, other.kept < 4 && random() % 8 == 0))
					<< "seed " << seed;
			ASSERT_LE(one.credits.arrived_up_to(), one.arrived_seq) << "seed " << seed;
			if (random() % 3 == 0 && other.kept != 0)
				give_back(other);
		}
		while (!sides[0].wire.empty() || !sides[1].wire.empty()) {
			for (int i = 0; i < 2; i++) {
				if (sides[i].wire.empty())
					continue;
				ASSERT_TRUE(deliver(sides[i], sides[1 - i], false))
					<< "seed " << seed;
			}
		}
		for (Side &side : sides) {
			EXPECT_FALSE(side.credits.question_due()) << "seed " << seed;
			EXPECT_TRUE(side.credits.may_send_data()) << "seed " << seed;
			EXPECT_GT(side.data_sent, 1000u);
		}
	}
}

TEST(ReceiveCreditsTest, TheLimits)
{
	ReceiveCredits credits;
	std::uint64_t seq = 0;

	for (std::uint32_t i = 0; i < ReceiveCredits::kDataMax; i++) {
		EXPECT_TRUE(credits.may_send_data());
		credits.sent(++seq);
	}
	EXPECT_FALSE(credits.may_send_data());
	EXPECT_TRUE(credits.may_send_control());
	while (credits.under_way() < ReceiveCredits::kControlMax)
		credits.sent(++seq);
	EXPECT_FALSE(credits.may_send_control());
	EXPECT_TRUE(credits.heard({.taken = 9, .arrived = 9}));
	EXPECT_TRUE(credits.may_send_data());
}

TEST(ReceiveCreditsTest, WhatCannotBeIsNotBelieved)
{
	ReceiveCredits credits;

	credits.sent(1);
	credits.sent(2);
	EXPECT_FALSE(credits.heard({.taken = 3, .arrived = 3}));
	EXPECT_FALSE(credits.heard({.taken = 1, .arrived = 3}));
	EXPECT_FALSE(credits.heard({.taken = 2, .arrived = 1})); // taken, and has not come
	EXPECT_EQ(credits.arrived_up_to(), 0u);
	EXPECT_TRUE(credits.heard({.taken = 1, .arrived = 2}));
	EXPECT_FALSE(credits.heard({.taken = 0, .arrived = 2})); // backwards
	EXPECT_FALSE(credits.heard({.taken = 1, .arrived = 1}));
	EXPECT_FALSE(credits.heard({.taken = 0x80000000, .arrived = 0x80000000}));
	EXPECT_EQ(credits.under_way(), 1u);
	EXPECT_EQ(credits.arrived_up_to(), 2u);
}

// One at a time: the next one waits for the answer to the last one.
TEST(ReceiveCreditsTest, WhatHasArrivedIsAskedFor)
{
	Side one;
	Side other;

	one.send();
	one.send();
	one.announce_if_due();
	EXPECT_EQ(one.wire.size(), 2u);
	one.credits.await(2);
	one.announce_if_due();
	ASSERT_EQ(one.wire.size(), 3u);
	EXPECT_TRUE(one.wire.back().credit->question);
	one.send();
	one.credits.await(4);
	one.announce_if_due();
	EXPECT_EQ(one.wire.size(), 4u);
	// One of them keeps its receive: it has arrived all the same.
	ASSERT_TRUE(deliver(one, other, false) && deliver(one, other, true));
	EXPECT_TRUE(other.wire.empty());
	ASSERT_TRUE(deliver(one, other, false));
	ASSERT_EQ(other.wire.size(), 1u);
	EXPECT_EQ(*other.wire.front().credit, (wire::Credit{.taken = 2, .arrived = 3}));
	ASSERT_TRUE(deliver(other, one, false));
	EXPECT_EQ(one.credits.arrived_up_to(), 3u);
	// The answer has given its receive back, which is an occasion to ask again.
	EXPECT_TRUE(one.wire.back().credit && one.wire.back().credit->question);
}

} // namespace
} // namespace smc::group
