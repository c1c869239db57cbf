// SPDX-License-Identifier: GPL-2.0-only
//
// A double of spinlocks (kernel/abi/lock.h) for tests with one thread: no lock is taken under
// another one.
#pragma once

#include <functional>
#include <set>

#include "kernel/abi/lock.h"

namespace doubles {

struct Locks {
	bool held = false;
	std::set<const smc_spinlock *> taken; // so far
	std::set<smc_lock_class> classes;     // locks that were made so far
	// Called when the next one is given back, as if by another processor.
	std::function<void()> meanwhile;
};

[[nodiscard]] Locks &locks();

} // namespace doubles
