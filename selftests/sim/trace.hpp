// SPDX-License-Identifier: GPL-2.0-only
//
// The output of a run: a trace of events, of which the last ones are kept for the report of a
// failure, and a hash over all of them, which tells whether two runs were the same.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

// An event for the trace and the hash.
[[gnu::format(printf, 1, 2)]] void note(const char *format, ...);
// An event that is too frequent for the trace: only for the hash.
void mix(std::uint64_t value);
// A check has failed: prints the report, and ends the process (exit status 1).
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

[[nodiscard]] std::uint64_t trace_hash();
void trace_start(std::uint64_t seed, bool echo);
// Seed, current fiber, and last events. Also from a signal handler: the process dies anyway.
void trace_report();
// For the report, beside the seed: rates of faults and the like.
void trace_describe(std::string description);

} // namespace sim
