// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "names.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <cstdio>

namespace smc_ctl {
namespace {

constexpr int kPorts = 2;

void show_port(const std::string &device, int number, const Attributes &port)
{
	const std::string pnet = port.text(SMC_NL_PORT_PNETID);
	std::printf("%s port %d %s netdev %s links %u", device.c_str(), number,
		    port.number(SMC_NL_PORT_STATE) ? "active" : "inactive",
		    netdev_name(number32(port, SMC_NL_PORT_NETDEV)).c_str(),
		    number32(port, SMC_NL_PORT_LINKS));
	if (!pnet.empty())
		std::printf(" pnet %s%s", pnet.c_str(),
			    port.number(SMC_NL_PORT_PNET_USR) ? " (by user)" : "");
	std::printf("\n");
}

} // namespace

void devices_show()
{
	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_DEV_SMCR, [](std::uint8_t, const Attributes &message) {
			const Attributes device = message.nest(SMC_NL_A_DEV_SMCR);
			const std::string name = device.text(SMC_NL_DEV_IB_NAME);
			for (int i = 0; i < kPorts; i++) {
				if (device.has(SMC_NL_DEV_PORT + i))
					show_port(name, i + 1, device.nest(SMC_NL_DEV_PORT + i));
			}
		});
}

void info_show()
{
	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_SYS_INFO, [](std::uint8_t, const Attributes &message) {
			const Attributes info = message.nest(SMC_NL_A_SYS_INFO);
			std::printf("SMC version %u.%u, host name %s\n",
				    number32(info, SMC_NL_SYS_VER), number32(info, SMC_NL_SYS_REL),
				    info.text(SMC_NL_SYS_LOCAL_HOST).c_str());
		});
}

} // namespace smc_ctl
