// SPDX-License-Identifier: GPL-2.0-only
//
// A work item: T::method runs in process context, at once or later, for one instance once at a
// time.
#pragma once

#include <atomic>

#include "kernel/abi/lock.h"
#include "shell/base/ref.hpp"

namespace smc::shell {

// Belongs to an object whose end waits for its runs, by cancel_sync().
template <class T, void (T::*method)()>
class Work : private smc_work {
public:
	explicit Work(T &owner, smc_work_class work_class = SMC_WORK_OTHER) : owner_(owner)
	{
		smc_work_init(this, run, work_class);
	}
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;

	void queue()
	{
		used_.store(true, std::memory_order_relaxed);
		(void)smc_work_queue(this);
	}
	// Does nothing if a run waits already.
	void queue_if_idle(u64 delay_ms)
	{
		used_.store(true, std::memory_order_relaxed);
		(void)smc_work_queue_if_idle(this, delay_ms);
	}
	// True if a waiting run was taken away.
	bool cancel() { return smc_work_cancel(this); }
	// After everything that queues it. Costs nothing if it never was.
	void cancel_sync()
	{
		if (used_.load(std::memory_order_relaxed))
			(void)smc_work_cancel_sync(this);
	}
	// Waits until it does not run; a queued run may still come.
	void wait() { smc_work_wait(this); }

private:
	static void run(smc_work *work) { (static_cast<Work *>(work)->owner_.*method)(); }

	T &owner_;
	std::atomic<bool> used_{false};
};

// Belongs to an object that counts its references: a queued run holds one until it has ended. The
// caller holds one, too.
template <class T, void (T::*method)()>
class CountedWork : private smc_work {
public:
	explicit CountedWork(T &owner, smc_work_class work_class = SMC_WORK_OTHER) : owner_(owner)
	{
		smc_work_init(this, run, work_class);
	}
	CountedWork(const CountedWork &) = delete;
	CountedWork &operator=(const CountedWork &) = delete;

	void queue()
	{
		Ref<T> runs = Ref<T>::share(&owner_);
		if (!smc_work_queue(this))
			(void)runs.release();
	}
	// A run that waits already is moved to that time.
	void queue_delayed(u64 delay_ms)
	{
		Ref<T> runs = Ref<T>::share(&owner_);
		if (!smc_work_queue_delayed(this, delay_ms))
			(void)runs.release();
	}
	// Does nothing if a run waits already; true then.
	bool queue_if_idle(u64 delay_ms)
	{
		Ref<T> runs = Ref<T>::share(&owner_);
		const bool waits = smc_work_queue_if_idle(this, delay_ms);
		if (!waits)
			(void)runs.release();
		return waits;
	}
	// Removes a run that waits.
	void cancel()
	{
		if (smc_work_cancel(this))
			(void)Ref<T>::adopt(&owner_);
	}
	// Waits until it does not run; a queued run may still come.
	void wait() { smc_work_wait(this); }

private:
	static void run(smc_work *work)
	{
		const auto owner = Ref<T>::adopt(&static_cast<CountedWork *>(work)->owner_);
		((*owner).*method)();
	}

	T &owner_;
};

} // namespace smc::shell
