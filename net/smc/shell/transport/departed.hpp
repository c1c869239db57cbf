// SPDX-License-Identifier: GPL-2.0-only
//
// Departed: what the ends of connections hold whose program has closed them, and that stay for
// their peers, on this host. No program is charged for them, and it is the peers who decide how
// long it takes. So there is a limit to all of them together. Above it those give way that have
// nothing left to say and only wait for the peer's word, the one first that has waited longest.
//
// Locking: lock_ (class LEAF). An end is never entered under it.
#pragma once

#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"

namespace smc::transport {

class Endpoint;
struct RestingTag;

class Departed {
public:
	Departed() = default;
	Departed(const Departed &) = delete;
	Departed &operator=(const Departed &) = delete;

	// @bytes more are held. Any context.
	void hold(u32 bytes);
	// ... and so many no more. Any context.
	void let_go(u32 bytes);
	[[nodiscard]] bool hold_more_than(u64 max_bytes);

	// @end only waits from now on, unless that is known. Whoever calls has a reference on it,
	// and calls forget() before the last one goes. Any context.
	void note_resting(Endpoint &end);
	void forget(Endpoint &end);
	// Those that only wait leave, as long as all hold more than that. Process.
	void make_room(u64 max_bytes);

private:
	[[nodiscard]] shell::Ref<Endpoint> take_oldest(u64 max_bytes);

	shell::SpinLock lock_{SMC_LOCK_LEAF};
	shell::List<Endpoint, RestingTag> resting_; // oldest first
	u64 bytes_ = 0;
};

// Exists between setup and teardown.
[[nodiscard]] Departed &departed();
[[nodiscard]] bool set_up_departed();
void tear_down_departed();

} // namespace smc::transport
