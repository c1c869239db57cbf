// SPDX-License-Identifier: GPL-2.0-only
//
// What user space calls, sorted by what the socket is at that moment. A socket without state, or
// one that has fallen back, is a TCP socket, and TCP's own code answers.
#include <cerrno>

#include <optional>

#include "kernel/abi/pernet.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/verbs.h"
#include "shell/socket/smc_socket.hpp"
#include "shell/socket/stream.hpp"
#include "shell/transport/transports.hpp"

namespace smc::shell {
namespace {

constexpr u16 kUnspec = 0;
constexpr int kNonblockFlag = 00004000;
constexpr int kShutRd = 0, kShutWr = 1, kShutRdWr = 2;

u16 family_of(const sockaddr *addr, int addr_len)
{
	u16 family = 0xffff;

	if (addr != nullptr && addr_len >= static_cast<int>(sizeof(family)))
		__builtin_memcpy(&family, addr, sizeof(family));
	return family;
}

Mode mode_of(struct socket *sock)
{
	const SmcSocket *state = SmcSocket::of(sock);
	return state != nullptr ? state->mode() : Mode::kIdle;
}

// What carries the bytes, if it is SMC.
Ref<transport::Endpoint> connection_of(const SmcSocket *state)
{
	return state != nullptr && state->mode() == Mode::kSmc ? state->connection()
							       : Ref<transport::Endpoint>();
}

// Makes a TCP socket of one that is nothing yet, since SMC cannot do what is asked for. 0 or
// -errno; another thread may make something else of it meanwhile.
int leave_to_tcp(struct socket *sock)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);

	if (state == nullptr)
		return -ENOMEM;
	if (!state->fall_unused(wire::DeclineReason::kOptUnsupp) && state->mode() != Mode::kFallen)
		return -EOPNOTSUPP;
	return 0;
}

// Waits, as TCP does for its own handshake, until it is clear what this socket is. 0 or -errno.
int settle(struct socket *sock, bool nonblock, bool for_receive)
{
	SmcSocket *state = SmcSocket::of(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr || state->settled())
		return 0;
	state->resolve();
	if (state->settled())
		return 0;
	long timeo = for_receive ? smc_sk_rcvtimeo(sk, nonblock) : smc_sk_sndtimeo(sk, nonblock);
	smc_sk_lock(sk);
	const int ret = state->wait_settled(&timeo);
	smc_sk_unlock(sk);
	return ret;
}

// The socket, when it is clear what it is, if that is an SMC connection; nullptr: TCP. *err: -errno
// if that did not come about.
inline SmcSocket *connected_by_smc(struct socket *sock, bool nonblock, bool for_receive, int *err)
{
	SmcSocket *state = SmcSocket::of(sock);

	if (state == nullptr || state->mode() == Mode::kSmc) [[likely]]
		return state;
	*err = settle(sock, nonblock, for_receive);
	return *err == 0 && state->mode() == Mode::kSmc ? state : nullptr;
}

// What TCP says to who sends or receives before there is a connection, if that is how it is. With
// the lock that connect() takes: TCP's own call might come later, in the middle of the handshake.
template <typename Answer>
std::optional<int> answer_unconnected(struct socket *sock, Answer answer)
{
	struct sock *sk = smc_sock_sk(sock);
	std::optional<int> ret;

	if (mode_of(sock) != Mode::kIdle)
		return ret;
	smc_sk_lock(sk);
	if (mode_of(sock) == Mode::kIdle && smc_sk_state(sk) == SMC_TCP_CLOSE)
		ret = answer(sk);
	smc_sk_unlock(sk);
	return ret;
}

bool is_settled(struct socket *sock)
{
	const SmcSocket *state = SmcSocket::of(sock);
	return state == nullptr || state->settled();
}

// TCP would be in state CLOSE: after a reset, or when both ends have said their last word.
bool is_over(struct sock *sk, transport::Endpoint &endpoint)
{
	return smc_sk_state(sk) == SMC_TCP_CLOSE || endpoint.aborted() ||
	       endpoint.with_lock([](connection::Connection &conn) { return conn.both_ended(); });
}

