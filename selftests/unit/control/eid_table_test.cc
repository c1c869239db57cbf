// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/eid_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace smc::control {
namespace {

Eid eid(std::string_view text)
{
	Eid result;
	result.fill(' ');
	std::copy(text.begin(), text.end(), result.begin());
	return result;
}

TEST(UeidTest, AcceptsWhatTheProtocolAllows)
{
	EXPECT_TRUE(is_valid_ueid(eid("A")));
	EXPECT_TRUE(is_valid_ueid(eid("7")));
	EXPECT_TRUE(is_valid_ueid(eid("SMCV2-TEST-UEID")));
	EXPECT_TRUE(is_valid_ueid(default_eid()));
	EXPECT_TRUE(is_valid_ueid(eid("A.B-C.9")));
	EXPECT_TRUE(is_valid_ueid(eid(std::string(32, 'Z'))));
}

TEST(UeidTest, RefusesTheRest)
{
	EXPECT_FALSE(is_valid_ueid(eid("")));
	EXPECT_FALSE(is_valid_ueid(eid(".A")));
	EXPECT_FALSE(is_valid_ueid(eid("-A")));
	EXPECT_FALSE(is_valid_ueid(eid(" A")));
	EXPECT_FALSE(is_valid_ueid(eid("A B")));
	EXPECT_FALSE(is_valid_ueid(eid("abc")));
	EXPECT_FALSE(is_valid_ueid(eid("A\t")));
	EXPECT_FALSE(is_valid_ueid(eid("A_B")));
	EXPECT_FALSE(is_valid_ueid(Eid{})); // NULs are no padding
	Eid nul_padded{};
	nul_padded[0] = 'A';
	EXPECT_FALSE(is_valid_ueid(nul_padded));
	EXPECT_FALSE(is_valid_ueid(eid("\xc0")));
}

TEST(EidTableTest, AddsUpToFour)
{
	EidTable table;
	EXPECT_EQ(table.add(eid("ONE")), EidTable::Added::kYes);
	EXPECT_EQ(table.add(eid("ONE")), EidTable::Added::kExists);
	EXPECT_EQ(table.add(eid("one")), EidTable::Added::kInvalid);
	EXPECT_EQ(table.add(eid("TWO")), EidTable::Added::kYes);
	EXPECT_EQ(table.add(eid("THREE")), EidTable::Added::kYes);
	EXPECT_EQ(table.add(eid("FOUR")), EidTable::Added::kYes);
	EXPECT_EQ(table.add(eid("FIVE")), EidTable::Added::kFull);
	EXPECT_EQ(table.add(eid("ONE")), EidTable::Added::kFull);
	EXPECT_EQ(table.add(eid("!")), EidTable::Added::kInvalid);
	EXPECT_EQ(table.size(), 4u);
}

TEST(EidTableTest, RemovesAndKeepsOrder)
{
	EidTable table;
	EXPECT_FALSE(table.remove(eid("ONE")));
	for (const char *name : {"ONE", "TWO", "THREE"})
		ASSERT_EQ(table.add(eid(name)), EidTable::Added::kYes);
	EXPECT_TRUE(table.remove(eid("TWO")));
	EXPECT_FALSE(table.remove(eid("TWO")));
	EXPECT_FALSE(table.contains(eid("TWO")));
	ASSERT_EQ(table.add(eid("TWO")), EidTable::Added::kYes);

	std::vector<Eid> order;
	std::uint64_t serial = 0;
	for (const EidTable::Row &row : table.rows()) {
		EXPECT_GT(row.serial, serial);
		serial = row.serial;
		order.push_back(row.eid);
	}
	EXPECT_EQ(order, (std::vector{eid("ONE"), eid("THREE"), eid("TWO")}));

	table.clear();
	EXPECT_EQ(table.size(), 0u);
	EXPECT_FALSE(table.contains(eid("ONE")));
	ASSERT_EQ(table.add(eid("ONE")), EidTable::Added::kYes);
	EXPECT_GT(table.rows()[0].serial, serial);
}

} // namespace
} // namespace smc::control
