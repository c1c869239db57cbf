// SPDX-License-Identifier: GPL-2.0-only
//
// The calls of a connected SMC socket: TCP's semantics over an endpoint's rings. Process context,
// without the sock's lock, which they take. They return what struct proto_ops wants.
#pragma once

#include "kernel/abi/callbacks/socket.h"
#include "shell/socket/smc_socket.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::shell::stream {

// If @socket is not connected by SMC any more, both return TCP's answer for a socket that was just
// disconnected: a new state, or even a new connection, is for the next call. @left_jiffies: how
// long a call may still sleep that has waited for the connection; nullptr: as the socket says.
int send(SmcSocket &socket, msghdr *msg, size_t len, u32 flags, bool has_control,
	 const long *left_jiffies = nullptr);
int receive(SmcSocket &socket, msghdr *msg, size_t len, u32 flags,
	    const long *left_jiffies = nullptr);
// Poll bits; the poller is registered already. Does not sleep.
u32 poll(struct sock *sk, transport::Endpoint &endpoint, bool shut_rcv);
int ioctl(struct sock *sk, transport::Endpoint &endpoint, unsigned int cmd, unsigned long arg,
	  bool *handled);
// After TCP has stored TCP_NODELAY or TCP_CORK.
void option_changed(struct sock *sk, transport::Endpoint &endpoint, smc_option option);
// Sends what MSG_MORE has held back, unless a cork holds it, too.
void push(struct sock *sk, transport::Endpoint &endpoint);

} // namespace smc::shell::stream