// The first connect() since a connection was made, or what asks for one as well. 0 or -errno.
int claim_connection(struct socket *sock, SmcSocket &state)
{
	struct sock *sk = smc_sock_sk(sock);

	if (!state.take_connect_result())
		return -EISCONN;
	// With the lock, as whoever disconnects it: what he has ended is not connected any more.
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
	// It has come and gone meanwhile.
	smc_sk_lock(sk);
	const int err = smc_sk_take_error(sk);
	smc_tcp_forget(sk);
	smc_sk_unlock(sk);
	state.disconnect();
	smc_sock_set_ss(sock, SMC_SS_UNCONNECTED);
	return err != 0 ? err : -ECONNABORTED;
}

// connect() while the handshake runs, or after it.
int finish_connect(struct socket *sock, SmcSocket &state, int flags)
{
	struct sock *sk = smc_sock_sk(sock);
	long timeo = smc_sk_sndtimeo(sk, (flags & kNonblockFlag) != 0);

	smc_sk_lock(sk);
	int ret = state.wait_settled(&timeo);
	smc_sk_unlock(sk);
	// io_uring asks again at every wakeup and would take -EALREADY for the outcome. The flag is
	// its own then, not the descriptor's.
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
	case Mode::kHandshaking:
	case Mode::kListening: break;
	}
	// The handshake failed, and took TCP's connection with it. Nothing of that is left, as with
	// TCP, unless another thread connects it already.
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
		// On a host without any RDMA device nothing can come of an offer, but to a peer in
		// this kernel. Nor on a socket that was shut down before: TCP connects it, and
		// sends nothing.
		const bool no_device = !smc_ib_device_any() && !may_be_near(sk, addr, addr_len);

		if ((no_device || smc_sk_is_shut(sk)) &&
		    state.fall_unused(no_device ? wire::DeclineReason::kNoSmcrDev
						: wire::DeclineReason::kOptUnsupp)) {
			(void)state.take_connect_result();
			return smc_tcp_ops_connect(sock, addr, addr_len, flags);
		}
		smc_sk_lock(sk);
		// Set before TCP_ULP made this socket ours.
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
		// A handshake that has failed already has taken TCP's connection with it.
		const bool failed =
			state.mode() == Mode::kIdle && smc_sk_state(sk) == SMC_TCP_CLOSE;
		if (state.mode() != Mode::kHandshaking && state.mode() != Mode::kSmc && !failed)
			return 0;
		// TCP takes itself for connected; the user is not there yet.
		if (state.mode() == Mode::kHandshaking)
			smc_sock_set_ss(sock, SMC_SS_CONNECTING);
		const int done = finish_connect(sock, state, flags);
		return done == -EALREADY ? -EINPROGRESS : done;
	}
	state.disarm();
	return ret;
}

