// SPDX-License-Identifier: GPL-2.0-only
#include "wait_queue.hpp"

#include <algorithm>

#include "kernel/abi/sock_wait.h"

namespace sim {

WaitQueue::Place WaitQueue::add(const Entry &entry)
{
	if (entry.exclusive)
		return entries_.insert(entries_.end(), entry);
	return entries_.insert(entries_.begin(), entry);
}

bool WaitQueue::has_hook(const smc_wake_hook *hook) const
{
	return std::any_of(entries_.begin(), entries_.end(),
			   [hook](const Entry &entry) { return entry.hook == hook; });
}

void WaitQueue::remove_hook(const smc_wake_hook *hook)
{
	entries_.remove_if([hook](const Entry &entry) { return entry.hook == hook; });
}

void WaitQueue::wake(u32 events, bool all)
{
	Fiber *waker = scheduler().current();
	const bool was_in_hook = waker != nullptr && waker->in_hook;
	// As a key of 0 does: whatever a waiter waits for.
	const bool any = (events & SMC_POLL_ANY) != 0;
	bool one_exclusive = false;

	if (waker != nullptr)
		waker->in_hook = true;
	for (auto at = entries_.begin(); at != entries_.end();) {
		const auto place = at++;

		if (place->hook != nullptr) {
			if (place->fn(place->hook))
				entries_.erase(place);
		} else if ((any || (place->events & events) != 0) &&
			   (!place->concerns || place->concerns()) &&
			   (all || !(place->exclusive && one_exclusive))) {
			one_exclusive = one_exclusive || place->exclusive;
			scheduler().wake(place->fiber);
		}
	}
	if (waker != nullptr)
		waker->in_hook = was_in_hook;
}

} // namespace sim
