// SPDX-License-Identifier: GPL-2.0-only
// Directory: how the control plane finds groups and sockets.
//
// Their owners (shell/transport, shell/socket) install one Directory at init. The control plane
// keeps no list of them, so no second list can disagree.
#pragma once

#include <optional>

#include "kernel/abi/control.h"

namespace smc::control {

// Each walk returns the serial number of the object that it has described in @out: the smallest one
// above @after; none behind the last one. Serials start at 1, grow, and are never used again.
// Called in process context; may sleep only if it takes no spinlock. @out is zeroed before the
// call. A null member means that there are no such objects.
struct Directory {
	std::optional<u64> (*next_group)(net *net, u64 after, smc_lgr_info &out);
	std::optional<u64> (*next_smcd_group)(net *net, u64 after, smc_smcd_lgr_info &out);
	// Takes a reference on out.sk.
	std::optional<u64> (*next_socket)(net *net, u64 after, smc_sock_info &out);
	// The namespace is about to go, perhaps with others: begins to end its objects, without
	// waiting.
	void (*namespace_leaves)(net *net);
	// The namespace goes: ends each of its groups, and returns after the last use of the
	// namespace's counters.
	void (*namespace_exit)(net *net);
};

// @directory must outlive its use; nullptr removes it. Install before smc_netlink_init(), remove
// after smc_netlink_exit(). Namespaces may end at any time, so remove it only when namespace_exit
// has nothing left to do.
void set_directory(const Directory *directory);
// The installed one, or nullptr.
[[nodiscard]] const Directory *directory();

// For the control plane: calls namespace_leaves and namespace_exit.
void leave_namespace(net *net);
void end_namespace(net *net);

} // namespace smc::control
