// SPDX-License-Identifier: GPL-2.0-only
//
// Endpoint::change(), for the files of Endpoint itself.
#pragma once

#include <utility>

#include "shell/transport/endpoint.hpp"

namespace smc::transport {

template <class F>
void Endpoint::change(F &&f)
{
	Endpoint *neighbour;
	u16 own;
	u16 theirs = 0;
	{
		shell::Guard guard(lock_);
		own = f();
		own |= std::exchange(heard_events_, u16{0});
		neighbour = neighbour_;
		if (neighbour != nullptr) {
			// The neighbour may be released meanwhile by its owner.
			smc_rcu_read_lock();
			shares_lock_with(*neighbour);
			theirs = std::exchange(neighbour->heard_events_, u16{0});
		}
	}
	if (own != 0 || lingering_.load(std::memory_order_acquire))
		settle(own);
	if (neighbour == nullptr)
		return;
	const shell::RcuGuard rcu(shell::RcuGuard::Entered{});
	if (theirs != 0 || neighbour->lingering_.load(std::memory_order_acquire))
		neighbour->settle_neighbour(theirs);
}

} // namespace smc::transport
