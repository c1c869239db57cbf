// SPDX-License-Identifier: GPL-2.0-only
//
// A piece of work that an object does in process context, at once or later. T::method runs for
// one instance at most once at a time. Whoever queues it sees to it that the object lives until
// then: by a reference that the run gives back, or by cancel_sync().
#pragma once

#include "kernel/abi/lock.h"

namespace smc::shell {

template <class T, void (T::*method)()>
class Work {
public:
	explicit Work(T &owner, smc_work_class work_class = SMC_WORK_OTHER) : owner_(owner)
	{
		smc_work_init(&work_, run, work_class);
	}
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;

	// True if it was waiting already; else a new run was added.
	bool queue() { return smc_work_queue(&work_); }
	bool queue_delayed(u64 delay_ms) { return smc_work_queue_delayed(&work_, delay_ms); }
	// The same, unless a run waits already.
	bool queue_if_idle(u64 delay_ms) { return smc_work_queue_if_idle(&work_, delay_ms); }
	// True if a waiting run was taken away.
	bool cancel() { return smc_work_cancel(&work_); }
	bool cancel_sync() { return smc_work_cancel_sync(&work_); }
	// Until it does not run; a run that waits may still come.
	void wait() { smc_work_wait(&work_); }

private:
	static void run(smc_work *work) { (reinterpret_cast<Work *>(work)->owner_.*method)(); }

	// First, so that the work's address is this object's.
	smc_work work_;
	T &owner_;
};

} // namespace smc::shell
