// SPDX-License-Identifier: GPL-2.0-only
//
// WakeHook: calls T::method at each wakeup of a socket's wait queue, under that queue's lock, in
// any context. If the method returns true the hook is removed.
#pragma once

#include "kernel/abi/wake_hook.h"

namespace smc::shell {

template <class T, bool (T::*method)()>
class WakeHook : private smc_wake_hook {
public:
	WakeHook(struct socket *sock, T &owner) : owner_(owner)
	{
		smc_wake_hook_init(this, sock, run);
	}
	WakeHook(const WakeHook &) = delete;
	WakeHook &operator=(const WakeHook &) = delete;

	// Does nothing if it is there already. Any context.
	void add() { smc_wake_hook_add(this); }
	// The method does not run afterwards, whether the hook was there or not. Any context.
	void remove() { smc_wake_hook_remove(this); }

private:
	static bool run(smc_wake_hook *hook)
	{
		return (static_cast<WakeHook *>(hook)->owner_.*method)();
	}

	T &owner_;
};

} // namespace smc::shell
