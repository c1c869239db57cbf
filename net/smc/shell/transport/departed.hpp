// SPDX-License-Identifier: GPL-2.0-only
//
// Departed: the memory held by ends of connections that their program has closed, and that stay for
// their peers, on this host. No program is charged for them, and the peers decide how long they
// stay. So all of them together have a share of the memory for rings. Above it, those leave that
// have sent everything and only wait for the peer's closing flag, the one first that has waited
// longest. They also leave, share or not, when there is no room for another connection's ring.
//
// Locking: lock_ (class LEAF). No function of an end is called under it.
#pragma once

#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"

namespace smc::transport {

struct RestingTag;

// The end of a connection, as this class knows it.
class Departing : public shell::RcuCounted<Departing>, public shell::ListNode<RestingTag> {
public:
	// Closed, with everything sent: stops waiting for the peer. Process.
	virtual void leave() = 0;
	// RcuCounted's: frees it.
	virtual void destroy() = 0;

protected:
	~Departing() = default;
};

class Departed {
public:
	// One half of what rings and TCP may take before there are only small rings.
	static constexpr u64 kShare = 2;
	// For each ring that finds no room, so many rings of that size are freed.
	static constexpr u64 kAhead = 4;

	Departed() = default;
	Departed(const Departed &) = delete;
	Departed &operator=(const Departed &) = delete;

	// @bytes more are held. Any context.
	void hold(u32 bytes);
	// @bytes less are held. Any context.
	void let_go(u32 bytes);
	// They hold more than their share. Any context.
	[[nodiscard]] bool hold_too_much();

	// From now on @end only waits; does nothing if that is known. The caller has a reference to
	// it, and calls forget() before the last one goes. Any context.
	void note_resting(Departing &end);
	void forget(Departing &end);
	// Ends that only wait leave, until the share is kept. Process.
	void make_room();
	// A ring of @bytes was refused. If the account of rings has no room for one, some of the
	// ends that only wait leave. Their rings come back a little later, since some peers have to
	// answer; so more is freed than is wanted now. Process.
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
