// SPDX-License-Identifier: GPL-2.0-only
//
// smc_mem_alloc() and smc_mem_free() (kernel/abi/mem.h), doubled.
#pragma once

#include <functional>

namespace doubles {

struct Memory {
	int allocations_left = -1; // below zero: no limit
	int allocated = 0;         // and not yet freed
	// What another processor does while memory is being freed the next time.
	std::function<void()> meanwhile;
};

[[nodiscard]] Memory &memory();

} // namespace doubles
