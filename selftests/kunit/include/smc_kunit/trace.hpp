// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "smc_kunit/print.hpp"

// SCOPED_TRACE(): a text that is printed with each failure within the scope.
namespace testing::internal {

class Trace {
public:
	explicit Trace(std::string text);
	template <class Value>
	explicit Trace(const Value &value) : Trace(as_text(value))
	{
	}
	Trace(const Trace &) = delete;
	Trace &operator=(const Trace &) = delete;
	~Trace();

	// All open traces, the innermost first.
	static void append_to(std::string &out);
	// A case that was aborted has not closed its traces.
	static void forget_all();

private:
	template <class Value>
	static std::string as_text(const Value &value)
	{
		std::string text;
		append(text, value);
		return text;
	}

	std::string text_;
	const Trace *outer_;
};

} // namespace testing::internal

#define SMC_KUNIT_JOINED(left, right) left##right
#define SMC_KUNIT_TRACE_NAME(line) SMC_KUNIT_JOINED(trace_at_line_, line)
#define SCOPED_TRACE(text)                                              \
	const ::testing::internal::Trace SMC_KUNIT_TRACE_NAME(__LINE__) \
	{                                                               \
		text                                                    \
	}
