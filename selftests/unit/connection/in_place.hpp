// SPDX-License-Identifier: GPL-2.0-only
//
// The configuration of two connections that share their memory, for the tests of those.
#pragma once

#include <cstdint>

#include "core/connection/connection.hpp"

namespace smc::connection {

constexpr Config in_place_config(std::uint32_t size_bytes)
{
	return {.sndbuf_size_bytes = size_bytes,
		.rmb_size_bytes = size_bytes,
		.peer_rmb_size_bytes = size_bytes,
		.local_token = 1,
		.peer_token = 2,
		.in_place = true};
}

} // namespace smc::connection
