// SPDX-License-Identifier: GPL-2.0-only
//
// Departed: what the ends of connections hold whose program has closed them, and that stay for
// their peers, on this host. No program is charged for them, and it is the peers who decide how
// long it takes. So they have a share in what rings may take, all of them together. Above it those
// give way that have nothing left to say and only wait for the peer's word, the one first that has
// waited longest; and so they do, share or not, when there is no room for somebody else's ring.
//
// Locking: lock_ (class LEAF). An end is never entered under it.
#pragma once

#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"

namespace smc::transport {

struct RestingTag;

// An end of a connection, as far as this is concerned.
class Departing : public shell::RcuCounted<Departing>, public shell::ListNode<RestingTag> {
public:
	// Closed, with nothing left to say: waits for the peer no longer. Process.
	virtual void leave() = 0;
	// RcuCounted's: frees it.
	virtual void destroy() = 0;

protected:
	~Departing() = default;
};

class Departed {
public:
	// One half of what rings, and TCP, may have before there are small rings only.
	static constexpr u64 kShare = 2;
	// Rings that are made free for one that is not to be had.
	static constexpr u64 kAhead = 4;

	Departed() = default;
	Departed(const Departed &) = delete;
	Departed &operator=(const Departed &) = delete;

	// @bytes more are held. Any context.
	void hold(u32 bytes);
	// ... and so many no more. Any context.
	void let_go(u32 bytes);
	// More than their share. Any context.
	[[nodiscard]] bool hold_too_much();

	// @end only waits from now on, unless that is known. Whoever calls has a reference on it,
	// and calls forget() before the last one goes. Any context.
	void note_resting(Departing &end);
	void forget(Departing &end);
	// Those that only wait leave, as long as all hold too much. Process.
	void make_room();
	// Somebody gets no ring of @bytes. If it is the account that has no room for one, some of
	// those that only wait leave. Their rings come back a little later, as the peer has to
	// answer for some; so it is more than is wanted now. Process.
	void make_room_for(u32 bytes);

private:
	[[nodiscard]] shell::Ref<Departing> take_oldest(u64 max_bytes);
	void shrink_to(u64 max_bytes);

	shell::SpinLock lock_{SMC_LOCK_LEAF};
	shell::List<Departing, RestingTag> resting_ SMC_GUARDED_BY(lock_); // oldest first
	u64 bytes_ SMC_GUARDED_BY(lock_) = 0;
};

// Exists between setup and teardown.
[[nodiscard]] Departed &departed();
[[nodiscard]] bool set_up_departed();
void tear_down_departed();

} // namespace smc::transport
