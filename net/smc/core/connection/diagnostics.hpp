// SPDX-License-Identifier: GPL-2.0-only
//
// Diagnostics: a snapshot of a connection in the terms of sock_diag's SMC_DIAG_CONNINFO, so that
// smcss shows the same fields as for the kernel's own module.
#pragma once

#include <cstdint>

#include "core/connection/state.hpp"
#include "core/ring/cursor.hpp"

namespace smc::connection {

struct Diagnostics {
	State state = State::kInit;
	std::uint32_t token = 0;
	std::uint32_t sndbuf_size_bytes = 0;
	std::uint32_t rmb_size_bytes = 0;
	std::uint32_t peer_rmb_size_bytes = 0;
	ring::Cursor rx_producer{}; // from the peer: its producer, in our ring
	ring::Cursor rx_consumer{}; // from the peer: its consumer, in its ring
	ring::Cursor tx_producer{}; // ours, in the peer's ring
	ring::Cursor tx_consumer{}; // ours, in our ring
	std::uint8_t rx_producer_flags = 0;
	std::uint8_t rx_state_flags = 0;
	std::uint8_t tx_producer_flags = 0;
	std::uint8_t tx_state_flags = 0;
	ring::Cursor tx_prepared{};       // send buffer: next byte the application appends
	ring::Cursor tx_sent{};           // send buffer: next byte to write to the peer
	ring::Cursor tx_finished{};       // send buffer: oldest byte still needed
	std::uint64_t sent_bytes = 0;     // stream bytes written to the peer so far
	std::uint64_t received_bytes = 0; // stream bytes announced by the peer so far
	std::uint64_t sent_messages = 0;  // CDC, compact ones too
	std::uint64_t stale_messages = 0;
	std::uint64_t repeated_bytes = 0; // written once more, after a link was lost
};

} // namespace smc::connection
