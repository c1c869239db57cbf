// SPDX-License-Identifier: GPL-2.0-only
//
// listen() and accept().
#include <cerrno>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "shell/control/fallback.hpp"
#include "shell/socket/ops.hpp"

namespace smc::shell {
namespace {

// Makes the user's new socket from a completed handshake.
int adopt(Listener &listener, Handshake &done, struct socket *new_sock)
{
	const handshake::Finished *outcome = done.outcome();
	const bool smc = std::get_if<handshake::UseSmc>(&outcome->outcome) != nullptr;
	SmcSocket *state = nullptr;
	Ref<transport::Endpoint> endpoint = done.take_endpoint();
	struct sock *sk = listener.unwrap(done);

	smc_tcp_adopt(sk, new_sock);
	if (!smc) {
		smc_sock_make_plain(new_sock);
		return 0;
	}
	state = SmcSocket::get_or_make(new_sock);
	if (state == nullptr) {
		endpoint->abort();
		endpoint->release_from_user();
		// The new socket has no ops, so kernel_accept() does not close it.
		smc_tcp_close(smc_tcp_orphan(new_sock));
		return -ENOMEM;
	}
	state->become_smc(std::move(endpoint));
	return 0;
}

struct AcceptWait {
	SmcSocket *state;
	struct sock *sk;
};

bool may_accept(void *arg)
{
	const auto *wait = static_cast<AcceptWait *>(arg);
	return wait->state->listener().ready() || smc_sk_state(wait->sk) != SMC_TCP_LISTEN ||
	       smc_tcp_accept_head(wait->sk) == SMC_ACCEPT_PLAIN;
}

// Not for a child whose handshake is still to come.
bool concerns_accept(void *arg)
{
	return static_cast<AcceptWait *>(arg)->state->listener().may_have_some();
}

int accept_smc(struct socket *sock, SmcSocket &state, struct socket *new_sock, int flags, bool kern)
{
	struct sock *sk = smc_sock_sk(sock);
	long timeo = smc_sk_rcvtimeo(sk, (flags & kNonblockFlag) != 0);

	for (;;) {
		if (smc_sk_state(sk) != SMC_TCP_LISTEN)
			return -EINVAL;
		const auto taken = state.listener().take(kern);
		if (taken && taken->done)
			return adopt(state.listener(), *taken->done, new_sock);
		if (taken) {
			control::count_fallback(state.space(), taken->plain,
						static_cast<u32>(wire::DeclineReason::kPeerNoSmc),
						true);
			smc_tcp_adopt(taken->plain, new_sock);
			smc_sock_make_plain(new_sock);
			return 0;
		}
		if (taken.error() != Errno{-EAGAIN})
			return taken.error().code;
		AcceptWait wait{&state, sk};
		smc_sk_lock(sk);
		const int err = smc_sk_sleep(sk, &timeo, may_accept, concerns_accept, &wait, true);
		smc_sk_unlock(sk);
		if (err != 0)
			return err;
	}
}

// Before TCP's listen(), which is not called in any other mode than kListening and kFallen: as a
// listener of TCP's alone the socket would still show the option of a connect() that has failed.
// 0 or -errno. With the sock's lock.
int begin_listening(struct socket *sock, SmcSocket &state)
{
	if (state.mode() == Mode::kFallen)
		return 0;
	// As TCP. connect(AF_UNSPEC) may have ended TCP already, and ends SMC's part next.
	if (smc_sock_ss(sock) != SMC_SS_UNCONNECTED || in_handshake(state.mode()) ||
	    state.mode() == Mode::kSmc)
		return -EINVAL;
	if (state.become_listener()) {
		smc_tcp_offer(smc_sock_sk(sock));
		return 0;
	}
	return state.mode() == Mode::kFallen ? 0 : -ENOMEM;
}

} // namespace

void end_listening(SmcSocket &state)
{
	if (state.stop_listening())
		state.listener().drop_done();
}

} // namespace smc::shell

using namespace smc::shell;

extern "C" {

int smc_op_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern)
{
	SmcSocket *state = SmcSocket::of(sock);

	if (state == nullptr || state->mode() != Mode::kListening) {
		// TCP's listener, if TCP_ULP turned the socket to SMC while another thread was in
		// listen().
		const int ret = smc_tcp_ops_accept(sock, new_sock, flags, kern);
		if (ret == 0)
			smc_sock_make_plain(new_sock);
		return ret;
	}
	return accept_smc(sock, *state, new_sock, flags, kern);
}

int smc_op_listen(struct socket *sock, int backlog)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr)
		return -ENOMEM;
	if (state->mode() == Mode::kFallen)
		return smc_tcp_ops_listen(sock, backlog);
	// The listener holds them, too; the first hold takes long, and is not to be under the lock.
	smc_tcp_hold_answers();
	smc_sk_lock(sk);
	int ret = begin_listening(sock, *state);
	smc_sk_unlock(sk);
	smc_tcp_drop_answers();
	if (ret == 0)
		ret = smc_tcp_ops_listen(sock, backlog);
	if (ret != 0)
		state->stop_listening();
	else if (state->mode() == Mode::kListening)
		state->listener().backlog_changed();
	return ret;
}

int smc_op_limit_handshakes(struct socket *sock, bool on)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);

	if (state == nullptr)
		return -ENOMEM;
	state->limit_handshakes(on);
	return 0;
}

bool smc_op_limits_handshakes(struct socket *sock)
{
	const SmcSocket *state = SmcSocket::of(sock);

	return state != nullptr ? state->limits_handshakes()
				: smc_sysctl_limit_smc_hs(smc_sk_net(smc_sock_sk(sock)));
}

void smc_op_stop_limiting(void *state)
{
	if (state != nullptr)
		static_cast<SmcSocket *>(state)->stop_limiting_handshakes();
}

} // extern "C"
