// SPDX-License-Identifier: GPL-2.0-only
//
// Spinlocks (kernel/abi/lock.h), doubled for tests with one thread: none is taken under another.
#pragma once

#include <set>

#include "kernel/abi/lock.h"

namespace doubles {

struct Locks {
	bool held = false;
	std::set<smc_lock_class> classes; // of those that were ever made
};

[[nodiscard]] Locks &locks();

} // namespace doubles
