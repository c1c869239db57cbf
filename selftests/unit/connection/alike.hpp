// SPDX-License-Identifier: GPL-2.0-only
//
// Whether two connections that got the same calls, by different ways, can be told apart.
#pragma once

#include <gtest/gtest.h>

#include "core/connection/connection.hpp"

namespace smc::connection {

inline void expect_alike(const Connection &a, const Connection &b)
{
	const Diagnostics x = a.diagnostics();
	const Diagnostics y = b.diagnostics();

	ASSERT_EQ(x.state, y.state);
	ASSERT_EQ(x.rx_producer, y.rx_producer);
	ASSERT_EQ(x.rx_consumer, y.rx_consumer);
	ASSERT_EQ(x.tx_producer, y.tx_producer);
	ASSERT_EQ(x.tx_consumer, y.tx_consumer);
	ASSERT_EQ(x.rx_producer_flags, y.rx_producer_flags);
	ASSERT_EQ(x.rx_state_flags, y.rx_state_flags);
	ASSERT_EQ(x.tx_producer_flags, y.tx_producer_flags);
	ASSERT_EQ(x.tx_state_flags, y.tx_state_flags);
	ASSERT_EQ(x.tx_prepared, y.tx_prepared);
	ASSERT_EQ(x.tx_sent, y.tx_sent);
	ASSERT_EQ(x.tx_finished, y.tx_finished);
	ASSERT_EQ(x.sent_bytes, y.sent_bytes);
	ASSERT_EQ(x.received_bytes, y.received_bytes);
	ASSERT_EQ(a.last_completed().message_number, b.last_completed().message_number);
	ASSERT_EQ(a.last_completed().sent_bytes, b.last_completed().sent_bytes);
	ASSERT_EQ(a.send_status(), b.send_status());
	ASSERT_EQ(a.sndbuf_free_bytes(), b.sndbuf_free_bytes());
	ASSERT_EQ(a.unsent_bytes(), b.unsent_bytes());
	ASSERT_EQ(a.peer_window_bytes(), b.peer_window_bytes());
	ASSERT_EQ(a.peer_rmb_size_bytes(), b.peer_rmb_size_bytes());
	ASSERT_EQ(a.readable_bytes(), b.readable_bytes());
	ASSERT_EQ(a.inquired_bytes(), b.inquired_bytes());
	ASSERT_EQ(a.has_something_to_say(), b.has_something_to_say());
	ASSERT_EQ(a.writable_for_poll(), b.writable_for_poll());
	ASSERT_EQ(a.corked(), b.corked());
	ASSERT_EQ(a.at_mark(), b.at_mark());
	ASSERT_EQ(a.urgent_for_poll(), b.urgent_for_poll());
	ASSERT_EQ(a.at_eof(), b.at_eof());
	ASSERT_EQ(a.finished(), b.finished());
	ASSERT_EQ(a.transmit_idle(), b.transmit_idle());
	ASSERT_FALSE(a.broken() || b.broken());
}

} // namespace smc::connection
