// SPDX-License-Identifier: GPL-2.0-only
//
// How many link groups there may be, of each role. The kernel's memory for rings is a double.
#include "shell/transport/rdma/places.cc"

#include <gtest/gtest.h>

#include <vector>

#include "doubles/memory.hpp"
#include "doubles/net.hpp"

namespace {

u64 pressure_bytes;

} // namespace

u64 smc_ring_pressure_bytes()
{
	return pressure_bytes;
}

namespace smc::transport::rdma {
namespace {

using Taken = std::vector<Places::Place>;

group::TcpAddress address(u32 number)
{
	group::TcpAddress from{};

	for (std::size_t i = 0; i < sizeof(number); i++)
		from[from.size() - 1 - i] = static_cast<u8>(number >> (8 * i));
	return from;
}

class PlacesTest : public ::testing::TestWithParam<Places::Limits> {
protected:
	static constexpr u32 kPlenty = 10'000; // groups

	void SetUp() override { set_memory(kPlenty); }
	void TearDown() override { EXPECT_EQ(doubles::memory().allocated, 0); }

	static void set_memory(u64 groups) { pressure_bytes = groups * Places::kGroup_bytes; }

	// False if there is none left.
	bool take(Taken &taken, net &net, u32 from)
	{
		auto place = places_.take(&net, address(from));

		if (!place)
			return false;
		taken.push_back(std::move(place));
		return true;
	}
	// As many as there are, but fewer than @most; active at once.
	u32 fill(Taken &taken, net &net, u32 from, u32 most)
	{
		u32 count = 0;

		while (count < most && take(taken, net, from)) {
			taken.back().confirm();
			count++;
		}
		return count;
	}
	const Places::Limits limits_ = GetParam();
	Places places_{limits_};
	net here_;
	net beside_;
	net elsewhere_;
};

TEST_P(PlacesTest, FormingOnesOfOneAddress)
{
	Taken taken;

	for (u32 i = 0; i < limits_.forming_address; i++)
		EXPECT_TRUE(take(taken, here_, 1));
	EXPECT_FALSE(take(taken, here_, 1));
	EXPECT_EQ(here_.stats[SMC_STAT_FORMING_LIMITED], 1);
	EXPECT_EQ(here_.stats[SMC_STAT_GROUP_LIMITED], 0);
	EXPECT_TRUE(take(taken, here_, 2));
	EXPECT_TRUE(take(taken, beside_, 1));
	// One becomes active, one ends.
	taken[0].confirm();
	EXPECT_TRUE(take(taken, here_, 1));
	EXPECT_FALSE(take(taken, here_, 1));
	taken[1].give_back();
	EXPECT_TRUE(take(taken, here_, 1));
	EXPECT_FALSE(take(taken, here_, 1));
}

// Each address has one.
TEST_P(PlacesTest, FormingOnesOfANamespaceAndInAll)
{
	Taken taken;
	u32 from = 0;

	for (u32 i = 0; i < limits_.forming_namespace; i++)
		EXPECT_TRUE(take(taken, here_, from++));
	EXPECT_FALSE(take(taken, here_, from++));
	while (taken.size() < limits_.forming)
		ASSERT_TRUE(take(taken, beside_, from++));
	EXPECT_FALSE(take(taken, elsewhere_, from++));
	taken.pop_back();
	EXPECT_TRUE(take(taken, elsewhere_, from++));
	EXPECT_FALSE(take(taken, elsewhere_, from++));
	taken.clear();
	EXPECT_TRUE(take(taken, here_, from));
}

TEST_P(PlacesTest, ConnectionsJustifyMoreOfOneAddress)
{
	Taken taken;

	EXPECT_EQ(fill(taken, here_, 1, kPlenty), limits_.address);
	EXPECT_EQ(here_.stats[SMC_STAT_GROUP_LIMITED], 1);
	EXPECT_EQ(fill(taken, here_, 2, 1), 1U);
	for (u32 i = 0; i < Places::kConnectionsMin; i++)
		taken[0].join();
	EXPECT_EQ(fill(taken, here_, 1, kPlenty), 1U);
	taken[0].leave();
	taken.pop_back();
	EXPECT_EQ(fill(taken, here_, 1, kPlenty), 0U);
	// With a group go its connections.
	taken[0].join();
	EXPECT_EQ(fill(taken, here_, 1, kPlenty), 1U);
	taken[0].give_back();
	EXPECT_EQ(fill(taken, here_, 1, kPlenty), 0U);
}

// As many peers as memory allows, each with a group.
TEST_P(PlacesTest, MemoryBoundsAll)
{
	constexpr u32 kAll = 1000;
	Taken taken;
	u32 from = 0;

	set_memory(kAll);
	for (u32 i = 0; i < kAll - kAll / 4; i++)
		EXPECT_EQ(fill(taken, here_, from++, 1), 1U);
	EXPECT_EQ(fill(taken, here_, from++, 1), 0U);
	while (taken.size() < kAll)
		ASSERT_EQ(fill(taken, beside_, from++, 1), 1U);
	EXPECT_EQ(fill(taken, beside_, from++, 1), 0U);
	EXPECT_EQ(here_.stats[SMC_STAT_GROUP_LIMITED], 1);
	EXPECT_EQ(beside_.stats[SMC_STAT_GROUP_LIMITED], 1);
}

TEST_P(PlacesTest, IdleOnesEndInTime)
{
	Taken taken;

	fill(taken, here_, 1, limits_.address - limits_.address / 4 - 1);
	EXPECT_EQ(places_.crowd(&here_, address(1)), Places::Crowd::kNone);
	fill(taken, here_, 1, 1);
	EXPECT_EQ(places_.crowd(&here_, address(1)), Places::Crowd::kOfAddress);
	EXPECT_EQ(places_.crowd(&here_, address(2)), Places::Crowd::kNone);
	EXPECT_EQ(places_.crowd(&beside_, address(1)), Places::Crowd::kNone);
	set_memory(taken.size());
	EXPECT_EQ(places_.crowd(&here_, address(2)), Places::Crowd::kOfNamespace);
}

TEST_P(PlacesTest, WithoutMemoryThereIsNone)
{
	Taken taken;

	for (int left = 0; left < 2; left++) {
		doubles::memory().allocations_left = left;
		EXPECT_FALSE(take(taken, here_, 1));
	}
	doubles::memory().allocations_left = -1;
	EXPECT_TRUE(take(taken, here_, 1));
}

INSTANTIATE_TEST_SUITE_P(Roles, PlacesTest,
			 ::testing::Values(Places::kOfServers, Places::kOfClients));

} // namespace
} // namespace smc::transport::rdma
