// SPDX-License-Identifier: GPL-2.0-only
//
// The calls of a connected SMC socket: TCP's semantics over an endpoint's rings. Process context,
// without the sock's lock, which they take. Results are those of struct proto_ops.
#pragma once

#include "kernel/abi/callbacks/socket.h"
#include "shell/socket/smc_socket.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::shell::stream {

// Where @socket is not connected by SMC any more, both say what TCP says of a socket that was just
// disconnected: what came afterwards, another connection even, is for the next call.
int send(SmcSocket &socket, msghdr *msg, size_t len, u32 flags, bool has_control);
int receive(SmcSocket &socket, msghdr *msg, size_t len, u32 flags);
// Poll bits; the poller is registered already. Does not sleep.
u32 poll(struct sock *sk, transport::Endpoint &endpoint, bool shut_rcv);
int ioctl(struct sock *sk, transport::Endpoint &endpoint, unsigned int cmd, unsigned long arg,
	  bool *handled);
// After TCP has taken note of TCP_NODELAY or TCP_CORK.
void option_changed(struct sock *sk, transport::Endpoint &endpoint, smc_option option);
// What MSG_MORE has held back goes out, unless a cork holds it, too.
void push(struct sock *sk, transport::Endpoint &endpoint);

} // namespace smc::shell::stream
