// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <optional>

#include "kernel/abi/control.h"

namespace smc::control {

using PnetIdBytes = std::array<u8, SMC_PNETID_LEN>;

// False: no port has a PNET ID. Any context.
[[nodiscard]] bool has_pnet_entries();

// PNET ID of a port (from 1) of the RDMA device called @name; @parent: the name of the device that
// it sits on (a PCI address), or nullptr. RDMA devices are configured in the initial namespace
// alone. Any context.
[[nodiscard]] std::optional<PnetIdBytes> pnet_of_ib(const char *name, const char *parent, u8 port);

} // namespace smc::control
