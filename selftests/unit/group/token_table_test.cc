// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/token_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

namespace smc::group {
namespace {

using wire::Token;

TEST(TokenTable, FindsWhatWasInserted)
{
	TokenTable<int> table;
	int entry = 0;
	const auto token = table.insert(&entry, 0xabcdef);

	ASSERT_TRUE(token);
	EXPECT_EQ(token->value() >> 8, 0xabcdefU);
	EXPECT_EQ(table.find(*token), &entry);
	EXPECT_EQ(table.size(), 1U);
	EXPECT_FALSE(table.empty());
}

TEST(TokenTable, ComparesTheWholeToken)
{
	TokenTable<int> table;
	int entry = 0;
	const auto token = table.insert(&entry, 0xabcdef);

	ASSERT_TRUE(token);
	for (unsigned bit = 0; bit < 32; bit++)
		EXPECT_EQ(table.find(Token{token->value() ^ (1U << bit)}), nullptr) << bit;
}

TEST(TokenTable, IsNeverZero)
{
	TokenTable<int> table;
	int entry = 0;

	while (const auto token = table.insert(&entry, 0))
		EXPECT_FALSE(token->is_zero());
	EXPECT_TRUE(table.full());
	EXPECT_EQ(table.find(Token{0}), nullptr);
	EXPECT_EQ(table.erase(Token{0}), nullptr);
	for (std::uint32_t random = 0; random < 256; random++)
		EXPECT_EQ(table.find(Token{random << 8}), nullptr);
}

TEST(TokenTable, HoldsAllItsCapacityAndNoMore)
{
	TokenTable<int> table;
	std::array<int, TokenTable<int>::kCapacity> entries{};
	std::set<std::uint32_t> tokens;

	for (int &entry : entries) {
		const auto token = table.insert(&entry, 7);
		ASSERT_TRUE(token);
		tokens.insert(token->value());
	}
	EXPECT_EQ(tokens.size(), entries.size());
	EXPECT_FALSE(table.insert(entries.data(), 7));
	EXPECT_EQ(table.size(), 255U);

	std::size_t visited = 0;
	table.for_each([&](int &entry, Token token) {
		EXPECT_EQ(&entry, &entries[visited]);
		EXPECT_EQ(table.find(token), &entry);
		visited++;
	});
	EXPECT_EQ(visited, entries.size());
}

TEST(TokenTable, OldTokenDoesNotReachTheNextOwnerOfItsSlot)
{
	TokenTable<int> table;
	int first = 0;
	int second = 0;
	const auto old = table.insert(&first, 1);

	ASSERT_TRUE(old);
	EXPECT_EQ(table.erase(*old), &first);
	EXPECT_EQ(table.erase(*old), nullptr);
	EXPECT_TRUE(table.empty());
	const auto token = table.insert(&second, 2);
	ASSERT_TRUE(token);
	EXPECT_EQ(old->value() & 0xff, token->value() & 0xff);
	EXPECT_EQ(table.find(*old), nullptr);
	EXPECT_EQ(table.find(*token), &second);
}

// A message for a connection that has ended is late, not wrong.
TEST(TokenTable, KnowsTheLastOwnerOfASlot)
{
	TokenTable<int> table;
	int entry = 0;

	EXPECT_FALSE(table.is_past(Token{0}));
	const auto first = table.insert(&entry, 1);
	ASSERT_TRUE(first);
	const std::size_t slot = first->value() & 0xff;
	EXPECT_FALSE(table.is_past(*first));
	EXPECT_FALSE(table.is_retired(slot));
	table.retire(*first);
	EXPECT_TRUE(table.is_past(*first));
	EXPECT_TRUE(table.is_retired(slot));
	EXPECT_FALSE(table.is_past(Token{first->value() ^ 0x100U}));
	table.free_retired(slot);
	EXPECT_TRUE(table.is_past(*first));
	EXPECT_FALSE(table.is_retired(slot));
	const auto second = table.insert(&entry, 2);
	ASSERT_TRUE(second);
	EXPECT_TRUE(table.is_past(*first));
	EXPECT_FALSE(table.is_past(*second));
	table.erase(*second);
	EXPECT_FALSE(table.is_past(*first));
	EXPECT_TRUE(table.is_past(*second));
}

TEST(TokenTable, MayEraseWhileVisiting)
{
	TokenTable<int> table;
	std::array<int, 10> entries{};

	for (int &entry : entries)
		ASSERT_TRUE(table.insert(&entry, 3));
	table.for_each([&](int &, Token token) { EXPECT_NE(table.erase(token), nullptr); });
	EXPECT_TRUE(table.empty());
}

TEST(TokenTable, RetiredSlotsStayTaken)
{
	TokenTable<int> table;
	std::array<int, TokenTable<int>::kCapacity> entries{};
	std::vector<Token> tokens;

	for (int &entry : entries)
		tokens.push_back(*table.insert(&entry, 1));
	EXPECT_EQ(table.retire(tokens[7]), &entries[7]);
	EXPECT_EQ(table.retire(tokens[7]), nullptr);
	EXPECT_EQ(table.find(tokens[7]), nullptr);
	EXPECT_EQ(table.size(), TokenTable<int>::kCapacity - 1);
	EXPECT_EQ(table.retired(), 1U);
	EXPECT_TRUE(table.full());
	EXPECT_FALSE(table.insert(&entries[7], 2));
	table.free_retired(tokens[7].value() & 0xff);
	EXPECT_EQ(table.retired(), 0U);
	EXPECT_FALSE(table.full());
	const auto again = table.insert(&entries[7], 2);
	ASSERT_TRUE(again);
	EXPECT_EQ(again->value() & 0xff, tokens[7].value() & 0xff);
	EXPECT_NE(*again, tokens[7]);
}

} // namespace
} // namespace smc::group
