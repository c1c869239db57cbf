// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "shell/base/ib_device.hpp"
#include "shell/control/pnet.hpp"

namespace smc::control {

// PNET ID of a port. Process context.
[[nodiscard]] std::optional<PnetIdBytes> pnet_of_port(const shell::IbDevice &device, u8 port);

// PNET ID of a port of the RDMA device called @name, by that name or by the device's parent. None
// if there is none or no such device. Process context.
[[nodiscard]] std::optional<PnetIdBytes> pnet_of_port(const char *name, u8 port);

} // namespace smc::control
