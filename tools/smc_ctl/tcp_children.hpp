// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "sockets.hpp"

#include <vector>

namespace smc_ctl {

// TCP sockets of this network namespace that listeners among @sockets have accepted, since SMC was
// not possible. The TCP sockets below SMC sockets are not among them, but during a handshake. Empty
// if the kernel has no tcp_diag. Throws NetlinkError.
[[nodiscard]] std::vector<SocketInfo> tcp_children(const std::vector<SocketInfo> &sockets);

} // namespace smc_ctl
