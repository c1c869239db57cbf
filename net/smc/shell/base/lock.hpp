// SPDX-License-Identifier: GPL-2.0-only
//
// Locks as types. A SpinLock is taken with bottom halves off; order and classes are in
// kernel/abi/lock.h and Documentation/locking.md. The annotations are checked by clang's
// -Wthread-safety in the host's lint.
#pragma once

#include "kernel/abi/lock.h"
#include "kernel/abi/mem.h"

#if defined(__clang__)
#define SMC_CAPABILITY(name) __attribute__((capability(name)))
#define SMC_SCOPED_CAPABILITY __attribute__((scoped_lockable))
#define SMC_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define SMC_REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
#define SMC_ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define SMC_RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))
#else
#define SMC_CAPABILITY(name)
#define SMC_SCOPED_CAPABILITY
#define SMC_GUARDED_BY(lock)
#define SMC_REQUIRES(...)
#define SMC_ACQUIRE(...)
#define SMC_RELEASE(...)
#endif

namespace smc::shell {

class SMC_CAPABILITY("spinlock") SpinLock {
public:
	explicit SpinLock(smc_lock_class lock_class) { smc_spin_init(&lock_, lock_class); }
	SpinLock(const SpinLock &) = delete;
	SpinLock &operator=(const SpinLock &) = delete;

	void lock() SMC_ACQUIRE() { smc_spin_lock(&lock_); }
	void unlock() SMC_RELEASE() { smc_spin_unlock(&lock_); }

private:
	smc_spinlock lock_;
};

// Process context only.
class SMC_CAPABILITY("mutex") Mutex {
public:
	explicit Mutex(smc_lock_class lock_class) { smc_mutex_init(&mutex_, lock_class); }
	Mutex(const Mutex &) = delete;
	Mutex &operator=(const Mutex &) = delete;

	void lock() SMC_ACQUIRE() { smc_mutex_lock(&mutex_); }
	void unlock() SMC_RELEASE() { smc_mutex_unlock(&mutex_); }

private:
	smc_mutex mutex_;
};

template <class Lock>
class SMC_SCOPED_CAPABILITY Guard {
public:
	explicit Guard(Lock &lock) SMC_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
	~Guard() SMC_RELEASE() { lock_.unlock(); }
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;

private:
	Lock &lock_;
};

// RCU's read side.
class RcuGuard {
public:
	RcuGuard() { smc_rcu_read_lock(); }
	~RcuGuard() { smc_rcu_read_unlock(); }
	RcuGuard(const RcuGuard &) = delete;
	RcuGuard &operator=(const RcuGuard &) = delete;
};

} // namespace smc::shell
