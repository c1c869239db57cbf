// SPDX-License-Identifier: GPL-2.0-only
//
// The calls of user space, by the socket's state at that moment. A socket without state, or one
// that has fallen back, is a TCP socket and TCP's own code answers. This file has release, poll,
// shutdown, ioctl and options; connect(), accept() and the data calls are in ops_*.cc.
#include "shell/socket/ops.hpp"
#include "kernel/abi/callbacks/socket.h"

#include <cerrno>
#include <optional>

#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "shell/socket/stream.hpp"

namespace smc::shell {
namespace {

constexpr int kShutRd = 0, kShutWr = 1, kShutRdWr = 2;

bool is_smcs(Mode mode)
{
	return in_handshake(mode) || mode == Mode::kSmc;
}

// shutdown() of what is TCP's, or still to become SMC. Nothing: it is SMC's connection now.
std::optional<int> shutdown_tcp(struct socket *sock, SmcSocket &state, int how)
{
	struct sock *sk = smc_sock_sk(sock);
	Mode mode = state.mode();

	for (;;) {
		while (in_handshake(mode)) {
			// As on TCP before it is established: connect() fails, and may be repeated.
			state.give_up_handshake(smc::handshake::kConnectionReset);
			mode = state.mode();
			if (mode == Mode::kIdle) {
				smc_sk_lock(sk);
				state.forget_attempt();
				smc_sk_unlock(sk);
				return 0;
			}
		}
		if (mode == Mode::kSmc)
			return std::nullopt;
		const int ret = smc_tcp_ops_shutdown(sock, how);
		// It has ended a connect() under way.
		state.disarm();
		end_listening(state);
		// Or TCP was established while it waited for the sock's lock, and a handshake has
		// begun on what is shut now.
		mode = state.mode();
		if (ret != 0 || !is_smcs(mode))
			return ret;
	}
}

} // namespace

int leave_to_tcp(struct socket *sock)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);

	if (state == nullptr)
		return -ENOMEM;
	if (!state->fall_unused(wire::DeclineReason::kOptUnsupp) && state->mode() != Mode::kFallen)
		return -EOPNOTSUPP;
	return 0;
}

bool is_over(struct sock *sk, transport::Endpoint &endpoint)
{
	return smc_sk_state(sk) == SMC_TCP_CLOSE || endpoint.aborted() ||
	       endpoint.with_lock([](connection::Connection &conn) { return conn.both_ended(); });
}

} // namespace smc::shell

using namespace smc::shell;

extern "C" {

int smc_op_release(struct socket *sock)
{
	SmcSocket *state = smc_sock_sk(sock) != nullptr ? SmcSocket::of(sock) : nullptr;

	if (state != nullptr)
		state->release();
	const int ret = smc_tcp_ops_release(sock);
	if (state != nullptr) {
		smc_sock_clear_state(sock);
		Deleter()(state);
	}
	return ret;
}

void smc_op_leave(void *state)
{
	if (state != nullptr)
		static_cast<SmcSocket *>(state)->release();
}

void smc_op_forget(void *state)
{
	if (state != nullptr)
		Deleter()(static_cast<SmcSocket *>(state));
}

bool smc_op_keeps_tcp(struct socket *sock)
{
	const Mode mode = mode_of(sock);

	return in_handshake(mode) || mode == Mode::kSmc;
}

bool smc_op_has_peer(struct socket *sock)
{
	if (in_handshake(mode_of(sock)))
		return false;
	const auto endpoint = connection_of(SmcSocket::of(sock));

	return !endpoint || !is_over(smc_sock_sk(sock), *endpoint);
}

// Of a socket that connects: the mask, if it still does.
static std::optional<u32> poll_connecting(struct file *file, struct socket *sock, SmcSocket &state)
{
	if (state.mode() != Mode::kConnecting)
		return {};
	const u32 mask = smc_tcp_ops_poll(file, sock, nullptr);

	// TCP counts as connected before the handshake begins.
	state.resolve();
	if (state.mode() != Mode::kConnecting)
		return {};
	// Or the wakeup that says which kind of connection it is comes next.
	return smc_sk_state(smc_sock_sk(sock)) == SMC_TCP_ESTABLISHED ? 0 : mask;
}

u32 smc_op_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	SmcSocket *state = SmcSocket::of(sock);

	if (state == nullptr)
		return smc_tcp_ops_poll(file, sock, wait);
	smc_poll_register(file, sock, wait);
	if (const auto mask = poll_connecting(file, sock, *state))
		return *mask;
	if (state->mode() == Mode::kSmc) [[likely]] {
		const RcuGuard rcu;

		if (auto *endpoint = state->connection_under_rcu()) [[likely]]
			return stream::poll(smc_sock_sk(sock), *endpoint, state->shut_rcv());
	}
	switch (state->mode()) {
	// Also an error is shown only after the handshake has ended by it: connect() knows it then.
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking: return 0;
	case Mode::kListening:
		if (smc_sk_state(smc_sock_sk(sock)) == SMC_TCP_LISTEN)
			return state->listener().ready() ? SMC_POLL_IN : 0;
		break;
	case Mode::kIdle:
	case Mode::kConnecting:
	case Mode::kSmc:
	case Mode::kFallen: break;
	}
	return smc_tcp_ops_poll(file, sock, nullptr);
}

