// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace smc_ctl {

// Network devices that are up. Of those on top of others, as VLANs, bonds and bridges, only the
// lowest: what the upper ones move passes these.
[[nodiscard]] std::vector<std::string> lowest_netdevs();
// Ports of RDMA devices with RoCE whose packets pass no network device: those that are hardware.
[[nodiscard]] std::vector<std::string> rdma_hardware();
[[nodiscard]] bool is_netdev(const std::string &name);
[[nodiscard]] bool is_rdma_device(const std::string &name);

} // namespace smc_ctl
