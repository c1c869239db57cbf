// SPDX-License-Identifier: GPL-2.0-only
//
// What a run says: a trace of events, of which the last ones are kept for the report of a failure,
// and a hash over all of them, which tells whether two runs were the same.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

// An event worth to be told. Goes into the hash.
[[gnu::format(printf, 1, 2)]] void note(const char *format, ...);
// As note(), but for what comes so often that nobody would read it: hash only.
void mix(std::uint64_t value);
// A check has failed: the report, and the end of the process (exit status 1).
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

[[nodiscard]] std::uint64_t trace_hash();
void trace_start(std::uint64_t seed, bool echo);
// Seed, what was running, and the last events. Also from a signal handler: the process dies anyway.
void trace_report();
// What to say in the report beside the seed: fault rates and the like.
void trace_describe(std::string description);

} // namespace sim