// After TCP has stopped to listen, if it has.
void end_listening(SmcSocket &state)
{
	if (state.stop_listening())
		state.listener().drop_done();
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

// Gives the user's new socket what a handshake has made of a peer with SMC.
int adopt(Handshake &done, struct socket *new_sock)
{
	struct socket *wrapper = done.sock();
	const handshake::Finished *outcome = done.outcome();
	const bool smc = std::get_if<handshake::UseSmc>(&outcome->outcome) != nullptr;
	SmcSocket *state = nullptr;
	Ref<transport::Endpoint> endpoint = done.take_endpoint();
	struct sock *sk = smc_tcp_orphan(wrapper);

	smc_tcp_unwrap(wrapper);
	smc_tcp_adopt(sk, new_sock);
	if (!smc) {
		smc_sock_make_plain(new_sock);
		return 0;
	}
	state = SmcSocket::get_or_make(new_sock);
	if (state == nullptr) {
		endpoint->abort();
		endpoint->release_from_user();
		// Nobody knows of it: kernel_accept() does not close what has no ops.
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

int accept_smc(struct socket *sock, SmcSocket &state, struct socket *new_sock, int flags, bool kern)
{
	struct sock *sk = smc_sock_sk(sock);
	long timeo = smc_sk_rcvtimeo(sk, (flags & kNonblockFlag) != 0);

	for (;;) {
		Ref<Handshake> done;
		struct sock *plain = nullptr;
		int err = 0;

		if (smc_sk_state(sk) != SMC_TCP_LISTEN)
			return -EINVAL;
		switch (state.listener().take(kern, &done, &plain, &err)) {
		case SMC_ACCEPT_PLAIN:
			smc_stat_fallback(smc_sk_net(sk),
					  static_cast<u32>(wire::DeclineReason::kPeerNoSmc), true);
			smc_tcp_adopt(plain, new_sock);
			smc_sock_make_plain(new_sock);
			return 0;
		case SMC_ACCEPT_SMC: return adopt(*done, new_sock);
		case SMC_ACCEPT_EMPTY: break;
		}
		if (err != -EAGAIN)
			return err;
		AcceptWait wait{&state, sk};
		smc_sk_lock(sk);
		err = smc_sk_sleep(sk, &timeo, may_accept, &wait, true);
		smc_sk_unlock(sk);
		if (err != 0)
			return err;
	}
}

} // namespace
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

void smc_op_stop_limiting(void *state)
{
	if (state != nullptr)
		static_cast<SmcSocket *>(state)->stop_limiting_handshakes();
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

int smc_op_connect(struct socket *sock, sockaddr *addr, int addr_len, int flags)
{
	if (family_of(addr, addr_len) == kUnspec)
		return disconnect(sock, SmcSocket::of(sock), addr, addr_len, flags);
	SmcSocket *state = SmcSocket::get_or_make(sock);
	if (state == nullptr) {
		smc_sock_fall(sock);
		smc_stat_fallback(smc_sk_net(smc_sock_sk(sock)),
				  static_cast<u32>(smc::wire::DeclineReason::kMem), false);
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	}
	state->resolve();
	switch (state->mode()) {
	case Mode::kHandshaking:
	case Mode::kSmc: return finish_connect(sock, *state, flags);
	case Mode::kListening:
		// One that was shut down may connect.
		if (state->stop_listening())
			break;
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	case Mode::kFallen: return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	case Mode::kIdle:
	case Mode::kConnecting: break;
	}
	return connect_tcp(sock, *state, addr, addr_len, flags);
}

int smc_op_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern)
{
	SmcSocket *state = SmcSocket::of(sock);

	if (state == nullptr || state->mode() != Mode::kListening) {
		// TCP's listener, if TCP_ULP made it ours while another thread was in listen().
		const int ret = smc_tcp_ops_accept(sock, new_sock, flags, kern);
		if (ret == 0)
			smc_sock_make_plain(new_sock);
		return ret;
	}
	return accept_smc(sock, *state, new_sock, flags, kern);
}

bool smc_op_keeps_tcp(struct socket *sock)
{
	const Mode mode = mode_of(sock);

	return mode == Mode::kHandshaking || mode == Mode::kSmc;
}

bool smc_op_has_peer(struct socket *sock)
{
	if (mode_of(sock) == Mode::kHandshaking)
		return false;
	const auto endpoint = connection_of(SmcSocket::of(sock));

	return !endpoint || !is_over(smc_sock_sk(sock), *endpoint);
}

u32 smc_op_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	SmcSocket *state = SmcSocket::of(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr)
		return smc_tcp_ops_poll(file, sock, wait);
	smc_poll_register(file, sock, wait);
	state->resolve();
	if (state->mode() == Mode::kConnecting) {
		const u32 mask = smc_tcp_ops_poll(file, sock, nullptr);

		// TCP takes itself for connected while the handshake has yet to begin.
		state->resolve();
		// Or its wakeup, which says what kind of connection it is, is about to come.
		if (state->mode() == Mode::kConnecting)
			return smc_sk_state(sk) == SMC_TCP_ESTABLISHED ? 0 : mask;
	}
	switch (state->mode()) {
	// An error as well is told when the handshake has ended by it: connect() knows it then.
	case Mode::kHandshaking: return 0;
	case Mode::kSmc: {
		const RcuGuard rcu;

		if (auto *endpoint = state->connection_under_rcu())
			return stream::poll(sk, *endpoint, state->shut_rcv());
		break;
	}
	case Mode::kListening:
		if (smc_sk_state(sk) == SMC_TCP_LISTEN)
			return state->listener().ready() ? SMC_POLL_IN : 0;
		break;
	case Mode::kIdle:
	case Mode::kConnecting:
	case Mode::kFallen: break;
	}
	return smc_tcp_ops_poll(file, sock, nullptr);
}

int smc_op_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	SmcSocket *state = SmcSocket::of(sock);
	bool handled = false;

	// As on TCP while it connects: what is in its queues is of the handshake.
	if (mode_of(sock) == Mode::kHandshaking &&
	    (cmd == SMC_SIOCINQ || cmd == SMC_SIOCOUTQ || cmd == SMC_SIOCOUTQNSD))
		return smc_put_user_int(0, arg);
	if (const auto endpoint = connection_of(state)) {
		const int ret = stream::ioctl(smc_sock_sk(sock), *endpoint, cmd, arg, &handled);
		if (handled)
			return ret;
	}
	return smc_tcp_ops_ioctl(sock, cmd, arg);
}

