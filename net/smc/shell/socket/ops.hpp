// SPDX-License-Identifier: GPL-2.0-only
//
// Shared by the calls of a socket (ops*.cc): the socket's state at that moment.
#pragma once

#include "kernel/abi/sock.h"
#include "shell/base/ref.hpp"
#include "shell/socket/smc_socket.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::shell {

inline constexpr int kNonblockFlag = 00004000;

inline Mode mode_of(struct socket *sock)
{
	const SmcSocket *state = SmcSocket::of(sock);
	return state != nullptr ? state->mode() : Mode::kIdle;
}

// The endpoint, if the socket is SMC.
inline Ref<transport::Endpoint> connection_of(const SmcSocket *state)
{
	return state != nullptr && state->mode() == Mode::kSmc ? state->connection()
							       : Ref<transport::Endpoint>();
}

// TCP would be in state CLOSE: after a reset, or when both ends have announced their end.
[[nodiscard]] bool is_over(struct sock *sk, transport::Endpoint &endpoint);
// For a connect(), or a call that asks for a connection as well, that began before any other one
// had reported the connection. 0 or -errno. Process, no lock.
[[nodiscard]] int claim_connection(struct socket *sock, SmcSocket &state);
// Makes an unused socket a TCP socket, since SMC cannot do what is asked for. 0 or -errno; another
// thread may make something else of it meanwhile.
[[nodiscard]] int leave_to_tcp(struct socket *sock);
// After a call that may have ended TCP's listening.
void end_listening(SmcSocket &state);

} // namespace smc::shell
