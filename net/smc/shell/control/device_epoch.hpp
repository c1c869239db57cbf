// SPDX-License-Identifier: GPL-2.0-only
//
// DeviceEpoch: a new one begins whenever something is changed that may make a device lead to a
// peer. What was found out about that before does not count any more (core/control/elsewhere.hpp).
#pragma once

#include <atomic>

#include "kernel/abi/types.h"

namespace smc::control {

class DeviceEpoch {
public:
	// Any context.
	[[nodiscard]] static u64 current() { return current_.load(std::memory_order_acquire); }
	static void begin() { current_.fetch_add(1, std::memory_order_release); }
	// The same for the way from a network device to its port, which every change of a network
	// device may change, and there are many on a host of containers: what leads to a peer is
	// not looked for again for each of them.
	[[nodiscard]] static u64 of_ways()
	{
		return current() + ways_.load(std::memory_order_acquire);
	}
	static void change_ways() { ways_.fetch_add(1, std::memory_order_release); }

private:
	static inline std::atomic<u64> current_{0};
	static inline std::atomic<u64> ways_{0};
};

} // namespace smc::control
