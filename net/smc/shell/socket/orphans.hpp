// SPDX-License-Identifier: GPL-2.0-only
//
// Orphans: handshakes of servers whose listener has closed while their client was about to confirm.
// For the client, the Confirm ends a later contact. If this side were gone by then, the client
// would write into memory that others may have, and wait for ever. So they run on until the
// Confirm, or its timeout, and are then reset like any connection.
//
// Nothing waits for them: the end of their namespace, and the module's, cut them short. Their
// groups end then, too, and tell the peer that way.
//
// Locking: lock_ (class LISTENER) guards both lists.
#pragma once

#include "shell/base/alloc.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/work.hpp"
#include "shell/socket/handshake.hpp"

namespace smc::shell {

class Orphans final : public HandshakeOwner {
public:
	Orphans() = default;
	Orphans(const Orphans &) = delete;
	Orphans &operator=(const Orphans &) = delete;

	// Takes over a handshake that stop_for_heir() has stopped, and its socket. Process.
	void adopt(Ref<Handshake> handshake);
	// Ends those of @net, or all if it is nullptr. Process.
	void end(const net *net);

	[[nodiscard]] bool on_handshake_done(Handshake &handshake) override;

private:
	using Children = RefList<Handshake, ChildrenTag>;

	void run();
	// The first one of @net in the list, or of any namespace if it is nullptr.
	[[nodiscard]] Ref<Handshake> take(Children Orphans::*list, const net *net);
	[[nodiscard]] Children &list_locked(Children Orphans::*list) SMC_REQUIRES(lock_)
	{
		return this->*list;
	}

	SpinLock lock_{SMC_LOCK_LISTENER};
	Children under_way_ SMC_GUARDED_BY(lock_);
	Children done_ SMC_GUARDED_BY(lock_); // run() ends these
	Work<Orphans, &Orphans::run> work_{*this, SMC_WORK_OF_LISTENER};
};

// Exists between setup and teardown.
[[nodiscard]] Orphans &orphans();
[[nodiscard]] bool set_up_orphans();
void tear_down_orphans();

} // namespace smc::shell
