// SPDX-License-Identifier: GPL-2.0-only
//
// The kernel's heap and RCU (kernel/abi/mem.h), played: who has what, and who must have given it
// back at the end.
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
	// A lock lies there.
	void add_lock(const void *, int) {}

	[[nodiscard]] std::size_t objects() const { return blocks_.size(); }
	[[nodiscard]] std::string describe() const;

private:
	std::map<void *, std::size_t> blocks_;
};

[[nodiscard]] Memory &memory();

} // namespace sim
