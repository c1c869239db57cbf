// SPDX-License-Identifier: GPL-2.0-only
//
// connect(), also on a connected socket, and connect(AF_UNSPEC).
#include <cerrno>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/verbs.h"
#include "shell/control/fallback.hpp"
#include "shell/socket/ops.hpp"
#include "shell/transport/transports.hpp"

namespace smc::shell {
namespace {

constexpr u16 kUnspec = 0;

u16 family_of(const sockaddr *addr, int addr_len)
{
	u16 family = 0xffff;

	if (addr != nullptr && addr_len >= static_cast<int>(sizeof(family)))
		__builtin_memcpy(&family, addr, sizeof(family));
	return family;
}

// A connect() while the handshake runs, or after it.
int finish_connect(struct socket *sock, SmcSocket &state, int flags)
{
	struct sock *sk = smc_sock_sk(sock);
	long timeo = smc_sk_sndtimeo(sk, (flags & kNonblockFlag) != 0);

	smc_sk_lock(sk);
	int ret = state.wait_settled(&timeo);
	smc_sk_unlock(sk);
	// io_uring repeats the call at every wakeup and would take -EALREADY for the result. The
	// flag is its own then, not the descriptor's.
	if (ret == -EAGAIN)
		return (flags & kNonblockFlag) == 0 || smc_sock_nonblock(sock) ? -EALREADY
									       : -EINPROGRESS;
	if (ret != 0)
		return ret;
	switch (state.mode()) {
	case Mode::kSmc:
	case Mode::kFallen: return claim_connection(sock, state);
	case Mode::kIdle:
	case Mode::kConnecting:
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking:
	case Mode::kListening: break;
	}
	// The handshake failed and reset TCP's connection. Nothing of it is left, as on TCP, unless
	// another thread connects the socket already.
	smc_sk_lock(sk);
	ret = smc_sk_take_error(sk);
	if (state.mode() == Mode::kIdle && smc_sk_state(sk) == SMC_TCP_CLOSE) {
		smc_tcp_forget(sk);
		smc_sock_set_ss(sock, SMC_SS_UNCONNECTED);
	}
	smc_sk_unlock(sk);
	return ret != 0 ? ret : -ECONNABORTED;
}

bool may_be_near(struct sock *sk, const sockaddr *addr, int addr_len)
{
	return transport::reach_in_kernel(smc_sk_net(sk)) != transport::Reach::kNobody &&
	       smc_tcp_addr_is_here(sk, addr, addr_len);
}

int connect_tcp(struct socket *sock, SmcSocket &state, sockaddr *addr, int addr_len, int flags)
{
	struct sock *sk = smc_sock_sk(sock);
	int ret;

	if (smc_sock_ss(sock) == SMC_SS_UNCONNECTED) {
		// Without any RDMA device only a peer in this kernel can accept an offer. A socket
		// that was shut down before is connected by TCP, and sends nothing: no offer
		// either.
		const bool no_device = !smc_ib_device_any() && !may_be_near(sk, addr, addr_len);

		if ((no_device || smc_sk_is_shut(sk)) &&
		    state.fall_unused(no_device ? wire::DeclineReason::kNoSmcrDev
						: wire::DeclineReason::kOptUnsupp)) {
			(void)state.take_connect_result();
			return smc_tcp_ops_connect(sock, addr, addr_len, flags);
		}
		smc_sk_lock(sk);
		// Set before TCP_ULP turned the socket to SMC.
		const bool without_syn = smc_tcp_fastopen_connect(sk);
		if (!without_syn) {
			state.arm();
			ret = smc_tcp_connect_locked(sock, addr, addr_len, flags);
		}
		smc_sk_unlock(sk);
		if (without_syn) {
			(void)state.fall_unused(wire::DeclineReason::kOptUnsupp);
			(void)state.take_connect_result();
			return smc_tcp_ops_connect(sock, addr, addr_len, flags);
		}
	} else {
		ret = smc_tcp_ops_connect(sock, addr, addr_len, flags);
	}
	state.resolve();
	if (ret == 0) {
		if (state.mode() == Mode::kFallen)
			(void)state.take_connect_result();
		// A handshake that has failed already has reset TCP's connection.
		const bool failed =
			state.mode() == Mode::kIdle && smc_sk_state(sk) == SMC_TCP_CLOSE;
		if (!in_handshake(state.mode()) && state.mode() != Mode::kSmc && !failed)
			return 0;
		// TCP counts as connected; the user's connection is not established yet.
		if (in_handshake(state.mode()))
			smc_sock_set_ss(sock, SMC_SS_CONNECTING);
		const int done = finish_connect(sock, state, flags);
		return done == -EALREADY ? -EINPROGRESS : done;
	}
	state.disarm();
	return ret;
}

// connect(AF_UNSPEC): TCP aborts the connection, and the socket can be used again.
int disconnect(struct socket *sock, SmcSocket *state, sockaddr *addr, int addr_len, int flags)
{
	const int ret = smc_tcp_ops_connect(sock, addr, addr_len, flags);
	if (state != nullptr && ret == 0) {
		state->disconnect();
		end_listening(*state);
	}
	return ret;
}

} // namespace

int claim_connection(struct socket *sock, SmcSocket &state)
{
	struct sock *sk = smc_sock_sk(sock);

	if (!state.take_connect_result())
		return -EISCONN;
	// With the lock, as in disconnect(): a connection that it has ended is not connected any
	// more.
	smc_sk_lock(sk);
	const auto endpoint = connection_of(&state);
	const bool connected = endpoint ? !is_over(sk, *endpoint) : state.mode() == Mode::kFallen;
	if (connected)
		smc_sock_set_ss(sock, SMC_SS_CONNECTED);
	smc_sk_unlock(sk);
	if (connected)
		return 0;
	if (!endpoint)
		return -ECONNABORTED;
	// The connection has come and gone meanwhile.
	smc_sk_lock(sk);
	const int err = smc_sk_take_error(sk);
	smc_tcp_forget(sk);
	smc_sk_unlock(sk);
	state.disconnect();
	smc_sock_set_ss(sock, SMC_SS_UNCONNECTED);
	return err != 0 ? err : -ECONNABORTED;
}

} // namespace smc::shell

using namespace smc::shell;

extern "C" int smc_op_connect(struct socket *sock, sockaddr *addr, int addr_len, int flags)
{
	if (family_of(addr, addr_len) == kUnspec)
		return disconnect(sock, SmcSocket::of(sock), addr, addr_len, flags);
	SmcSocket *state = SmcSocket::get_or_make(sock);
	if (state == nullptr) {
		smc_sock_fall(sock);
		smc::control::count_fallback(smc_sk_net(smc_sock_sk(sock)),
					     static_cast<u32>(smc::wire::DeclineReason::kMem),
					     false);
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	}
	state->resolve();
	switch (state->mode()) {
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking:
	case Mode::kSmc: return finish_connect(sock, *state, flags);
	case Mode::kListening:
		// A listener that was shut down may connect.
		if (state->stop_listening())
			break;
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	case Mode::kFallen: return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	case Mode::kIdle:
	case Mode::kConnecting: break;
	}
	return connect_tcp(sock, *state, addr, addr_len, flags);
}
