// SPDX-License-Identifier: GPL-2.0-only
//
// SockTurn: how a work item takes the lock of a user's sock. The user may hold it for as long as he
// likes, and only a handful of work items run at a time: one that slept there would hold up those
// of everybody else. So it does not sleep: when the lock is taken it comes back later, after
// growing times.
//
// Belongs to one work item.
#pragma once

#include <algorithm>
#include <utility>

#include "kernel/abi/sock.h"
#include "shell/base/lock.hpp"

namespace smc::shell {

class SMC_CAPABILITY("sock") SockTurn {
public:
	explicit SockTurn(struct sock *sk) : sk_(sk) {}

	// False: come back after wait_ms(). The first attempt waits a moment, which is enough as a
	// rule. Process, no lock.
	[[nodiscard]] bool take() SMC_TRY_ACQUIRE(true)
	{
		return note(smc_sk_try_lock(sk_, wait_ms_ == 0));
	}
	// The same for what does not sleep. Who gives the lock itself back first takes in what TCP
	// has received meanwhile, and a work item would reclaim for that in the memory cgroup of
	// the sock. Here TCP's softirqs wait.
	[[nodiscard]] bool take_briefly() SMC_TRY_ACQUIRE(true)
	{
		brief_ = smc_sk_try_lock_briefly(sk_, wait_ms_ == 0);
		return note(brief_);
	}
	// For callers that may sleep: a user's own call.
	void wait() SMC_ACQUIRE() { smc_sk_lock(sk_); }
	void give() SMC_RELEASE()
	{
		if (std::exchange(brief_, false))
			smc_sk_unlock_briefly(sk_);
		else
			smc_sk_unlock(sk_);
	}
	// 0: the lock was free at the last attempt.
	[[nodiscard]] u64 wait_ms() const { return wait_ms_; }

private:
	static constexpr u64 kFirst_ms = 1;
	static constexpr u64 kLast_ms = 64;

	[[nodiscard]] bool note(bool taken)
	{
		if (taken)
			wait_ms_ = 0;
		else
			wait_ms_ = wait_ms_ == 0 ? kFirst_ms : std::min(wait_ms_ * 2, kLast_ms);
		return taken;
	}

	struct sock *const sk_;
	u64 wait_ms_ = 0;
	bool brief_ = false; // held by take_briefly()
};

} // namespace smc::shell
