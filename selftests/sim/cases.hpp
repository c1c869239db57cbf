// SPDX-License-Identifier: GPL-2.0-only
//
// Case: a run with a plot instead of a load that is drawn: one process of host a that talks to a
// server on host b, on a machine without faults. For what chance does not bring about.
#pragma once

#include <functional>
#include <string_view>

#include "world.hpp"

namespace sim {

struct Case {
	const char *name;
	void (*play)();
	u64 latency_us = 20;
	u32 max_conns = 255; // that both hosts want in one group
	// Nobody is interrupted, the send queue is narrow and the loopback device is on.
	bool scripted = false;
	u64 work_us = 3; // Knobs
	bool eid_changes = false;
	u8 deaf_to = 0;
	bool smcr_v1 = false; // instead of version 2
	u64 lasts_us = 0;     // longer than a load, by so much

	[[nodiscard]] Knobs knobs() const;
};

// Hears of each count of the module's, in the midst of what is counted: it must not sleep. Nobody
// at first.
[[nodiscard]] std::function<void(const net *host, u32 index)> &count_watcher();

inline constexpr u32 kCases = 60;
extern const Case cases[kCases];

[[nodiscard]] const Case *find_case(std::string_view name);

} // namespace sim
