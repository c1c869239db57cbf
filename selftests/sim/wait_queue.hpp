// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <list>

#include "kernel/abi/types.h"
#include "scheduler.hpp"

struct smc_wake_hook;

namespace sim {

// A sleeper on a socket, or a hook for its wakeups.
class WaitQueue {
public:
	struct Entry {
		Fiber *fiber = nullptr;
		u32 events = ~0u; // a poller wakes only for these
		bool exclusive = false;
		std::function<bool()> concerns; // if any: has to say so, too
		smc_wake_hook *hook = nullptr;
		bool (*fn)(smc_wake_hook *) = nullptr;
	};
	using Place = std::list<Entry>::iterator;

	Place add(const Entry &entry);
	void remove(Place place) { entries_.erase(place); }
	[[nodiscard]] bool has_hook(const smc_wake_hook *hook) const;
	void remove_hook(const smc_wake_hook *hook);
	// All of them, but only one exclusive one unless @all.
	void wake(u32 events, bool all = false);
	[[nodiscard]] bool empty() const { return entries_.empty(); }

private:
	std::list<Entry> entries_;
};

} // namespace sim
