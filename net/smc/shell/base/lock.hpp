// SPDX-License-Identifier: GPL-2.0-only
//
// Locks as types. A SpinLock is taken with bottom halves off; order and classes are in
// kernel/abi/lock.h and Documentation/locking.md. Annotations are no code: clang checks them
// (scripts/check/check-locks).
#pragma once

#include <utility>

#include "kernel/abi/lock.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"

#if defined(__clang__)
#define SMC_CAPABILITY(name) __attribute__((capability(name)))
#define SMC_SCOPED_CAPABILITY __attribute__((scoped_lockable))
// The field, or what it points to, is used with that lock only.
#define SMC_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define SMC_PT_GUARDED_BY(lock) __attribute__((pt_guarded_by(lock)))
// The function is called with these locks.
#define SMC_REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
#define SMC_REQUIRES_SHARED(...) __attribute__((requires_shared_capability(__VA_ARGS__)))
#define SMC_ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define SMC_ACQUIRE_SHARED(...) __attribute__((acquire_shared_capability(__VA_ARGS__)))
#define SMC_TRY_ACQUIRE(...) __attribute__((try_acquire_capability(__VA_ARGS__)))
#define SMC_RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))
// After a call of it clang takes the lock as held, where the caller knows so and clang cannot.
#define SMC_ASSERT_HELD(...) __attribute__((assert_capability(__VA_ARGS__)))
// Nothing is checked inside the function. To be used with the reason.
#define SMC_NO_LOCK_CHECK __attribute__((no_thread_safety_analysis))
#else
#define SMC_CAPABILITY(name)
#define SMC_SCOPED_CAPABILITY
#define SMC_GUARDED_BY(lock)
#define SMC_PT_GUARDED_BY(lock)
#define SMC_REQUIRES(...)
#define SMC_REQUIRES_SHARED(...)
#define SMC_ACQUIRE(...)
#define SMC_ACQUIRE_SHARED(...)
#define SMC_TRY_ACQUIRE(...)
#define SMC_RELEASE(...)
#define SMC_ASSERT_HELD(...)
#define SMC_NO_LOCK_CHECK
#endif

// The sock's lock belongs to the kernel: declared again with what clang has to know.
// NOLINTBEGIN(readability-redundant-declaration)
extern "C" {
void smc_sk_lock(struct sock *sk) SMC_ACQUIRE(sk);
void smc_sk_unlock(struct sock *sk) SMC_RELEASE(sk);
bool smc_sk_try_lock(struct sock *sk, bool patient) SMC_TRY_ACQUIRE(true, sk);
}
// NOLINTEND(readability-redundant-declaration)

namespace smc::shell {

class BriefSockLock;
class SpinLock;

// That a spinlock is held, with bottom halves off; for as long as its holder keeps it.
class SpinLockHeld {
	friend class SpinLock;
	friend class BriefSockLock;
	explicit SpinLockHeld(const SpinLock & /*lock*/) {}
	explicit SpinLockHeld(const BriefSockLock & /*lock*/) {}
};

// That the caller is a softirq, or as one: bottom halves are off.
class InSoftirq {
public:
	// For a function that is called in softirqs only. Lockdep finds it out if that is not so.
	static InSoftirq by_contract() { return {}; }

private:
	InSoftirq() = default;
};

class SMC_CAPABILITY("spinlock") SpinLock {
public:
	explicit SpinLock(smc_lock_class lock_class) { smc_spin_init(&lock_, lock_class); }
	SpinLock(const SpinLock &) = delete;
	SpinLock &operator=(const SpinLock &) = delete;