int smc_op_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	SmcSocket *state = SmcSocket::of(sock);
	bool handled = false;

	// As on TCP while it connects: the bytes in its queues belong to the handshake.
	if (in_handshake(mode_of(sock)) &&
	    (cmd == SMC_SIOCINQ || cmd == SMC_SIOCOUTQ || cmd == SMC_SIOCOUTQNSD))
		return smc_put_user_int(0, arg);
	if (const auto endpoint = connection_of(state)) {
		const int ret = stream::ioctl(smc_sock_sk(sock), *endpoint, cmd, arg, &handled);
		if (handled)
			return ret;
	}
	return smc_tcp_ops_ioctl(sock, cmd, arg);
}

int smc_op_shutdown(struct socket *sock, int how)
{
	// Another thread's first connect() may come before TCP's part.
	SmcSocket *state = SmcSocket::get_or_make(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr)
		return smc_tcp_ops_shutdown(sock, how);
	state->resolve();
	if (how < kShutRd || how > kShutRdWr)
		return is_smcs(state->mode()) ? -EINVAL : smc_tcp_ops_shutdown(sock, how);
	// A handshake that finds it shut makes no second connection.
	state->begin_disconnect();
	const auto done = shutdown_tcp(sock, *state, how);
	state->end_disconnect();
	if (done)
		return *done;
	smc_sk_lock(sk);
	const auto endpoint = state->connection();
	// Another thread has just disconnected it.
	if (!endpoint) {
		smc_sk_unlock(sk);
		return -ENOTCONN;
	}
	// A connect() that comes after this finds the socket connected. If the connection is gone
	// it still reports an error, unless connect(AF_UNSPEC) has just reset the socket.
	if (smc_sk_state(sk) != SMC_TCP_CLOSE && !state->connect_reported()) {
		state->set_connect_reported();
		smc_sock_set_ss(sock, SMC_SS_CONNECTED);
	}
	if (how != kShutWr)
		state->set_shut_rcv();
	// As on TCP: in a connection that has ended there is nothing to shut down.
	const bool dead = is_over(sk, *endpoint);
	endpoint->shutdown(how != kShutRd, state->shut_rcv());
	smc_sk_unlock(sk);
	smc_sk_wake(sk, SMC_POLL_ANY | SMC_POLL_IN | SMC_POLL_OUT | SMC_POLL_HUP);
	return dead ? -ENOTCONN : 0;
}

int smc_op_option(struct socket *sock, enum smc_option option)
{
	SmcSocket *state = SmcSocket::of(sock);
	const Mode mode = mode_of(sock);

	if (option == SMC_OPTION_NODELAY || option == SMC_OPTION_CORK) {
		if (const auto endpoint = connection_of(state))
			stream::option_changed(smc_sock_sk(sock), *endpoint, option);
		return 0;
	}
	switch (mode) {
	case Mode::kIdle:
		// TCP_ULP, TCP_REPAIR, TCP_FASTOPEN: TCP can do these, SMC cannot. IPV6_ADDRFORM is
		// for connected sockets; one that connects at this moment must keep its ops.
		return option == SMC_OPTION_ADDRFORM ? -ENOTCONN : leave_to_tcp(sock);
	case Mode::kConnecting:
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking:
	case Mode::kSmc: return -EOPNOTSUPP;
	case Mode::kListening: return option == SMC_OPTION_FASTOPEN ? -EINVAL : -ENOTCONN;
	case Mode::kFallen: break;
	}
	return 0;
}

bool smc_op_keep_rcvlowat(struct socket *sock, int bytes)
{
	SmcSocket *state = SmcSocket::of(sock);

	return state != nullptr && state->keep_rcvlowat(bytes);
}

} // extern "C"
