// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "json.hpp"

#include <smc/diag.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smc_ctl {

enum class Carrier {
	kNone, // it is not connected
	kSmcR,
	kSmcD,
	kTcp,
};

struct Endpoint {
	std::string address; // empty: it has no peer
	std::uint16_t port = 0;
};

// A socket of SMC of this network namespace, or what became of one.
struct SocketInfo {
	std::string state;
	Endpoint local;
	Endpoint peer;
	std::uint32_t uid = 0;
	std::uint64_t inode = 0;
	Carrier carrier = Carrier::kNone;
	// SMC-R
	std::string device;
	unsigned port = 0;
	unsigned link = 0;
	// SMC-D
	std::uint32_t group = 0;
	std::uint64_t token = 0;
	std::uint64_t peer_token = 0;
	// TCP
	std::uint32_t reason = 0;
	std::uint32_t peer_reason = 0; // 0: the peer has not said one
	bool accepted = false;         // a socket of TCP, from a listener of SMC
	// Of SMC connections; the kernel's own module does not say.
	std::optional<smc_diag_traffic> traffic;
};

// Throws NetlinkError.
[[nodiscard]] std::vector<SocketInfo> sockets();
[[nodiscard]] std::string text_of(const Endpoint &endpoint);
[[nodiscard]] Json json_of(const Endpoint &endpoint);

} // namespace smc_ctl
