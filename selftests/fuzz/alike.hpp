// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/connection/connection.hpp"

namespace smc::fuzz {

// What a caller, or the peer, could tell them apart by.
[[nodiscard]] inline bool alike(connection::Connection a, connection::Connection b)
{
	const connection::Diagnostics x = a.diagnostics();
	const connection::Diagnostics y = b.diagnostics();

	return x.state == y.state && x.rx_producer == y.rx_producer &&
	       x.rx_consumer == y.rx_consumer && x.tx_producer == y.tx_producer &&
	       x.tx_consumer == y.tx_consumer && x.tx_prepared == y.tx_prepared &&
	       x.tx_sent == y.tx_sent && x.tx_finished == y.tx_finished &&
	       x.rx_producer_flags == y.rx_producer_flags &&
	       x.tx_producer_flags == y.tx_producer_flags && x.rx_state_flags == y.rx_state_flags &&
	       x.tx_state_flags == y.tx_state_flags && x.sent_bytes == y.sent_bytes &&
	       x.received_bytes == y.received_bytes && a.send_status() == b.send_status() &&
	       a.transmit_idle() == b.transmit_idle() &&
	       a.peer_window_bytes() == b.peer_window_bytes() &&
	       a.readable_bytes() == b.readable_bytes() && a.corked() == b.corked() &&
	       a.has_something_to_say() == b.has_something_to_say() && a.at_mark() == b.at_mark() &&
	       a.urgent_for_poll() == b.urgent_for_poll() &&
	       a.take_urgent(/*peek=*/true).status == b.take_urgent(/*peek=*/true).status &&
	       a.queued_bytes() == b.queued_bytes() &&
	       a.writable_for_poll() == b.writable_for_poll() && a.broken() == b.broken();
}

} // namespace smc::fuzz