	void lock() SMC_ACQUIRE() { smc_spin_lock(&lock_); }
	void unlock() SMC_RELEASE() { smc_spin_unlock(&lock_); }
	[[nodiscard]] SpinLockHeld held() const SMC_REQUIRES(this) { return SpinLockHeld(*this); }
	// See InnerGuard.
	void lock_inner() SMC_ACQUIRE() { smc_spin_lock_inner(&lock_); }
	void unlock_inner() SMC_RELEASE() { smc_spin_unlock_inner(&lock_); }
	// In a lambda that is called under the lock: clang looks at a lambda on its own.
	void assert_held() const SMC_ASSERT_HELD() {}

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

// For a lock that is taken under another one, or in a softirq: bottom halves are off already, and
// need not be turned off and on once more.
class SMC_SCOPED_CAPABILITY InnerGuard {
public:
	InnerGuard(SpinLock &lock, SpinLockHeld /*outer*/) SMC_ACQUIRE(lock) : lock_(lock)
	{
		lock_.lock_inner();
	}
	InnerGuard(SpinLock &lock, InSoftirq /*context*/) SMC_ACQUIRE(lock) : lock_(lock)
	{
		lock_.lock_inner();
	}
	~InnerGuard() SMC_RELEASE() { lock_.unlock_inner(); }
	InnerGuard(const InnerGuard &) = delete;
	InnerGuard &operator=(const InnerGuard &) = delete;

private:
	SpinLock &lock_;
};

// The sock's lock for a call that is through in a moment, see kernel/abi/sock.h. Whoever finds that
// he has to sleep keeps it instead.
class BriefSockLock {
public:
	explicit BriefSockLock(struct sock *sk) { take(sk); }
	~BriefSockLock()
	{
		if (sk_ != nullptr)
			smc_sk_unlock_briefly(sk_);
	}
	BriefSockLock(const BriefSockLock &) = delete;
	BriefSockLock &operator=(const BriefSockLock &) = delete;

	// Nobody else has it.
	[[nodiscard]] bool taken() const { return sk_ != nullptr; }
	// Needs taken().
	[[nodiscard]] SpinLockHeld held() const { return SpinLockHeld(*this); }
	// Needs taken(): to be given back by smc_sk_unlock().
	void keep() { smc_sk_keep_lock(std::exchange(sk_, nullptr)); }
	// Needs taken(): for a sleep, after which it is taken again.
	void give_back() { smc_sk_unlock_briefly(std::exchange(sk_, nullptr)); }
	void take(struct sock *sk)
	{
		sk_ = smc_sk_try_lock_briefly(sk, /*patient=*/false) ? sk : nullptr;
	}

private:
	struct sock *sk_;
};

// A field that another object's lock guards: access needs that lock as an argument.
template <class T>
class Guarded {
public:
	Guarded() = default;
	explicit Guarded(T value) : value_(std::move(value)) {}
	Guarded(const Guarded &) = delete;
	Guarded &operator=(const Guarded &) = delete;

	[[nodiscard]] T &under(const SpinLock &lock [[maybe_unused]]) SMC_REQUIRES(lock)
	{
		return value_;
	}
	[[nodiscard]] const T &under(const SpinLock &lock [[maybe_unused]]) const SMC_REQUIRES(lock)
	{
		return value_;
	}

private:
	T value_{};
};

// RCU's read side, as a name for annotations; no such object exists.
class SMC_CAPABILITY("RCU") Rcu;
extern Rcu rcu_read_side;

class SMC_SCOPED_CAPABILITY RcuGuard {
public:
	// For a read side that was entered earlier, under a lock that has been released since.
	struct Entered {};

	RcuGuard() SMC_ACQUIRE_SHARED(rcu_read_side) { smc_rcu_read_lock(); }
	explicit RcuGuard(Entered) SMC_ACQUIRE_SHARED(rcu_read_side) {}
	~RcuGuard() SMC_RELEASE() { smc_rcu_read_unlock(); }
	RcuGuard(const RcuGuard &) = delete;
	RcuGuard &operator=(const RcuGuard &) = delete;
};

// Where bottom halves are off RCU waits for us anyway, since Linux 5.0, and with PREEMPT_RT, too:
// a read side that costs nothing, for as long as the lock is held.
class SMC_SCOPED_CAPABILITY RcuBySpinLock {
public:
	explicit RcuBySpinLock(SpinLockHeld /*lock*/) SMC_ACQUIRE_SHARED(rcu_read_side) {}
	~RcuBySpinLock() SMC_RELEASE() {}
	RcuBySpinLock(const RcuBySpinLock &) = delete;
	RcuBySpinLock &operator=(const RcuBySpinLock &) = delete;
};

} // namespace smc::shell
