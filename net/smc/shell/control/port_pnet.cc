// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/port_pnet.hpp"

namespace smc::control {

std::optional<PnetIdBytes> pnet_of_port(const shell::IbDevice &device, u8 port)
{
	// Without an entry, as on most hosts, nobody has to know what the device is called.
	if (!has_pnet_entries())
		return std::nullopt;
	const struct smc_ib_device_info info = device.info();
	return pnet_of_ib(info.name, info.parent_name, port);
}

std::optional<PnetIdBytes> pnet_of_port(const char *name, u8 port)
{
	const auto device = shell::IbDevice::adopt(smc_ib_device_find(name));

	return device ? pnet_of_port(device, port) : std::nullopt;
}

} // namespace smc::control
