// SPDX-License-Identifier: GPL-2.0-only
//
// Sending and receiving: waits until the socket is SMC or TCP, and calls the right code.
#include <cerrno>

#include <optional>
#include <string_view>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/control.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "shell/socket/ops.hpp"
#include "shell/socket/stream.hpp"

namespace smc::shell {
namespace {

// A call that sends or receives: whether and how long it may sleep, for the connection and for what
// it does then. As on TCP all of that takes SO_SNDTIMEO or SO_RCVTIMEO once.
struct Waiting {
	const bool nonblock;
	const bool for_receive;
	std::optional<long> left_jiffies{}; // since it had to wait

	[[nodiscard]] const long *left() const { return left_jiffies ? &*left_jiffies : nullptr; }
};

// Waits, as TCP does for its own handshake, until the socket is SMC or TCP. 0 or -errno.
int settle(struct socket *sock, Waiting &waiting)
{
	SmcSocket *state = SmcSocket::of(sock);
	struct sock *sk = smc_sock_sk(sock);

	if (state == nullptr || state->settled())
		return 0;
	state->resolve();
	if (state->settled())
		return 0;
	if (!waiting.left_jiffies)
		waiting.left_jiffies = waiting.for_receive ? smc_sk_rcvtimeo(sk, waiting.nonblock)
							   : smc_sk_sndtimeo(sk, waiting.nonblock);
	smc_sk_lock(sk);
	const int ret = state->wait_settled(&*waiting.left_jiffies);
	smc_sk_unlock(sk);
	return ret;
}

// The socket, if it is an SMC connection once it is decided; nullptr: TCP. *err: -errno if the wait
// failed.
inline SmcSocket *connected_by_smc(struct socket *sock, Waiting &waiting, int *err)
{
	SmcSocket *state = SmcSocket::of(sock);

	if (state == nullptr || state->mode() == Mode::kSmc) [[likely]]
		return state;
	*err = settle(sock, waiting);
	return *err == 0 && state->mode() == Mode::kSmc ? state : nullptr;
}

// TCP's answer to a call that sends or receives before there is a connection, if that is the case.
// With the lock that connect() takes: TCP's own call might come later, in the middle of the
// handshake.
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

// The socket, if it is an SMC connection already, as most are that send and receive.
inline SmcSocket *known_as_smc(void *state)
{
	auto *socket = static_cast<SmcSocket *>(state);

	return socket != nullptr && socket->mode() == Mode::kSmc ? socket : nullptr;
}

[[gnu::noinline]] int send_otherwise(struct socket *sock, msghdr *msg, size_t len, u32 flags,
				     bool has_control)
{
	if ((flags & SMC_MSG_FASTOPEN) != 0 && mode_of(sock) == Mode::kIdle) {
		const int refused = leave_to_tcp(sock);
		return refused != 0 ? refused : smc_tcp_ops_sendmsg(sock, msg, len);
	}
	Waiting waiting{.nonblock = (flags & SMC_MSG_DONTWAIT) != 0, .for_receive = false};
	int err = 0;

	do {
		if (SmcSocket *socket = connected_by_smc(sock, waiting, &err)) {
			// Such a call connects first.
			if ((flags & SMC_MSG_FASTOPEN) != 0)
				err = socket->connect_reported() ? -EISCONN
								 : claim_connection(sock, *socket);
			if (err != 0)
				return err;
			return stream::send(*socket, msg, len, flags, has_control, waiting.left());
		}
		if (err != 0 || (flags & SMC_MSG_FASTOPEN) != 0)
			break;
		if (const auto ret = answer_unconnected(sock, [flags](struct sock *sk) {
			    return smc_sk_stream_error(sk, flags, -EPIPE);
		    }))
			return *ret;
		// Another thread has begun to connect it in between.
	} while (!is_settled(sock));
	if (err == 0)
		err = smc_tcp_ops_sendmsg(sock, msg, len);
	// As after connect(): the attempt has failed.
	if ((flags & SMC_MSG_FASTOPEN) != 0 && err < 0 && smc_sock_ss(sock) == SMC_SS_UNCONNECTED) {
		if (SmcSocket *state = SmcSocket::of(sock))
			state->disarm();
	}
	return err;
}

[[gnu::noinline]] int receive_otherwise(struct socket *sock, msghdr *msg, size_t len, u32 flags)
{
	Waiting waiting{.nonblock = (flags & SMC_MSG_DONTWAIT) != 0, .for_receive = true};
	int err = 0;

	if ((flags & SMC_MSG_ERRQUEUE) != 0)
		return smc_tcp_ops_recvmsg(sock, msg, len, static_cast<int>(flags));
	do {
		if (SmcSocket *socket = connected_by_smc(sock, waiting, &err))
			return stream::receive(*socket, msg, len, flags, waiting.left());
		if (err != 0)
			return err;
		if ((flags & SMC_MSG_OOB) != 0)
			break;
		if (const auto ret = answer_unconnected(sock, smc_sk_receive_closed))
			return *ret;
	} while (!is_settled(sock));
	return smc_tcp_ops_recvmsg(sock, msg, len, static_cast<int>(flags));
}

} // namespace
} // namespace smc::shell

using namespace smc::shell;

extern "C" {

int smc_op_sendmsg(void *state, struct socket *sock, msghdr *msg, size_t len, u32 flags,
		   bool has_control)
{
	SmcSocket *socket = known_as_smc(state);

	if (socket == nullptr || (flags & SMC_MSG_FASTOPEN) != 0) [[unlikely]]
		return send_otherwise(sock, msg, len, flags, has_control);
	return stream::send(*socket, msg, len, flags, has_control);
}

int smc_op_recvmsg(void *state, struct socket *sock, msghdr *msg, size_t len, u32 flags)
{
	SmcSocket *socket = known_as_smc(state);

	if (socket == nullptr || (flags & SMC_MSG_ERRQUEUE) != 0) [[unlikely]]
		return receive_otherwise(sock, msg, len, flags);
	return stream::receive(*socket, msg, len, flags);
}

bool smc_op_device_name(struct socket *sock, char *name)
{
	const SmcSocket *socket = SmcSocket::of(sock);
	smc_sock_info info = {};

	if (socket == nullptr || socket->mode() != Mode::kSmc)
		return false;
	if (const auto endpoint = socket->connection())
		endpoint->snapshot(info);
	// Linux's own name for what stays inside the host.
	const std::string_view carrier =
		info.mode == SMC_MODE_SMCD ? "loopback-ism" : std::string_view(info.link.ib_name);
	name[carrier.copy(name, SMC_IB_NAME_LEN - 1)] = '\0';
	return true;
}

long smc_op_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			unsigned int flags)
{
	Waiting waiting{.nonblock = smc_sock_nonblock(sock), .for_receive = true};

	do {
		const int err = settle(sock, waiting);
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

} // extern "C"
