// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace smc {
namespace {

enum class Trouble { kSmall, kLarge };

using Number = Result<int, Trouble>;
using Owner = Result<std::unique_ptr<int>, Trouble>;
using Done = Result<void, Trouble>;

TEST(Result, HoldsAValue)
{
	Number number = 5;
	ASSERT_TRUE(number);
	EXPECT_TRUE(number.has_value());
	EXPECT_EQ(*number, 5);
	*number = 6;
	EXPECT_EQ(number.value(), 6);
	EXPECT_EQ(number.take(), 6);
	EXPECT_EQ(number.value_or(1), 6);
}

TEST(Result, HoldsAnError)
{
	const Number number = fail(Trouble::kLarge);
	ASSERT_FALSE(number);
	EXPECT_EQ(number.error(), Trouble::kLarge);
	EXPECT_EQ(number.value_or(1), 1);
}

TEST(Result, TellsValueFromErrorOfTheSameType)
{
	const Result<int, int> value = 7;
	const Result<int, int> error = fail(7);
	EXPECT_TRUE(value);
	EXPECT_FALSE(error);
	EXPECT_EQ(*value, error.error());
}

TEST(Result, BuildsInPlaceAndIsReplacedByAnError)
{
	struct Pair {
		Pair(int a, int b) : sum(a + b) {}
		int sum;
	};
	Result<Pair, Trouble> pair{std::in_place, 2, 3};
	ASSERT_TRUE(pair);
	EXPECT_EQ(pair->sum, 5);
	EXPECT_EQ(std::as_const(pair)->sum, 5);
	pair = fail(Trouble::kSmall);
	ASSERT_FALSE(pair);
	EXPECT_EQ(pair.error(), Trouble::kSmall);
}

TEST(Result, IsTriviallyCopyableIfTheValueIs)
{
	static_assert(std::is_trivially_copyable_v<Number>);
	static_assert(std::is_copy_constructible_v<Number>);
	static_assert(!std::is_copy_constructible_v<Owner>);
	const Number number = 5;
	const Number copy = number;
	EXPECT_EQ(*copy, 5);
}

TEST(Result, MovesAnOwner)
{
	Owner owner = std::make_unique<int>(5);
	Owner other = std::move(owner);
	ASSERT_TRUE(other);
	EXPECT_EQ(**other, 5);
	std::unique_ptr<int> taken = other.take();
	EXPECT_EQ(*taken, 5);

	other = Owner{std::make_unique<int>(6)};
	EXPECT_EQ(**other, 6);
	Owner &itself = other;
	other = std::move(itself);
	EXPECT_EQ(**other, 6);
	other = fail(Trouble::kSmall);
	EXPECT_EQ(other.error(), Trouble::kSmall);
	Owner failed = std::move(other);
	EXPECT_EQ(failed.error(), Trouble::kSmall);
	failed = Owner{std::make_unique<int>(7)};
	EXPECT_EQ(**failed, 7);
	failed = Owner{fail(Trouble::kLarge)};
	EXPECT_EQ(failed.error(), Trouble::kLarge);
}

TEST(Result, OfVoid)
{
	const Done done;
	EXPECT_TRUE(done);
	EXPECT_TRUE(done.has_value());
	done.value();
	done.take();
	const Done failed = fail(Trouble::kLarge);
	EXPECT_FALSE(failed);
	EXPECT_EQ(failed.error(), Trouble::kLarge);
}

Number halve(int value)
{
	if (value % 2 != 0)
		return fail(Trouble::kSmall);
	return value / 2;
}

Done check(int value)
{
	SMC_TRY(halve(value));
	return {};
}

Number quarter(int value)
{
	SMC_TRY(check(value));
	return SMC_TRY(halve(SMC_TRY(halve(value))));
}

TEST(Result, TryPassesErrorsOn)
{
	EXPECT_EQ(*quarter(8), 2);
	EXPECT_EQ(quarter(6).error(), Trouble::kSmall);
	EXPECT_EQ(quarter(5).error(), Trouble::kSmall);
}

TEST(Result, IsUsableInConstantExpressions)
{
	constexpr auto sum = [] {
		Number a = 1;
		Number b = fail(Trouble::kSmall);
		b = Number{2};
		a = fail(Trouble::kLarge);
		return *b + a.value_or(3);
	}();
	static_assert(sum == 5);
}

TEST(ResultDeathTest, ReadingTheWrongOneIsABug)
{
	Number number = fail(Trouble::kSmall);
	EXPECT_DEATH((void)number.value(), "");
	number = Number{1};
	EXPECT_DEATH((void)number.error(), "");
	const Done done;
	EXPECT_DEATH((void)done.error(), "");
}

} // namespace
} // namespace smc
