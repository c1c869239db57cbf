// SPDX-License-Identifier: GPL-2.0-only
//
// How TCP connections come about: listeners and SYNs.
#pragma once

#include "socket.hpp"

namespace sim {

// At its port.
void start_listening(struct sock *sk);
void stop_listening(const struct sock *sk);

// Of a client that is in SMC_TCP_SYN_SENT.
void send_syn(struct sock *client, net *host, u16 port);
// Simultaneous open, without loss.
void meet(struct sock *sk, struct sock *other, bool one_sided);

} // namespace sim
