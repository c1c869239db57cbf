// SPDX-License-Identifier: GPL-2.0-only
//
// The list of all cases, and how a case runs.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smc_kunit/bridge.h"
#include "smc_kunit/test.hpp"
#include "smc_kunit/trace.hpp"

namespace {

struct Case {
	std::string suite;
	std::string name;
	testing::internal::MakeTest make;
};

// By suite, and within a suite as they stand in the source. Filled by the initializers of the
// tests, so it has to come into being with the first of them.
std::vector<Case> &all_cases()
{
	static std::vector<Case> cases;

	return cases;
}

// The last folder of a path such as "selftests/unit/wire/ids_test.cc".
std::string_view folder_of(std::string_view file)
{
	file = file.substr(0, file.rfind('/'));
	return file.substr(file.rfind('/') + 1);
}

} // namespace

namespace testing {

void Test::run()
{
	SetUp();
	if (!HasFailure())
		TestBody();
	TearDown();
}

bool Test::HasFailure()
{
	return smc_kunit_has_failed();
}

bool internal::register_case(const char *file, const std::string &suite, const std::string &name,
			     MakeTest make)
{
	std::vector<Case> &cases = all_cases();
	Case added{std::string(folder_of(file)) + "." + suite, name, std::move(make)};
	const auto place = std::upper_bound(
		cases.begin(), cases.end(), added,
		[](const Case &left, const Case &right) { return left.suite < right.suite; });

	cases.insert(place, std::move(added));
	return true;
}

} // namespace testing

size_t smc_kunit_count()
{
	return all_cases().size();
}

const char *smc_kunit_suite(size_t index)
{
	return all_cases()[index].suite.c_str();
}

const char *smc_kunit_name(size_t index)
{
	return all_cases()[index].name.c_str();
}

void smc_kunit_run(size_t index)
{
	testing::internal::Trace::forget_all();
	const std::unique_ptr<testing::Test> test(all_cases()[index].make());
	test->run();
}
