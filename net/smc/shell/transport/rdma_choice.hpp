// SPDX-License-Identifier: GPL-2.0-only
//
// What the rest of the module has of SMC-R. For a kernel that was built without RDMA
// (CONFIG_INFINIBAND) Kbuild takes without_rdma.cc and leaves SMC-R out.
#pragma once

#include <optional>

#include "kernel/abi/control.h"
#include "shell/transport/transport.hpp"

namespace smc::transport {

// Null in a kernel without RDMA.
[[nodiscard]] Transport *rdma_transport();

// The link group of @net behind the one numbered @after, and its number. Process.
[[nodiscard]] std::optional<u64> next_link_group(net *net, u64 after, smc_lgr_info &out);

} // namespace smc::transport
