// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

#include "smc_kunit/failure.hpp"

// EXPECT_… and ASSERT_….
namespace testing::internal {

inline bool holds(bool value, const char *file, int line, const char *text)
{
	if (!value)
		begin_report(file, line, text);
	return value;
}

template <class Relation, class Left, class Right>
[[gnu::noinline]] bool related(const Left &left, const Right &right, const char *file, int line,
			       const char *text)
{
	if (Relation{}(left, right))
		return true;
	begin_report(file, line, text);
	report() += "\nleft: ";
	print(report(), left);
	report() += "\nright: ";
	print(report(), right);
	report() += "\n";
	return false;
}

} // namespace testing::internal

// The switch keeps an `else` behind a macro in an `if` with that `if`.
#define SMC_KUNIT_UNLESS(holds) \
	switch (0)              \
	case 0:                 \
	default:                \
		if (holds)      \
			;       \
		else

#define SMC_KUNIT_FAILED ::testing::internal::Failed() & ::testing::internal::Note()

#define SMC_KUNIT_HOLDS(value, text) ::testing::internal::holds(value, __FILE__, __LINE__, text)

#define SMC_KUNIT_RELATED(relation, sign, left, right)                                 \
	::testing::internal::related<std::relation<>>(left, right, __FILE__, __LINE__, \
						      #left " " sign " " #right)

#define EXPECT_TRUE(value) \
	SMC_KUNIT_UNLESS(SMC_KUNIT_HOLDS(static_cast<bool>(value), #value)) SMC_KUNIT_FAILED
#define ASSERT_TRUE(value) \
	SMC_KUNIT_UNLESS(SMC_KUNIT_HOLDS(static_cast<bool>(value), #value)) return SMC_KUNIT_FAILED

#define EXPECT_FALSE(value)                                                           \
	SMC_KUNIT_UNLESS(SMC_KUNIT_HOLDS(!static_cast<bool>(value), "!(" #value ")")) \
	SMC_KUNIT_FAILED
#define ASSERT_FALSE(value)                                                           \
	SMC_KUNIT_UNLESS(SMC_KUNIT_HOLDS(!static_cast<bool>(value), "!(" #value ")")) \
	return SMC_KUNIT_FAILED

#define SMC_KUNIT_EXPECT(relation, sign, left, right) \
	SMC_KUNIT_UNLESS(SMC_KUNIT_RELATED(relation, sign, left, right)) SMC_KUNIT_FAILED
#define SMC_KUNIT_ASSERT(relation, sign, left, right) \
	SMC_KUNIT_UNLESS(SMC_KUNIT_RELATED(relation, sign, left, right)) return SMC_KUNIT_FAILED

#define EXPECT_EQ(left, right) SMC_KUNIT_EXPECT(equal_to, "==", left, right)
#define EXPECT_NE(left, right) SMC_KUNIT_EXPECT(not_equal_to, "!=", left, right)
#define EXPECT_LT(left, right) SMC_KUNIT_EXPECT(less, "<", left, right)
#define EXPECT_LE(left, right) SMC_KUNIT_EXPECT(less_equal, "<=", left, right)
#define EXPECT_GT(left, right) SMC_KUNIT_EXPECT(greater, ">", left, right)
#define EXPECT_GE(left, right) SMC_KUNIT_EXPECT(greater_equal, ">=", left, right)

#define ASSERT_EQ(left, right) SMC_KUNIT_ASSERT(equal_to, "==", left, right)
#define ASSERT_NE(left, right) SMC_KUNIT_ASSERT(not_equal_to, "!=", left, right)
#define ASSERT_LT(left, right) SMC_KUNIT_ASSERT(less, "<", left, right)
#define ASSERT_LE(left, right) SMC_KUNIT_ASSERT(less_equal, "<=", left, right)
#define ASSERT_GT(left, right) SMC_KUNIT_ASSERT(greater, ">", left, right)
#define ASSERT_GE(left, right) SMC_KUNIT_ASSERT(greater_equal, ">=", left, right)

#define ADD_FAILURE() SMC_KUNIT_UNLESS(SMC_KUNIT_HOLDS(false, "failed")) SMC_KUNIT_FAILED

#define GTEST_SKIP() return ::testing::internal::Skipped() & ::testing::internal::Note()

// No test may die here, and core/base/check.hpp does not trap in a kernel. A case that expects a
// death is skipped, and listed in selftests/kunit/host-only.
#define EXPECT_DEATH(statement, matcher)                                                       \
	do {                                                                                   \
		if (false) {                                                                   \
			statement;                                                             \
		}                                                                              \
		::testing::internal::Skipped() & (::testing::internal::Note() << "would die"); \
	} while (false)
