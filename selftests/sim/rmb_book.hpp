// SPDX-License-Identifier: GPL-2.0-only
//
// What hosts have told each other of their RMBs: the rkey and the address of each one on each of
// its owner's queue pairs. A queue pair has keys of its own, and no rkey is given twice.
#pragma once

#include <optional>

#include "kernel/abi/types.h"

namespace sim {

// Names an RMB, whatever its rkey is.
using RmbNumber = u64;

struct RmbKey {
	u32 rkey = 0;
	u64 address = 0;
};

// The owner tells the peer by which rkey it gets to an RMB on @qpn. It is a new one, unless that
// rkey is known.
RmbNumber tell_rmb(u32 qpn, const RmbKey &key);
// And to one that is known already, on another link.
void tell_rmb_on(RmbNumber rmb, u32 qpn, const RmbKey &key);
[[nodiscard]] std::optional<RmbNumber> rmb_of(u32 rkey);
[[nodiscard]] std::optional<RmbKey> rmb_on(RmbNumber rmb, u32 qpn);

// The peer has said that it writes there no more; and that it may do so again.
void forget_rmb(RmbNumber rmb);
void remember_rmb(RmbNumber rmb);
[[nodiscard]] bool is_forgotten(u32 rkey);

} // namespace sim
