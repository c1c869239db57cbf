// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "smc_kunit/print.hpp"

// The report of an expectation that failed: the expectation begins it, the case adds to it with <<,
// and `Failed() & Note() << …` hands it to KUnit.
//
// The text is a global, and the types are empty and passed by value: cases run one after the other,
// on a small stack, where KASAN surrounds each object of each expectation with red zones.
namespace testing::internal {

std::string &report();
void begin_report(const char *file, int line, const char *text);
void fail_with_report();
void skip_with_report();

struct Note {};

template <class Value>
[[gnu::noinline]] Note operator<<(Note note, const Value &value)
{
	append(report(), value);
	return note;
}

struct Failed {};

inline void operator&(Failed, Note)
{
	fail_with_report();
}

struct Skipped {};

inline void operator&(Skipped, Note)
{
	skip_with_report();
}

} // namespace testing::internal
