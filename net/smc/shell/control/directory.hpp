// SPDX-License-Identifier: GPL-2.0-only
// Where the control plane finds groups and sockets.
//
// The owner of these objects (shell/transport, shell/socket) installs one
// Directory at init. The control plane itself keeps no list of them, so
// there is no second place that could disagree.
#pragma once

#include <optional>

#include "kernel/abi/control.h"

namespace smc::control {

// Each walk returns the serial number of the object that it has described in @out, none behind the
// last one: serials start at 1, grow, and are never used again, and it is the smallest one above
// @after. Called in process context; may sleep only if it takes no spinlock. @out is zeroed before
// the call. A null member means that there are none.
struct Directory {
	std::optional<u64> (*next_group)(net *net, u64 after, smc_lgr_info &out);
	std::optional<u64> (*next_smcd_group)(net *net, u64 after, smc_smcd_lgr_info &out);
	// Takes a reference on out.sk.
	std::optional<u64> (*next_socket)(net *net, u64 after, smc_sock_info &out);
	// The namespace is about to go, perhaps with others: begin to end what belongs to it, and
	// wait for nothing.
	void (*namespace_leaves)(net *net);
	// The namespace goes away: end every group that belongs to it and do not return before the
	// last use of the namespace's counters.
	void (*namespace_exit)(net *net);
};

// @directory must outlive its use; nullptr takes the old one out. Install before
// smc_netlink_init(), take out after smc_netlink_exit(). Because namespaces may end at any time,
// take it out only when namespace_exit has nothing more to do.
void set_directory(const Directory *directory);
// The one that is installed, or nullptr.
[[nodiscard]] const Directory *directory();

// For the control plane: tells the owner that @net is about to go, and that it goes away.
void leave_namespace(net *net);
void end_namespace(net *net);

} // namespace smc::control
