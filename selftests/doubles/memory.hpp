// SPDX-License-Identifier: GPL-2.0-only
//
// Doubles of smc_mem_alloc() and smc_mem_free() (kernel/abi/mem.h).
#pragma once

#include <cstdint>
#include <functional>

namespace doubles {

struct Memory {
	int allocations_left = -1; // below zero: no limit
	int allocated = 0;         // not freed yet
	std::uint64_t drawn = 0;   // random bytes
	// Called at the next free, as if by another processor.
	std::function<void()> meanwhile;
};

[[nodiscard]] Memory &memory();

} // namespace doubles
