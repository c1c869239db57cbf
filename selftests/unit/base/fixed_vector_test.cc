// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/fixed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace smc {
namespace {

using Numbers = FixedVector<int, 3>;
using Owners = FixedVector<std::unique_ptr<int>, 3>;
using Texts = FixedVector<std::string, 3>;

template <class List>
std::vector<int> content(const List &list)
{
	return {list.begin(), list.end()};
}

TEST(FixedVector, StartsEmpty)
{
	const Numbers numbers;
	EXPECT_TRUE(numbers.empty());
	EXPECT_FALSE(numbers.full());
	EXPECT_EQ(numbers.size(), 0U);
	EXPECT_EQ(numbers.room(), 3U);
	EXPECT_EQ(Numbers::capacity(), 3U);
	EXPECT_EQ(numbers.begin(), numbers.end());
}

TEST(FixedVector, RefusesMoreThanItHolds)
{
	Numbers numbers;
	EXPECT_TRUE(numbers.push_back(1));
	EXPECT_TRUE(numbers.emplace_back(2));
	const int three = 3;
	EXPECT_TRUE(numbers.push_back(three));
	EXPECT_TRUE(numbers.full());
	EXPECT_FALSE(numbers.push_back(4));
	EXPECT_FALSE(numbers.emplace_back(4));
	EXPECT_EQ(content(numbers), (std::vector{1, 2, 3}));
	EXPECT_EQ(numbers.front(), 1);
	EXPECT_EQ(numbers.back(), 3);
	EXPECT_EQ(std::as_const(numbers).front(), 1);
	EXPECT_EQ(std::as_const(numbers).back(), 3);
	EXPECT_EQ(std::as_const(numbers)[1], 2);
	EXPECT_EQ(numbers.span().size(), 3U);
	EXPECT_EQ(std::as_const(numbers).span()[2], 3);
}

TEST(FixedVector, ErasesInOrder)
{
	Numbers numbers;
	for (const int i : {1, 2, 3})
		ASSERT_TRUE(numbers.push_back(i));
	numbers.erase(0);
	EXPECT_EQ(content(numbers), (std::vector{2, 3}));
	numbers.erase(1);
	EXPECT_EQ(content(numbers), (std::vector{2}));
	numbers.pop_back();
	EXPECT_TRUE(numbers.empty());
}

TEST(FixedVector, KeepsNothingOfARemovedValue)
{
	Numbers numbers;
	ASSERT_TRUE(numbers.push_back(42));
	numbers.clear();
	EXPECT_EQ(*numbers.data(), 0);
}

TEST(FixedVector, ComparesByContent)
{
	Numbers a;
	Numbers b;
	EXPECT_EQ(a, b);
	ASSERT_TRUE(a.push_back(1));
	EXPECT_NE(a, b);
	ASSERT_TRUE(b.push_back(2));
	EXPECT_NE(a, b);
	b[0] = 1;
	EXPECT_EQ(a, b);
}

TEST(FixedVector, OfPlainValuesIsPlain)
{
	static_assert(std::is_trivially_copyable_v<Numbers>);
	constexpr int sum = [] {
		Numbers numbers;
		(void)numbers.push_back(1);
		(void)numbers.emplace_back(2);
		numbers.erase(0);
		Numbers copy = numbers;
		int total = 0;
		for (const int number : copy)
			total += number;
		return total + (numbers == copy ? 10 : 0);
	}();
	static_assert(sum == 12);
}

TEST(FixedVector, HoldsWhatCanOnlyBeMoved)
{
	static_assert(!std::is_copy_constructible_v<Owners>);
	static_assert(std::is_nothrow_move_constructible_v<Owners>);
	Owners owners;
	for (const int i : {1, 2, 3})
		ASSERT_TRUE(owners.push_back(std::make_unique<int>(i)));
	auto fourth = std::make_unique<int>(4);
	EXPECT_FALSE(owners.push_back(std::move(fourth)));
	EXPECT_NE(fourth, nullptr);

	owners.erase(1);
	Owners moved = std::move(owners);
	ASSERT_EQ(moved.size(), 2U);
	EXPECT_EQ(*moved[0], 1);
	EXPECT_EQ(*std::as_const(moved)[1], 3);

	Owners assigned;
	ASSERT_TRUE(assigned.emplace_back(std::make_unique<int>(9)));
	assigned = std::move(moved);
	EXPECT_EQ(assigned.size(), 2U);
	Owners &itself = assigned;
	assigned = std::move(itself);
	EXPECT_EQ(assigned.size(), 2U);
	assigned.clear();
	EXPECT_TRUE(assigned.empty());
}

TEST(FixedVector, CopiesValuesThatOwnMemory)
{
	Texts texts;
	for (const char *text : {"a text that is too long for a small buffer", "b"})
		ASSERT_TRUE(texts.push_back(text));
	Texts copy = texts;
	EXPECT_EQ(copy, texts);
	copy[0] += "!";
	EXPECT_NE(copy, texts);
	copy = texts;
	EXPECT_EQ(copy, texts);
	const Texts &itself = copy;
	copy = itself;
	EXPECT_EQ(copy, texts);
	ASSERT_TRUE(copy.emplace_back(40, 'x'));
	EXPECT_EQ(copy.back(), std::string(40, 'x'));
}

TEST(FixedVectorDeathTest, ReadingBehindTheEndIsABug)
{
	Numbers numbers;
	EXPECT_DEATH((void)numbers[0], "");
	EXPECT_DEATH((void)std::as_const(numbers)[0], "");
	EXPECT_DEATH(numbers.pop_back(), "");
	EXPECT_DEATH(numbers.erase(0), "");
	EXPECT_DEATH((void)numbers.back(), "");
}

} // namespace
} // namespace smc