int smc_op_listen(struct socket *sock, int backlog)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr)
		return -ENOMEM;
	// TCP may be free by now: connect(AF_UNSPEC) has ended it, and ends the handshake next.
	if (state->mode() == Mode::kHandshaking || state->mode() == Mode::kSmc)
		return -EINVAL;
	if (state->mode() != Mode::kIdle && state->mode() != Mode::kListening)
		return smc_tcp_ops_listen(sock, backlog);
	smc_sk_lock(sk);
	const bool ours = smc_sock_ss(sock) == SMC_SS_UNCONNECTED && state->become_listener();
	if (ours)
		smc_tcp_offer(sk);
	smc_sk_unlock(sk);
	if (!ours && state->mode() == Mode::kIdle && smc_sock_ss(sock) == SMC_SS_UNCONNECTED)
		return -ENOMEM;
	const int ret = smc_tcp_ops_listen(sock, backlog);
	if (ret != 0)
		state->stop_listening();
	else if (state->mode() == Mode::kListening)
		state->listener().backlog_changed();
	return ret;
}

int smc_op_shutdown(struct socket *sock, int how)
{
	SmcSocket *state = SmcSocket::of(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state != nullptr)
		state->resolve();
	const bool valid = how >= kShutRd && how <= kShutRdWr;
	Mode mode = mode_of(sock);
	while (valid && mode == Mode::kHandshaking) {
		// As with TCP before it is established: connect() fails, and may be tried again.
		state->give_up_handshake(smc::handshake::kConnectionReset);
		mode = state->mode();
		if (mode == Mode::kIdle) {
			smc_sock_set_ss(sock, SMC_SS_UNCONNECTED);
			return 0;
		}
	}
	if (mode != Mode::kHandshaking && mode != Mode::kSmc) {
		const int ret = smc_tcp_ops_shutdown(sock, how);
		if (state != nullptr) {
			// A connect() under way has ended by it.
			state->disarm();
			end_listening(*state);
		}
		return ret;
	}
	if (!valid)
		return -EINVAL;
	smc_sk_lock(sk);
	const auto endpoint = state->connection();
	// Another thread has just disconnected it.
	if (!endpoint) {
		smc_sk_unlock(sk);
		return -ENOTCONN;
	}
	// What connect() has not told yet, it will not tell any more. Of a connection that is gone
	// it will, or connect(AF_UNSPEC) has just said what the socket is.
	if (smc_sk_state(sk) != SMC_TCP_CLOSE && state->take_connect_result())
		smc_sock_set_ss(sock, SMC_SS_CONNECTED);
	if (how != kShutWr)
		state->set_shut_rcv();
	// As on TCP: there is nothing to shut down in a connection that is over.
	const bool dead = is_over(sk, *endpoint);
	endpoint->shutdown(how != kShutRd, state->shut_rcv());
	smc_sk_unlock(sk);
	smc_sk_wake(sk, SMC_POLL_ANY | SMC_POLL_IN | SMC_POLL_OUT | SMC_POLL_HUP);
	return dead ? -ENOTCONN : 0;
}

