// SPDX-License-Identifier: GPL-2.0-only
//
// The calls of a connected SMC socket: TCP's semantics over an endpoint's rings. Process context,
// without the sock's lock, which they take. Results are those of struct proto_ops.
#pragma once

#include <atomic>

#include "shell/transport/endpoint.hpp"

namespace smc::shell::stream {

int send(struct sock *sk, transport::Endpoint &endpoint, msghdr *msg, size_t len, bool nonblock);
// @shut_rcv: shutdown(SHUT_RD) was called; looked at again after each wait.
int receive(struct sock *sk, transport::Endpoint &endpoint, msghdr *msg, size_t len, int flags,
	    const std::atomic<bool> &shut_rcv, bool nonblock);
// Poll bits; the poller is registered already.
u32 poll(struct sock *sk, transport::Endpoint &endpoint, bool shut_rcv);
int ioctl(struct sock *sk, transport::Endpoint &endpoint, unsigned int cmd, unsigned long arg,
	  bool *handled);
// TCP_NODELAY or TCP_CORK has changed.
void options_changed(struct sock *sk, transport::Endpoint &endpoint);

} // namespace smc::shell::stream
