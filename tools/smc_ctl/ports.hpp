// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace smc_ctl {

// A folder for each device.
inline constexpr const char *kRdmaDevices = "/sys/class/infiniband";

// A port of an RDMA device that SMC may use.
struct RdmaPort {
	std::string device;
	int number = 1;
	bool iwarp = false; // else RoCE
	bool active = false;
	unsigned ifindex = 0; // of its network device; 0: none
	unsigned links = 0;
	std::string pnet; // empty: none
	bool pnet_by_user = false;
};

// Throws NetlinkError.
[[nodiscard]] std::vector<RdmaPort> rdma_ports();
// Whether a port has a GID of RoCE v2 for an IPv4 address. Nothing if sysfs does not say.
[[nodiscard]] std::optional<bool> has_ipv4_gid(const RdmaPort &port);

} // namespace smc_ctl
