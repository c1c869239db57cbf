// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/rtoken_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace smc::group {
namespace {

wire::RemoteToken token_of(std::uint32_t rkey, std::uint64_t address = 0x1000)
{
	return {wire::Rkey{rkey}, address};
}

TEST(RtokenSet, HoldsWhatWasInserted)
{
	RtokenSet a;
	RtokenSet b;

	EXPECT_TRUE(a.empty());
	for (const RtokenIndex index : {0, 63, 64})
		a.insert(index);
	b.insert(RtokenIndex{254});
	EXPECT_NE(a, b);
	b.insert(a);
	for (unsigned index = 0; index < kRtokensMax; index++) {
		const bool in_a = index == 0 || index == 63 || index == 64;
		EXPECT_EQ(a.contains(static_cast<RtokenIndex>(index)), in_a);
		EXPECT_EQ(b.contains(static_cast<RtokenIndex>(index)), in_a || index == 254);
	}
}

class RtokenTableTest : public testing::Test {
protected:
	RtokenTable &table() { return *table_; }
	// Whether the RMB was known.
	bool remove(LinkIndex link, std::uint32_t rkey)
	{
		const std::array<wire::Rkey, 1> rkeys = {wire::Rkey{rkey}};
		const RtokenTable::Removed removed = table().remove(link, rkeys);

		in_use_ = removed.in_use;
		return removed.places.contains(0);
	}
	// Of the last call of remove().
	[[nodiscard]] const RtokenSet &in_use() const { return in_use_; }

private:
	std::unique_ptr<RtokenTable> table_ = std::make_unique<RtokenTable>();
	RtokenSet in_use_;
};

TEST_F(RtokenTableTest, SameRmbIsOneEntry)
{
	const auto confirmed = table().confirm(0, token_of(5));
	const auto acquired = table().acquire(0, token_of(5));
	const auto again = table().acquire(0, token_of(5));

	ASSERT_TRUE(confirmed);
	EXPECT_EQ(acquired, confirmed);
	EXPECT_EQ(again, confirmed);
	EXPECT_EQ(table().size(), 1U);
	EXPECT_EQ(table().at(*confirmed, 0), token_of(5));
	EXPECT_EQ(table().at(*confirmed, 1), std::nullopt);
}

TEST_F(RtokenTableTest, OtherAddressOrLinkIsAnotherRmb)
{
	const auto one = table().acquire(0, token_of(5, 0x1000));
	const auto two = table().acquire(0, token_of(5, 0x2000));
	const auto three = table().acquire(1, token_of(5, 0x1000));

	EXPECT_NE(one, two);
	EXPECT_NE(one, three);
	EXPECT_EQ(table().size(), 3U);
}

TEST_F(RtokenTableTest, KnownOnesAreThoseThatWereToldOf)
{
	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
	EXPECT_EQ(table().size(), 0U);
	const auto index = table().confirm(0, token_of(5));
	ASSERT_TRUE(index);
	EXPECT_EQ(table().acquire_known(0, token_of(5)), index);
	EXPECT_EQ(table().acquire_known(0, token_of(5, 0x2000)), std::nullopt);
	EXPECT_EQ(table().acquire_known(1, token_of(5)), std::nullopt);
	EXPECT_TRUE(remove(0, 5));
	EXPECT_TRUE(in_use().contains(*index)); // it has a user
	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
}

TEST_F(RtokenTableTest, DeletedUnderAConnection)
{
	const auto index = table().acquire(0, token_of(5));

	ASSERT_TRUE(index);
	EXPECT_TRUE(remove(0, 5));
	EXPECT_TRUE(in_use().contains(*index));
	EXPECT_EQ(table().at(*index, 0), std::nullopt);
	// The entry stays reserved, also from the same RMB when it is announced again.
	const auto other = table().acquire(0, token_of(5));
	EXPECT_NE(other, index);
	table().release(*index);
	EXPECT_EQ(table().confirm(0, token_of(6)), index);
}

TEST_F(RtokenTableTest, DeletedWithoutUsersIsFree)
{
	const auto index = table().confirm(0, token_of(5));

	ASSERT_TRUE(index);
	EXPECT_TRUE(remove(0, 5));
	EXPECT_TRUE(in_use().empty());
	EXPECT_EQ(table().size(), 0U);
	EXPECT_FALSE(remove(0, 5));
}

TEST_F(RtokenTableTest, RemoveLooksAtTheReceivingLinkOnly)
{
	const auto index = table().confirm(0, token_of(5));

	ASSERT_TRUE(index);
	table().set(*index, 1, token_of(9));
	EXPECT_FALSE(remove(1, 5));
	EXPECT_TRUE(remove(1, 9));
	EXPECT_EQ(table().at(*index, 0), std::nullopt);
}

TEST_F(RtokenTableTest, RemovesSeveral)
{
	const std::array<wire::Rkey, 4> rkeys = {wire::Rkey{2}, wire::Rkey{5}, wire::Rkey{7},
						 wire::Rkey{9}};

	// Two RMBs with one rkey: both are removed.
	for (const auto &token : {token_of(9), token_of(5, 0x1000), token_of(5, 0x2000)})
		ASSERT_TRUE(table().acquire(0, token));
	ASSERT_TRUE(table().confirm(0, token_of(6)));
	const RtokenTable::Removed removed = table().remove(0, rkeys);
	for (const RtokenIndex place : {0, 1, 2, 3})
		EXPECT_EQ(removed.places.contains(place), place == 1 || place == 3) << int{place};
	for (const RtokenIndex index : {0, 1, 2, 3})
		EXPECT_EQ(table().at(index, 0).has_value(), index == 3) << int{index};
	EXPECT_TRUE(removed.in_use.contains(0) && removed.in_use.contains(1) &&
		    removed.in_use.contains(2));
	EXPECT_FALSE(removed.in_use.contains(3));
}

TEST_F(RtokenTableTest, StaysWhenItsUserGoes)
{
	const auto index = table().acquire(0, token_of(5));

	ASSERT_TRUE(index);
	table().release(*index);
	EXPECT_EQ(table().at(*index, 0), token_of(5));
	EXPECT_EQ(table().acquire(0, token_of(5)), index);
}

TEST_F(RtokenTableTest, FullOfUsers)
{
	for (std::uint32_t rkey = 0; rkey < kRtokensMax; rkey++)
		ASSERT_TRUE(table().acquire(0, token_of(rkey)));
	EXPECT_FALSE(table().acquire(0, token_of(1000)));
	EXPECT_FALSE(table().confirm(0, token_of(1000)));
	EXPECT_TRUE(table().acquire(0, token_of(77))); // known
	EXPECT_EQ(table().size(), kRtokensMax);
}

// Unused entries make room, first those that only an Accept or Confirm named.
TEST_F(RtokenTableTest, FullOfLeftovers)
{
	const auto idle = table().confirm(0, token_of(0));
	for (std::uint32_t rkey = 1; rkey < kRtokensMax - 1; rkey++)
		ASSERT_TRUE(table().acquire(0, token_of(rkey)));
	const auto leftover = table().acquire(0, token_of(500));
	ASSERT_TRUE(idle);
	ASSERT_TRUE(leftover);
	table().release(*leftover);
	EXPECT_EQ(table().acquire(0, token_of(501)), leftover);
	EXPECT_EQ(table().confirm(0, token_of(502)), idle);
	EXPECT_TRUE(table().acquire(0, token_of(502)));
	EXPECT_FALSE(table().confirm(0, token_of(503)));
}

// The entry of a connection that is being set up is removed last.
TEST_F(RtokenTableTest, FullOfLeftoversTheOldestGoes)
{
	for (std::uint32_t rkey = 0; rkey < kRtokensMax; rkey++)
		ASSERT_TRUE(table().confirm(0, token_of(rkey)));
	const auto renewed = table().confirm(0, token_of(0));
	const auto first = table().confirm(0, token_of(1000));
	const auto second = table().confirm(0, token_of(1001));

	EXPECT_EQ(table().acquire(0, token_of(0)), renewed);
	EXPECT_NE(first, renewed);
	EXPECT_NE(second, renewed);
	EXPECT_NE(second, first);
	EXPECT_EQ(table().acquire(0, token_of(1000)), first);
}

// A peer whose connections want another size now keeps its unused RMBs.
TEST_F(RtokenTableTest, FullOfAnotherSize)
{
	for (std::uint32_t rkey = 0; rkey < 2 * kRtokensMax; rkey++) {
		const auto index = table().confirm(0, token_of(rkey));

		ASSERT_TRUE(index) << rkey;
		EXPECT_EQ(table().acquire(0, token_of(rkey)), index);
		if (rkey < kRtokensMax)
			table().release(*index);
	}
	EXPECT_FALSE(table().confirm(0, token_of(2 * kRtokensMax)));
}

TEST_F(RtokenTableTest, LinkLost)
{
	const auto both = table().acquire(0, token_of(5));
	const auto one = table().acquire(0, token_of(6));

	ASSERT_TRUE(both);
	ASSERT_TRUE(one);
	table().set(*both, 1, token_of(9));
	table().lose_link(0);
	EXPECT_EQ(table().at(*both, 0), std::nullopt);
	EXPECT_EQ(table().at(*both, 1), token_of(9));
	EXPECT_EQ(table().at(*one, 0), std::nullopt);
	table().release(*one);
	EXPECT_EQ(table().size(), 1U);
}

// A Confirm may be under way that names an RMB by its rkey there.
TEST_F(RtokenTableTest, RkeysOfALostLinkNameTheirRmbsUntilItIsReplaced)
{
	const auto both = table().confirm(0, token_of(5));

	ASSERT_TRUE(both);
	table().set(*both, 1, token_of(9));
	ASSERT_TRUE(table().confirm(0, token_of(6)));
	table().lose_link(0);
	EXPECT_EQ(table().acquire_known(0, token_of(5)), both);
	// Out of reach with the link, so it is gone.
	EXPECT_EQ(table().acquire_known(0, token_of(6)), std::nullopt);
	table().replace_link(0);
	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
	EXPECT_EQ(table().acquire_known(1, token_of(9)), both);
}

TEST_F(RtokenTableTest, TheSecondLossTakesWhatTheFirstOneLeft)
{
	const auto both = table().confirm(0, token_of(5));

	ASSERT_TRUE(both);
	table().set(*both, 1, token_of(9));
	table().lose_link(0);
	table().lose_link(1);
	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
	EXPECT_EQ(table().size(), 0U);
}

} // namespace
} // namespace smc::group
