// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "kernel/abi/types.h"

namespace smc::control {

class Namespace;

// Counts that a connection goes on as TCP, and for which reason: the diagnosis of a Decline (RFC
// 7609, SMCv2), ours or PEERDECL. Any context, lock-free.
void count_fallback(sock *sk, u32 reason, bool server);
// The same for a caller that has the sock's namespace at hand.
void count_fallback(Namespace &space, sock *sk, u32 reason, bool server);

} // namespace smc::control
