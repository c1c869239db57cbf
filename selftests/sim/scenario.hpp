// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "cases.hpp"
#include "kernel/abi/types.h"

namespace sim {

struct Run {
	u64 seed = 1;
	u64 fail_nth = 0;           // 0, or that of a sweep (Knobs)
	const Case *plot = nullptr; // instead of a random load
};

// One run, from the module's loading to its unloading. Returns a summary in one line; a run that
// fails does not return.
[[nodiscard]] std::string run_scenario(const Run &run);

} // namespace sim
