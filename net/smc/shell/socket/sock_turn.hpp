// SPDX-License-Identifier: GPL-2.0-only
//
// SockTurn: how a work item gets at the lock of a user's sock. The user may keep it for as long as
// he likes, and work items run a handful at a time: one that slept there would keep up those of
// everybody else. So it does not, and where it finds the lock taken it comes back later, after
// times that grow.
//
// Belongs to one work item.
#pragma once

#include <algorithm>

#include "kernel/abi/sock.h"
#include "shell/base/lock.hpp"

namespace smc::shell {

class SMC_CAPABILITY("sock") SockTurn {
public:
	explicit SockTurn(struct sock *sk) : sk_(sk) {}

	// False: come back after wait_ms(). The first time it waits a moment for the user to be
	// through, as he is as a rule. Process, no lock.
	[[nodiscard]] bool take() SMC_TRY_ACQUIRE(true)
	{
		if (smc_sk_try_lock(sk_, wait_ms_ == 0)) {
			wait_ms_ = 0;
			return true;
		}
		wait_ms_ = wait_ms_ == 0 ? kFirst_ms : std::min(wait_ms_ * 2, kLast_ms);
		return false;
	}
	// For who may wait: a call of the user's own.
	void wait() SMC_ACQUIRE() { smc_sk_lock(sk_); }
	void give() SMC_RELEASE() { smc_sk_unlock(sk_); }
	// 0: it was free when it was wanted last.
	[[nodiscard]] u64 wait_ms() const { return wait_ms_; }

private:
	static constexpr u64 kFirst_ms = 1;
	static constexpr u64 kLast_ms = 64;

	struct sock *const sk_;
	u64 wait_ms_ = 0;
};

} // namespace smc::shell
