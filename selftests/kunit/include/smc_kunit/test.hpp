// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>

// TEST() and TEST_F().
namespace testing {

class Test {
public:
	virtual ~Test() = default;

	void run();
	// The running case.
	static bool HasFailure();

protected:
	virtual void SetUp() {}
	virtual void TearDown() {}

private:
	virtual void TestBody() = 0;
};

namespace internal {

using MakeTest = std::function<Test *()>;

// Registers a case of selftests/unit/<folder>/…; returns a value so that it can be an initializer.
bool register_case(const char *file, const std::string &suite, const std::string &name,
		   MakeTest make);

template <class Case>
bool register_case(const char *file, const char *suite, const char *name)
{
	return register_case(file, suite, name, [] { return new Case; });
}

} // namespace internal
} // namespace testing

#define SMC_KUNIT_CLASS(suite, name) suite##_##name##_Test

#define SMC_KUNIT_TEST(suite, name, fixture)                                                       \
	class SMC_KUNIT_CLASS(suite, name) final : public fixture {                                \
		void TestBody() override;                                                          \
	};                                                                                         \
	[[maybe_unused]] const bool suite##_##name##_is_registered =                               \
		::testing::internal::register_case<SMC_KUNIT_CLASS(suite, name)>(__FILE__, #suite, \
										 #name);           \
	void SMC_KUNIT_CLASS(suite, name)::TestBody()

#define TEST(suite, name) SMC_KUNIT_TEST(suite, name, ::testing::Test)
#define TEST_F(fixture, name) SMC_KUNIT_TEST(fixture, name, fixture)
