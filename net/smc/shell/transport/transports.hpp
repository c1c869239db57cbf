// SPDX-License-Identifier: GPL-2.0-only
//
// All transports of this module.
#pragma once

#include <span>

#include "shell/transport/transport.hpp"

namespace smc::transport {

[[nodiscard]] std::span<Transport *const> transports();

// The furthest reach of them. Any context.
[[nodiscard]] Reach reach_in_kernel(net *net);

// False if there is no memory; then nothing is set up. Process.
[[nodiscard]] bool set_up_transports();
void tear_down_transports();

} // namespace smc::transport
