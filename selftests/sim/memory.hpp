// SPDX-License-Identifier: GPL-2.0-only
//
// The kernel's heap and RCU (kernel/abi/mem.h), simulated: who owns what, and has to give it back
// at the end.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "kernel/abi/types.h"

namespace sim {

class Memory {
public:
	void *allocate(std::size_t bytes);
	void release(void *memory);
	// An address with a lock in it.
	void add_lock(const void *, int) {}

	[[nodiscard]] std::size_t objects() const { return blocks_.size(); }
	[[nodiscard]] std::size_t bytes() const;
	[[nodiscard]] std::string describe() const;

private:
	std::map<void *, std::size_t> blocks_;
};

[[nodiscard]] Memory &memory();

// A read side of RCU, also that of a spinlock: RCU waits where bottom halves are off.
void begin_reading();
void end_reading();

// Work of the module since the beginning.
struct Effort {
	u64 allocations = 0;
	u64 groups_looked_at = 0; // their locks taken, by work items
};
[[nodiscard]] Effort &effort();

} // namespace sim
