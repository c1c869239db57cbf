// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/port_pnet.hpp"

#include "kernel/abi/verbs.h"

namespace smc::control {

bool pnet_of_port(const char *name, u8 port, u8 (&out)[SMC_PNETID_LEN])
{
	smc_ib_device *device = smc_ib_device_find(name);
	if (!device)
		return false;
	struct smc_ib_device_info info = {};
	smc_ib_device_info(device, &info);
	smc_ib_device_put(device);
	return smc_pnet_of_ib(info.name, info.parent_name, port, out);
}

} // namespace smc::control
