// SPDX-License-Identifier: GPL-2.0-only
#include "smc_kunit/trace.hpp"

#include <string>
#include <utility>

namespace testing::internal {
namespace {

const Trace *innermost = nullptr;

} // namespace

Trace::Trace(std::string text) : text_(std::move(text)), outer_(std::exchange(innermost, this)) {}

Trace::~Trace()
{
	innermost = outer_;
}

void Trace::append_to(std::string &out)
{
	for (const Trace *trace = innermost; trace != nullptr; trace = trace->outer_)
		out += "\nwith " + trace->text_;
}

void Trace::forget_all()
{
	innermost = nullptr;
}

} // namespace testing::internal
