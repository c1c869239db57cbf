// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace smc_ctl {

// Which TCP segments are wanted. Without either: what can belong to a handshake of SMC.
struct TcpFilter {
	std::string host{};     // a prefix; empty: any
	std::uint16_t port = 0; // 0: any
};

// In the language of pcap-filter(7): RoCE, and on a network device these segments, too. Throws
// NetlinkError if @tcp has no prefix.
[[nodiscard]] std::string filter_of_netdev(const TcpFilter &tcp, bool has_vlans);
[[nodiscard]] std::string filter_of_rdma_device();

} // namespace smc_ctl
