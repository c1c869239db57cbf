// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "file.hpp"
#include "json.hpp"
#include "names.hpp"
#include "netlink.hpp"
#include "ports.hpp"

#include <smc/genl.h>

#include <cstdio>
#include <filesystem>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

constexpr int kPorts = 2;

RdmaPort port_of(const std::string &device, int number, const Attributes &port)
{
	const std::string type = first_line(fs::path(kRdmaDevices) / device / "node_type");

	return {.device = device,
		.number = number,
		.iwarp = type.find("RNIC") != std::string::npos,
		.active = port.number(SMC_NL_PORT_STATE) != 0,
		.ifindex = number32(port, SMC_NL_PORT_NETDEV),
		.links = number32(port, SMC_NL_PORT_LINKS),
		.pnet = port.text(SMC_NL_PORT_PNETID),
		.pnet_by_user = port.number(SMC_NL_PORT_PNET_USR) != 0};
}

const char *kind_of(const RdmaPort &port)
{
	return port.iwarp ? "iWARP" : "RoCE";
}

} // namespace

std::vector<RdmaPort> rdma_ports()
{
	std::vector<RdmaPort> ports;

	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_DEV_SMCR, [&](std::uint8_t, const Attributes &message) {
			const Attributes device = message.nest(SMC_NL_A_DEV_SMCR);
			const std::string name = device.text(SMC_NL_DEV_IB_NAME);
			for (int i = 0; i < kPorts; i++) {
				if (device.has(SMC_NL_DEV_PORT + i))
					ports.push_back(port_of(name, i + 1,
								device.nest(SMC_NL_DEV_PORT + i)));
			}
		});
	return ports;
}

std::optional<bool> has_ipv4_gid(const RdmaPort &port)
{
	// The GID of an IPv4 address is that address as IPv6 maps it.
	constexpr const char *kMapped = "0000:0000:0000:0000:0000:ffff:";
	const fs::path directory =
		fs::path(kRdmaDevices) / port.device / "ports" / std::to_string(port.number);
	std::error_code none;

	if (!fs::exists(directory / "gids", none))
		return std::nullopt;
	for (const fs::directory_entry &gid : fs::directory_iterator(directory / "gids", none)) {
		const fs::path type = directory / "gid_attrs/types" / gid.path().filename();

		if (first_line(gid.path()).starts_with(kMapped) &&
		    first_line(type).find("RoCE v2") != std::string::npos)
			return true;
	}
	return false;
}

void devices_show(bool json)
{
	Json rows = Json::array();

	for (const RdmaPort &port : rdma_ports()) {
		if (json) {
			rows.push_back({{"device", port.device},
					{"port", port.number},
					{"kind", kind_of(port)},
					{"active", port.active},
					{"netdev", netdev_name(port.ifindex)},
					{"links", port.links},
					{"pnet", port.pnet},
					{"pnet_by_user", port.pnet_by_user}});
			continue;
		}
		std::printf("%s port %d %s netdev %s links %u%s", port.device.c_str(), port.number,
			    port.active ? "active" : "inactive", netdev_name(port.ifindex).c_str(),
			    port.links, port.iwarp ? " iWARP" : "");
		if (!port.pnet.empty())
			std::printf(" pnet %s%s", port.pnet.c_str(),
				    port.pnet_by_user ? " (by user)" : "");
		std::printf("\n");
	}
	if (json)
		print(rows);
}

void info_show(bool json)
{
	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_SYS_INFO, [&](std::uint8_t, const Attributes &message) {
			const Attributes info = message.nest(SMC_NL_A_SYS_INFO);

			if (json) {
				print({{"version", info.number(SMC_NL_SYS_VER)},
				       {"release", info.number(SMC_NL_SYS_REL)},
				       {"host", info.text(SMC_NL_SYS_LOCAL_HOST)}});
				return;
			}
			std::printf("SMC version %u.%u, host name %s\n",
				    number32(info, SMC_NL_SYS_VER), number32(info, SMC_NL_SYS_REL),
				    info.text(SMC_NL_SYS_LOCAL_HOST).c_str());
		});
}

} // namespace smc_ctl
