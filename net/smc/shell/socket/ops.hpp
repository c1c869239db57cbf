// SPDX-License-Identifier: GPL-2.0-only
//
// What the calls of a socket (ops*.cc) share: what the socket is at that moment.
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

// What carries the bytes, if it is SMC.
inline Ref<transport::Endpoint> connection_of(const SmcSocket *state)
{
	return state != nullptr && state->mode() == Mode::kSmc ? state->connection()
							       : Ref<transport::Endpoint>();
}

// TCP would be in state CLOSE: after a reset, or when both ends have said their last word.
[[nodiscard]] bool is_over(struct sock *sk, transport::Endpoint &endpoint);
// The first connect() since a connection was made, or what asks for one as well. 0 or -errno.
[[nodiscard]] int claim_connection(struct socket *sock, SmcSocket &state);
// Makes a TCP socket of one that is nothing yet, since SMC cannot do what is asked for. 0 or
// -errno; another thread may make something else of it meanwhile.
[[nodiscard]] int leave_to_tcp(struct socket *sock);
// After TCP has stopped to listen, if it has.
void end_listening(SmcSocket &state);

} // namespace smc::shell
