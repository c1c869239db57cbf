// SPDX-License-Identifier: GPL-2.0-only
//
// The module's work queue (kernel/abi/lock.h, smc_work): as delayed_work of Linux, with at most 16
// runs at a time.
#pragma once

#include <cstddef>
#include <string>

#include "kernel/abi/lock.h"
#include "kernel/abi/types.h"

namespace sim {

// This memory is freed: no work item in it may be pending.
void check_no_work_in(const void *memory, std::size_t bytes);
// Items that are pending or running, for the report at the end.
[[nodiscard]] std::string busy_work();
// Runs of all items, so far.
[[nodiscard]] u64 work_runs();
void forget_work();
// True inside a work item.
[[nodiscard]] bool in_work_item();

} // namespace sim
