// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/rtoken_table.hpp"

#include <gtest/gtest.h>

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

private:
	std::unique_ptr<RtokenTable> table_ = std::make_unique<RtokenTable>();
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
	RtokenSet removed;

	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
	EXPECT_EQ(table().size(), 0U);
	const auto index = table().confirm(0, token_of(5));
	ASSERT_TRUE(index);
	EXPECT_EQ(table().acquire_known(0, token_of(5)), index);
	EXPECT_EQ(table().acquire_known(0, token_of(5, 0x2000)), std::nullopt);
	EXPECT_EQ(table().acquire_known(1, token_of(5)), std::nullopt);
	EXPECT_TRUE(table().remove(0, wire::Rkey{5}, removed));
	EXPECT_TRUE(removed.contains(*index)); // it has a user
	EXPECT_EQ(table().acquire_known(0, token_of(5)), std::nullopt);
}

TEST_F(RtokenTableTest, DeletedUnderAConnection)
{
	const auto index = table().acquire(0, token_of(5));
	RtokenSet removed;

	ASSERT_TRUE(index);
	EXPECT_TRUE(table().remove(0, wire::Rkey{5}, removed));
	EXPECT_TRUE(removed.contains(*index));
	EXPECT_EQ(table().at(*index, 0), std::nullopt);
	// Nobody else gets the entry, not even the same RMB if it comes back.
	const auto other = table().acquire(0, token_of(5));
	EXPECT_NE(other, index);
	table().release(*index);
	EXPECT_EQ(table().confirm(0, token_of(6)), index);
}

TEST_F(RtokenTableTest, DeletedWithoutUsersIsFree)
{
	const auto index = table().confirm(0, token_of(5));
	RtokenSet removed;

	ASSERT_TRUE(index);
	EXPECT_TRUE(table().remove(0, wire::Rkey{5}, removed));
	EXPECT_TRUE(removed.empty());
	EXPECT_EQ(table().size(), 0U);
	EXPECT_FALSE(table().remove(0, wire::Rkey{5}, removed));
}

TEST_F(RtokenTableTest, RemoveLooksAtTheReceivingLinkOnly)
{
	const auto index = table().confirm(0, token_of(5));
	RtokenSet removed;

	ASSERT_TRUE(index);
	table().set(*index, 1, token_of(9));
	EXPECT_FALSE(table().remove(1, wire::Rkey{5}, removed));
	EXPECT_TRUE(table().remove(1, wire::Rkey{9}, removed));
	EXPECT_EQ(table().at(*index, 0), std::nullopt);
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

// What only an Accept or Confirm told can make room; what CONFIRM_RKEY told cannot.
TEST_F(RtokenTableTest, FullOfLeftovers)
{
	for (std::uint32_t rkey = 0; rkey < kRtokensMax - 1; rkey++)
		ASSERT_TRUE(table().confirm(0, token_of(rkey)));
	const auto leftover = table().acquire(0, token_of(500));
	ASSERT_TRUE(leftover);
	EXPECT_FALSE(table().acquire(0, token_of(501)));
	table().release(*leftover);
	EXPECT_EQ(table().acquire(0, token_of(501)), leftover);
	EXPECT_FALSE(table().confirm(0, token_of(502)));
}

TEST_F(RtokenTableTest, LinkLost)
{
	const auto both = table().acquire(0, token_of(5));
	const auto one = table().acquire(0, token_of(6));

	ASSERT_TRUE(both);
	ASSERT_TRUE(one);
	table().set(*both, 1, token_of(9));
	table().forget_link(0);
	EXPECT_EQ(table().at(*both, 0), std::nullopt);
	EXPECT_EQ(table().at(*both, 1), token_of(9));
	EXPECT_EQ(table().at(*one, 0), std::nullopt);
	table().release(*one);
	EXPECT_EQ(table().size(), 1U);
}

} // namespace
} // namespace smc::group
