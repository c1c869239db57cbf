// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/abi/lock.h, simulated: spinlocks, mutexes, completions. Each lock checks as lockdep does:
// order by class, no sleeping under a spinlock, release by its holder.
#include "kernel/abi/lock.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "memory.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace {

using sim::Fiber;
using sim::scheduler;

struct Lock {
	Fiber *owner;
	int lock_class;
	u64 magic;
};

constexpr u64 kMagic = 0x10c41e0f5eedu;

template <class Storage>
Lock *lock_of(Storage *storage)
{
	static_assert(sizeof(Storage) >= sizeof(Lock));
	auto *lock = std::launder(reinterpret_cast<Lock *>(storage->opaque));

	if (lock->magic != kMagic)
		sim::fail("a lock that is none");
	return lock;
}

template <class Storage>
void init(Storage *storage, int lock_class)
{
	::new (static_cast<void *>(storage->opaque)) Lock{nullptr, lock_class, kMagic};
	sim::memory().add_lock(storage, lock_class);
}

void take(Lock *lock, bool sleeps)
{
	Fiber *fiber = scheduler().current();

	if (fiber == nullptr || fiber->in_hook)
		sim::fail("a lock of class %d with interrupts off", lock->lock_class);
	if (sleeps && fiber->is_atomic())
		sim::fail("%s takes a mutex of class %d in atomic context", fiber->name.c_str(),
			  lock->lock_class);
	for (const int held : fiber->held) {
		// sock_diag's walk is the one exception, see Documentation/locking.md.
		if (held >= lock->lock_class && !(held == SMC_LOCK_SOCKETS && sleeps))
			sim::fail("%s takes a lock of class %d under one of class %d",
				  fiber->name.c_str(), lock->lock_class, held);
	}
	scheduler().maybe_yield();
	while (lock->owner != nullptr) {
		if (lock->owner == fiber)
			sim::fail("%s locks twice", fiber->name.c_str());
		scheduler().yield();
	}
	if (lock->lock_class == SMC_LOCK_GROUP && fiber->name.starts_with("work-"))
		sim::effort().groups_looked_at++;
	lock->owner = fiber;
	fiber->held.push_back(lock->lock_class);
}

void give(Lock *lock)
{
	Fiber *fiber = scheduler().current();

	if (lock->owner != fiber)
		sim::fail("a lock of class %d is given back by another", lock->lock_class);
	lock->owner = nullptr;
	const auto found = std::find(fiber->held.rbegin(), fiber->held.rend(), lock->lock_class);
	fiber->held.erase(std::next(found).base());
}

} // namespace

void smc_spin_init(smc_spinlock *lock, smc_lock_class class_)
{
	init(lock, class_);
}

void smc_spin_lock(smc_spinlock *lock)
{
	take(lock_of(lock), false);
	scheduler().current()->spinlocks++;
	sim::begin_reading();
	scheduler().maybe_yield();
}

void smc_spin_unlock(smc_spinlock *lock)
{
	give(lock_of(lock));
	sim::end_reading();
	scheduler().current()->spinlocks--;
	scheduler().maybe_yield();
}

namespace {

bool has_bottom_halves_off(const Fiber &fiber)
{
	return fiber.spinlocks != 0 || fiber.context == sim::Context::kSoftirq;
}

} // namespace

void smc_spin_lock_inner(smc_spinlock *lock)
{
	if (!has_bottom_halves_off(*scheduler().current()))
		sim::fail("an inner spinlock is taken with bottom halves on");
	smc_spin_lock(lock);
}

void smc_spin_unlock_inner(smc_spinlock *lock)
{
	smc_spin_unlock(lock);
	if (!has_bottom_halves_off(*scheduler().current()))
		sim::fail("an inner spinlock is held longer than the outer one");
}

void smc_mutex_init(smc_mutex *mutex, smc_lock_class class_)
{
	init(mutex, class_);
}

void smc_mutex_lock(smc_mutex *mutex)
{
	take(lock_of(mutex), true);
}

void smc_mutex_unlock(smc_mutex *mutex)
{
	give(lock_of(mutex));
	scheduler().maybe_yield();
}

// ---- Completions --------------------------------------------------------------------------------

namespace {

// Waiters look again from time to time, so these few words need no list of waiters.
constexpr u64 kLook_us = 100;

struct Completion {
	bool done;
};

Completion *completion_of(smc_completion *storage)
{
	return std::launder(reinterpret_cast<Completion *>(storage->opaque));
}

} // namespace

void smc_completion_init(smc_completion *completion)
{
	::new (static_cast<void *>(completion->opaque)) Completion{false};
}

void smc_complete_all(smc_completion *completion)
{
	completion_of(completion)->done = true;
}

bool smc_completion_wait(smc_completion *completion, u64 timeout_ms)
{
	const u64 until_us = scheduler().now_us() + timeout_ms * 1000;

	while (!completion_of(completion)->done) {
		if (scheduler().now_us() >= until_us)
			return false;
		scheduler().sleep_us(kLook_us);
	}
	return true;
}
