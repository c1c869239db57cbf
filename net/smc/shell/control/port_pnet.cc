// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/port_pnet.hpp"

#include "shell/base/ib_device.hpp"

namespace smc::control {

std::optional<PnetIdBytes> pnet_of_port(const char *name, u8 port)
{
	const auto device = shell::IbDevice::adopt(smc_ib_device_find(name));

	if (!device)
		return std::nullopt;
	const struct smc_ib_device_info info = device.info();
	return pnet_of_ib(info.name, info.parent_name, port);
}

} // namespace smc::control
