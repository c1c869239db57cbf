// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>

// The counters of this network namespace, as /proc/net/smc_stat has them.
namespace smc_ctl::counters {

using Counters = std::map<std::string, std::uint64_t>;

// Throws NetlinkError if they are not there.
[[nodiscard]] Counters read();
// Remembers @now for since_mark(), in a file that lasts until the host restarts. Throws
// std::system_error.
void mark(const Counters &now);
// By how much each has grown since then, or since the beginning; what has shrunk counts modulo
// 2^64. Only those that have changed.
[[nodiscard]] Counters since_mark(const Counters &now);

} // namespace smc_ctl::counters
