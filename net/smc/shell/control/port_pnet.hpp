// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "kernel/abi/control.h"

namespace smc::control {

// PNET ID of a port of the RDMA device called @name, by that name or by the device's parent. False,
// and @out untouched, if there is none or no such device. Process context.
bool pnet_of_port(const char *name, u8 port, u8 (&out)[SMC_PNETID_LEN]);

} // namespace smc::control
