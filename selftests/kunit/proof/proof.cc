// SPDX-License-Identifier: GPL-2.0-only
//
// Cases that fail on purpose, each in one way, and some that must pass: they prove that
// smc_kunit.ko can fail. selftests/kunit/check-kunit has the result that each must have.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace {

TEST(Fails, True)
{
	EXPECT_TRUE(false) << "with " << 1 << " word";
}
TEST(Fails, False)
{
	EXPECT_FALSE(true);
}
TEST(Fails, Equal)
{
	EXPECT_EQ(1, 2);
}
TEST(Fails, NotEqual)
{
	EXPECT_NE(std::string("a"), "a");
}
TEST(Fails, Less)
{
	EXPECT_LT(2, 2);
}
TEST(Fails, LessOrEqual)
{
	EXPECT_LE(3, 2);
}
TEST(Fails, Greater)
{
	EXPECT_GT(2, 2);
}
TEST(Fails, GreaterOrEqual)
{
	EXPECT_GE(2, 3);
}
TEST(Fails, ByItself)
{
	ADD_FAILURE() << "for no reason";
}

TEST(Fails, OnceAmongOthers)
{
	EXPECT_TRUE(true);
	EXPECT_EQ(std::optional<int>(), 7);
	EXPECT_TRUE(true);
}

TEST(Fails, InATrace)
{
	SCOPED_TRACE("outer " + std::to_string(1));
	{
		SCOPED_TRACE("closed");
	}
	EXPECT_TRUE(false);
}

// The function that the library calls instead of throwing does not return; the next case still
// runs.
TEST(Fails, BehindTheEnd)
{
	SCOPED_TRACE("never left");
	EXPECT_EQ(std::vector<int>{1}.at(1), 0);
	EXPECT_TRUE(false) << "reached";
}

bool went_on;

TEST(Asserts, EndTheCase)
{
	ASSERT_EQ(1, 2);
	went_on = true;
}

TEST(AssertsAfter, HaveEndedTheCase)
{
	EXPECT_FALSE(went_on);
}

bool torn_down;

class Fixture : public testing::Test {
protected:
	void SetUp() override { ASSERT_TRUE(false) << "not set up"; }
	void TearDown() override { torn_down = true; }
};

TEST_F(Fixture, IsNotUsedWhenItsSetUpFails)
{
	EXPECT_TRUE(false) << "used";
}

TEST(FixtureAfter, HasBeenTornDownAllTheSame)
{
	EXPECT_TRUE(torn_down);
}

class Values : public testing::TestWithParam<std::tuple<bool, std::size_t>> {};

TEST_P(Values, AreAllUsed)
{
	EXPECT_FALSE(std::get<0>(GetParam()) && std::get<1>(GetParam()) == 7);
}

INSTANTIATE_TEST_SUITE_P(All, Values,
			 testing::Combine(testing::Bool(),
					  testing::Values(std::size_t{3}, std::size_t{7})));

TEST(Skips, Itself)
{
	GTEST_SKIP() << "not here";
}

TEST(Skips, Deaths)
{
	EXPECT_DEATH(went_on = true, "");
}

// For KASAN and kmemleak, which watch the tests as well as the core.
TEST(Watched, ReadBehindTheEnd)
{
	const std::vector<char> three(3);
	const volatile char *const behind = three.data() + 3;
	EXPECT_EQ(three.size() + static_cast<std::size_t>(*behind & 0), 3U);
}

TEST(Watched, ForgottenMemory)
{
	for (int i = 0; i < 8; i++) {
		char *volatile forgotten = new char[96];
		forgotten = nullptr;
		EXPECT_EQ(forgotten, nullptr);
	}
}

} // namespace
