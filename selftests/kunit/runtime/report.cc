// SPDX-License-Identifier: GPL-2.0-only
#include <string>

#include "smc_kunit/bridge.h"
#include "smc_kunit/failure.hpp"
#include "smc_kunit/trace.hpp"

namespace testing::internal {

std::string &report()
{
	static std::string text;

	return text;
}

void begin_report(const char *file, int line, const char *text)
{
	report() = std::string(file) + ":" + std::to_string(line) + ": " + text + " ";
}

void fail_with_report()
{
	Trace::append_to(report());
	smc_kunit_fail(report().c_str());
	report().clear();
}

void skip_with_report()
{
	smc_kunit_skip(report().c_str());
	report().clear();
}

} // namespace testing::internal
