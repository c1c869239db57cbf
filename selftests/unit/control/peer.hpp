// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "core/control/peer_memory.hpp"

namespace smc::control::test {

// 10.0.0.@last
inline Peer peer(std::uint16_t port, std::uint8_t last = 1, std::uint32_t scope_id = 0)
{
	Peer result{.scope_id = scope_id, .port = port};

	result.address[10] = result.address[11] = 0xff;
	result.address[12] = 10;
	result.address[15] = last;
	return result;
}

} // namespace smc::control::test
