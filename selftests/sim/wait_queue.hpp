// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <list>

#include "kernel/abi/types.h"
#include "scheduler.hpp"

struct smc_wake_hook;

namespace sim {

// Who sleeps on a socket, or wants to hear of its wakeups.
class WaitQueue {
public:
	struct Entry {
		Fiber *fiber = nullptr;
		u32 events = ~0u; // a poller hears of these alone
		bool exclusive = false;
		smc_wake_hook *hook = nullptr;
		bool (*fn)(smc_wake_hook *) = nullptr;
	};
	using Place = std::list<Entry>::iterator;

	Place add(const Entry &entry);
	void remove(Place place) { entries_.erase(place); }
	[[nodiscard]] bool has_hook(const smc_wake_hook *hook) const;
	void remove_hook(const smc_wake_hook *hook);
	// All of them, but one alone of those that are exclusive unless @all.
	void wake(u32 events, bool all = false);
	[[nodiscard]] bool empty() const { return entries_.empty(); }

private:
	std::list<Entry> entries_;
};

} // namespace sim