int smc_op_sendmsg(struct socket *sock, msghdr *msg, size_t len)
{
	const u32 flags = smc_msg_flags(msg);

	if ((flags & SMC_MSG_FASTOPEN) != 0 && mode_of(sock) == Mode::kIdle) {
		const int refused = leave_to_tcp(sock);
		return refused != 0 ? refused : smc_tcp_ops_sendmsg(sock, msg, len);
	}
	const bool nonblock = (flags & SMC_MSG_DONTWAIT) != 0;
	int err = 0;

	do {
		if (SmcSocket *socket = connected_by_smc(sock, nonblock, false, &err)) {
			// It asks for a connection first.
			if ((flags & SMC_MSG_FASTOPEN) != 0)
				err = claim_connection(sock, *socket);
			return err != 0 ? err : stream::send(*socket, msg, len, nonblock);
		}
		if (err != 0 || (flags & SMC_MSG_FASTOPEN) != 0)
			break;
		if (const auto ret = answer_unconnected(sock, [flags](struct sock *sk) {
			    return smc_sk_stream_error(sk, flags, -EPIPE);
		    }))
			return *ret;
		// Another thread is connecting it, in between.
	} while (!is_settled(sock));
	if (err == 0)
		err = smc_tcp_ops_sendmsg(sock, msg, len);
	// It has learnt, as connect() does, that the attempt failed.
	if ((flags & SMC_MSG_FASTOPEN) != 0 && err < 0 && smc_sock_ss(sock) == SMC_SS_UNCONNECTED) {
		if (SmcSocket *state = SmcSocket::of(sock))
			state->disarm();
	}
	return err;
}

int smc_op_recvmsg(struct socket *sock, msghdr *msg, size_t len, int flags)
{
	const bool nonblock = (static_cast<u32>(flags) & SMC_MSG_DONTWAIT) != 0;
	int err = 0;

	if ((static_cast<u32>(flags) & SMC_MSG_ERRQUEUE) != 0)
		return smc_tcp_ops_recvmsg(sock, msg, len, flags);
	do {
		if (SmcSocket *socket = connected_by_smc(sock, nonblock, true, &err))
			return stream::receive(*socket, msg, len, flags, nonblock);
		if (err != 0)
			return err;
		if ((static_cast<u32>(flags) & SMC_MSG_OOB) != 0)
			break;
		if (const auto ret = answer_unconnected(sock, smc_sk_receive_closed))
			return *ret;
	} while (!is_settled(sock));
	return smc_tcp_ops_recvmsg(sock, msg, len, flags);
}

long smc_op_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			unsigned int flags)
{
	do {
		const int err = settle(sock, smc_sock_nonblock(sock), true);
		if (err != 0)
			return err;
		if (const auto ret = answer_unconnected(sock, smc_sk_receive_closed))
			return *ret;
	} while (!is_settled(sock));
	if (mode_of(sock) != Mode::kSmc)
		return smc_tcp_ops_splice_read(sock, pos, pipe, len, flags);
	if (const auto endpoint = connection_of(SmcSocket::of(sock)))
		endpoint->count(SMC_TS_SPLICE);
	return smc_splice_read_copy(sock, pos, pipe, len, flags);
}

void smc_op_push(struct socket *sock)
{
	if (const auto endpoint = connection_of(SmcSocket::of(sock)))
		stream::push(smc_sock_sk(sock), *endpoint);
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
		// TCP_ULP, TCP_REPAIR, TCP_FASTOPEN: SMC cannot do these, TCP can. IPV6_ADDRFORM is
		// for connected sockets; one that connects at this moment must not lose its ops.
		return option == SMC_OPTION_ADDRFORM ? -ENOTCONN : leave_to_tcp(sock);
	case Mode::kConnecting:
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

} // extern "C"
