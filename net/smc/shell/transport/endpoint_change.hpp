// SPDX-License-Identifier: GPL-2.0-only
//
// Endpoint::change(), for the files of Endpoint itself.
#pragma once

#include <utility>

#include "shell/transport/endpoint.hpp"

namespace smc::transport {

inline Endpoint::Changes Endpoint::collect_locked(u16 own)
{
	own |= std::exchange(heard_events_, u16{0});
	// Until then nobody can do anything about it, and release_from_user() looks.
	if ((own & connection::event::kReleasable) != 0 && !released_)
		own &= static_cast<u16>(~connection::event::kReleasable);
	if (neighbour_ == nullptr)
		return {.own = own};
	shares_lock_with(*neighbour_);
	return {.neighbour = neighbour_,
		.own = own,
		.theirs = std::exchange(neighbour_->heard_events_, u16{0})};
}

inline Endpoint::Changes Endpoint::collect_changes(u16 own)
{
	// The neighbour may be released meanwhile by its owner.
	if (neighbour_ != nullptr)
		smc_rcu_read_lock();
	return collect_locked(own);
}

inline void Endpoint::settle_own(const Changes &changes)
{
	if (changes.own != 0 || lingering_.load(std::memory_order_acquire))
		settle(changes.own);
}

inline void Endpoint::settle_theirs(const Changes &changes)
{
	if (changes.theirs != 0 || changes.neighbour->lingering_.load(std::memory_order_acquire))
		changes.neighbour->settle_neighbour(changes.theirs);
}

inline void Endpoint::settle_changes(const Changes &changes)
{
	settle_own(changes);
	if (changes.neighbour == nullptr)
		return;
	const shell::RcuGuard rcu(shell::RcuGuard::Entered{});
	settle_theirs(changes);
}

template <class F>
void Endpoint::change(F &&f)
{
	Changes changes;
	{
		shell::Guard guard(lock_);
		changes = collect_changes(f());
	}
	settle_changes(changes);
}

} // namespace smc::transport
