// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

#include "kernel/abi/types.h"

// One call's buffers.
struct msghdr {
	u32 flags = 0;
	const u8 *from = nullptr;
	u8 *to = nullptr;
	size_t length_bytes = 0;
	size_t done_bytes = 0;
	size_t fault_at_bytes = ~size_t{0}; // the user's memory ends there
	std::function<void()> fetch{};      // before each copy from it: may sleep
};
