// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "kernel/abi/types.h"

namespace sim {

// One run, from the module's loading to its unloading. Returns what went on, in one line; a run
// that fails does not return. @fail_nth: 0, or that of a sweep (Knobs).
[[nodiscard]] std::string run_scenario(u64 seed, u64 fail_nth);

} // namespace sim
