// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/deletions.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace smc::transport::rdma {

// Slabs are told apart by their address alone.
class Slab {};

namespace {

std::array<Slab, Deletions::kMax + 1> slabs;

// All deletions that may be requested now.
std::vector<Deletions::Request> requests(Deletions &deletions)
{
	std::vector<Deletions::Request> all;
	std::size_t from = 0;

	while (const auto request = deletions.request(from)) {
		all.push_back(*request);
		from = request->next;
	}
	return all;
}

TEST(DeletionsTest, WhatThePeerDoesNotKnowIsOverAtOnce)
{
	Deletions deletions;
	ASSERT_TRUE(deletions.add(&slabs[0], /*told=*/false));
	EXPECT_TRUE(requests(deletions).empty());
	const auto over = deletions.take(/*all=*/false);
	ASSERT_TRUE(over);
	EXPECT_EQ(over->slab, &slabs[0]);
	EXPECT_TRUE(over->answered);
	EXPECT_FALSE(deletions.take(false));
	EXPECT_EQ(deletions.size(), 0u);
}

TEST(DeletionsTest, WaitsForTheAnswer)
{
	Deletions deletions;
	ASSERT_TRUE(deletions.add(&slabs[0], /*told=*/true));
	const auto asked = requests(deletions);
	ASSERT_EQ(asked.size(), 1u);
	EXPECT_EQ(asked[0].slab, &slabs[0]);
	EXPECT_TRUE(Deletions::has(asked[0].flow));
	EXPECT_FALSE(deletions.take(false));
	// Each is requested once.
	EXPECT_TRUE(requests(deletions).empty());
	deletions.on_done(asked[0].flow + 1, /*answered=*/true);
	EXPECT_FALSE(deletions.take(false));
	deletions.on_done(asked[0].flow, /*answered=*/true);
	const auto over = deletions.take(false);
	ASSERT_TRUE(over);
	EXPECT_TRUE(over->answered);
}

TEST(DeletionsTest, IsAskedForAgainAndThenGivenUp)
{
	Deletions deletions;
	ASSERT_TRUE(deletions.add(&slabs[0], true));
	group::FlowId last = 0;
	for (u32 i = 0; i < Deletions::kTries; i++) {
		EXPECT_FALSE(deletions.take(false)) << i;
		const auto asked = requests(deletions);
		ASSERT_EQ(asked.size(), 1u);
		EXPECT_NE(asked[0].flow, last);
		last = asked[0].flow;
		deletions.on_done(last, /*answered=*/false);
	}
	EXPECT_TRUE(requests(deletions).empty());
	const auto over = deletions.take(false);
	ASSERT_TRUE(over);
	EXPECT_FALSE(over->answered);
}

// The machine has room for so many requests; one that failed at once is not tried again next.
TEST(DeletionsTest, SoManyAtATime)
{
	Deletions deletions;
	for (std::size_t i = 0; i < Deletions::kMax; i++) {
		EXPECT_FALSE(deletions.full());
		ASSERT_TRUE(deletions.add(&slabs[i], true));
	}
	EXPECT_TRUE(deletions.full());
	EXPECT_FALSE(deletions.add(&slabs[Deletions::kMax], true));

	const auto first = deletions.request(0);
	ASSERT_TRUE(first);
	deletions.on_done(first->flow, false);
	const auto second = deletions.request(first->next);
	ASSERT_TRUE(second);
	EXPECT_EQ(second->slab, &slabs[1]);
	EXPECT_EQ(requests(deletions).size(), group::kDeletionsMax - 1);
	deletions.on_done(second->flow, true);
	EXPECT_EQ(requests(deletions).size(), 1u);
	EXPECT_EQ(deletions.size(), Deletions::kMax);
}

TEST(DeletionsTest, AllAreOverWithTheGroup)
{
	Deletions deletions;
	for (std::size_t i = 0; i < 2 * group::kDeletionsMax; i++)
		ASSERT_TRUE(deletions.add(&slabs[i], true));
	EXPECT_EQ(requests(deletions).size(), group::kDeletionsMax);
	std::size_t taken = 0;
	while (const auto over = deletions.take(/*all=*/true)) {
		EXPECT_EQ(over->slab, &slabs[taken]);
		EXPECT_TRUE(over->answered);
		taken++;
	}
	EXPECT_EQ(taken, 2 * group::kDeletionsMax);
	// None of them is left among the requested ones.
	for (std::size_t i = 0; i < group::kDeletionsMax; i++)
		ASSERT_TRUE(deletions.add(&slabs[i], true));
	EXPECT_EQ(requests(deletions).size(), group::kDeletionsMax);
}

} // namespace
} // namespace smc::transport::rdma
