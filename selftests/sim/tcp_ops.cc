// SPDX-License-Identifier: GPL-2.0-only
//
// TCP's own calls (kernel/abi/tcp.h), simulated.
#include <algorithm>
#include <cerrno>
#include <deque>
#include <string>
#include <utility>

#include "clc_observer.hpp"
#include "kernel/abi/tcp.h"
#include "message.hpp"
#include "scheduler.hpp"
#include "socket.hpp"
#include "tcp_connection.hpp"
#include "tcp_open.hpp"
#include "trace.hpp"

using namespace sim;

int smc_tcp_ops_connect(struct socket *sock, sockaddr *addr, int addr_len, int flags)
{
	struct sock *sk = sock->sk;
	int ret = 0;

	smc_sk_lock(sk);
	if (addr->family != 0) {
		ret = smc_tcp_connect_locked(sock, addr, addr_len, flags);
	} else {
		// As tcp_disconnect().
		if (sk->state != SMC_TCP_CLOSE)
			reset_connection(sk, 0);
		if (sk->connection != nullptr)
			sk->connection->set_end(sk->side, nullptr);
		sk->shut_rcv = sk->shut_snd = false;
		sk->received.clear();
		sock->ss = SMC_SS_UNCONNECTED;
	}
	smc_sk_unlock(sk);
	return ret;
}

int smc_tcp_connect_locked(struct socket *sock, sockaddr *addr, int, int flags)
{
	struct sock *sk = sock->sk;
	const bool nonblock = (flags & 00004000) != 0;
	const bool begins = sock->ss == SMC_SS_UNCONNECTED;
	int ret = 0;

	switch (sock->ss) {
	case SMC_SS_CONNECTED: ret = -EISCONN; break;
	case SMC_SS_CONNECTING:
		ret = sk->state == SMC_TCP_SYN_SENT && nonblock ? -EALREADY : 0;
		break;
	default:
		if (sk->state != SMC_TCP_CLOSE) {
			ret = -EISCONN;
			break;
		}
		// Segments of an earlier attempt reach nobody.
		if (sk->connection != nullptr)
			sk->connection->set_end(sk->side, nullptr);
		sk->crossed = false;
		sk->peer_showed = true;
		sk->ack_waits = false;
		if (addr->meets != nullptr) {
			sk->state = SMC_TCP_SYN_SENT;
			sock->ss = SMC_SS_CONNECTING;
			meet(sk, addr->meets, addr->one_sided);
			break;
		}
		sk->connection = new_connection(sk, *addr->host);
		sk->connection->observer = observe_clc(sk->connection->id(), sk->net, addr->host);
		remember_sequence(sk->connection);
		sk->side = 0;
		sk->state = SMC_TCP_SYN_SENT;
		sk->err = 0;
		sk->shut_rcv = sk->shut_snd = false;
		sk->received.clear();
		sock->ss = SMC_SS_CONNECTING;
		send_syn(sk, addr->host, addr->port);
		if (nonblock)
			ret = -EINPROGRESS;
		break;
	}
	if (ret == 0) {
		long timeo = smc_sk_sndtimeo(sk, nonblock);
		const auto settled = [](void *arg) {
			return static_cast<struct sock *>(arg)->state != SMC_TCP_SYN_SENT;
		};
		do {
			ret = smc_sk_wait(sk, &timeo, settled, nullptr, sk);
			if (world().knobs.wake_us != 0) {
				smc_sk_unlock(sk);
				scheduler().sleep_us(world().knobs.wake_us);
				smc_sk_lock(sk);
			}
		} while (ret == 0 && !settled(sk));
		if (ret == -EAGAIN)
			ret = begins ? -EINPROGRESS : -EALREADY;
		if (ret == 0 && sk->state == SMC_TCP_CLOSE) {
			ret = smc_sk_take_error(sk);
			if (ret == 0)
				ret = -ECONNABORTED;
			sock->ss = SMC_SS_UNCONNECTED;
		} else if (ret == 0) {
			sock->ss = SMC_SS_CONNECTED;
		}
	}
	return ret;
}

int smc_tcp_ops_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;

	smc_sk_lock(sk);
	if (sock->ss != SMC_SS_UNCONNECTED ||
	    (sk->state != SMC_TCP_CLOSE && sk->state != SMC_TCP_LISTEN)) {
		smc_sk_unlock(sk);
		return -EINVAL;
	}
	sk->state = SMC_TCP_LISTEN;
	sk->backlog = static_cast<u32>(backlog);
	start_listening(sk);
	smc_sk_unlock(sk);
	return 0;
}

// For a listener that is shut down; any other one is SMC's.
int smc_tcp_ops_accept(struct socket *sock, struct socket *, int, bool)
{
	if (sock->sk->state == SMC_TCP_LISTEN)
		fail("TCP's own accept()");
	return -EINVAL;
}

u32 smc_tcp_ops_poll(file *, struct socket *sock, poll_table_struct *)
{
	const struct sock *sk = sock->sk;
	u32 mask = 0;

	// The caller has looked at other things before, which may change meanwhile.
	scheduler().maybe_yield();
	if (sk->state == SMC_TCP_LISTEN)
		return sk->children.empty() ? 0 : SMC_POLL_IN;
	if (sk->state == SMC_TCP_SYN_SENT)
		return 0;
	if (sk->err != 0)
		mask |= SMC_POLL_ERR;
	if (!sk->received.empty() || sk->shut_rcv)
		mask |= SMC_POLL_IN;
	if (sk->shut_rcv)
		mask |= SMC_POLL_RDHUP;
	if (sk->state == SMC_TCP_CLOSE)
		mask |= SMC_POLL_HUP;
	return mask | SMC_POLL_OUT;
}

int smc_tcp_ops_ioctl(struct socket *, unsigned int, unsigned long)
{
	return -ENOTTY;
}

int smc_tcp_ops_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	std::deque<struct sock *> children;
	int ret = 0;

	smc_sk_lock(sk);
	if (sk->state == SMC_TCP_LISTEN && how != 1) {
		stop_listening(sk);
		sk->state = SMC_TCP_CLOSE;
		children.swap(sk->children);
	} else if (sk->state == SMC_TCP_SYN_SENT) {
		// As inet_shutdown(): the attempt is over, another one may follow.
		sk->connection->set_end(0, nullptr);
		sk->connection.reset();
		die(sk, ECONNRESET);
		sock->ss = SMC_SS_UNCONNECTED;
		smc_sk_unlock(sk);
		return 0;
	} else if (sk->state == SMC_TCP_CLOSE || sk->state == SMC_TCP_LISTEN) {
		ret = -ENOTCONN;
	} else if (how != 0 && !sk->shut_snd) {
		sk->shut_snd = true;
		sk->connection->send(sk->side, Segment::kFin, {});
	}
	if (how != 1 && ret == 0)
		sk->shut_rcv = true;
	wake_all(sk, SMC_POLL_IN | SMC_POLL_OUT | SMC_POLL_HUP | SMC_POLL_RDHUP);
	smc_sk_unlock(sk);
	// As inet_csk_listen_stop().
	for (struct sock *child : children)
		smc_tcp_close(child);
	return ret;
}

int smc_tcp_ops_sendmsg(struct socket *sock, msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	std::string bytes(len, '\0');

	const bool nonblock = (msg->flags & SMC_MSG_DONTWAIT) != 0 || sock->nonblock;
	long timeo = smc_sk_sndtimeo(sk, nonblock);
	const auto connected = [](void *arg) {
		return static_cast<struct sock *>(arg)->state != SMC_TCP_SYN_SENT;
	};

	smc_sk_lock(sk);
	// As sk_stream_wait_connect().
	int ret = smc_sk_wait(sk, &timeo, connected, nullptr, sk);
	if (ret == 0) {
		const size_t n = smc_msg_copy_from(msg, bytes.data(), len);

		ret = n == 0 && len != 0 ? -EFAULT : send_now(sk, bytes.data(), n);
	}
	if (ret == -EPIPE)
		ret = smc_sk_stream_error(sk, msg->flags, ret);
	smc_sk_unlock(sk);
	return ret;
}

namespace {

bool readable(void *arg)
{
	const auto *sk = static_cast<const struct sock *>(arg);
	return !sk->received.empty() || sk->shut_rcv || sk->err != 0 || sk->state == SMC_TCP_CLOSE;
}

} // namespace

int smc_tcp_ops_recvmsg(struct socket *sock, msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	const auto bits = static_cast<u32>(flags);
	long timeo = smc_sk_rcvtimeo(sk, (bits & SMC_MSG_DONTWAIT) != 0 || sock->nonblock);

	if ((bits & SMC_MSG_OOB) != 0)
		return -EINVAL;
	smc_sk_lock(sk);
	int ret = smc_sk_wait(sk, &timeo, readable, nullptr, sk);
	if (ret == 0) {
		std::string bytes(std::min(len, sk->received.size()), '\0');
		ret = receive_now(sk, bytes.data(), bytes.size(), true);
		if (ret > 0) {
			ret = static_cast<int>(
				smc_msg_copy_to(msg, bytes.data(), static_cast<size_t>(ret)));
			if ((bits & SMC_MSG_PEEK) == 0)
				sk->received.erase(0, static_cast<size_t>(ret));
			if (ret == 0 && len != 0)
				ret = -EFAULT;
		}
	}
	smc_sk_unlock(sk);
	return ret;
}

long smc_tcp_ops_splice_read(struct socket *, s64 *, pipe_inode_info *, size_t, unsigned int)
{
	return -EINVAL;
}

int smc_tcp_ops_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (sk == nullptr)
		return 0;
	smc_sk_lock(sk);
	if (sk->state == SMC_TCP_LISTEN)
		stop_listening(sk);
	sk->socket = nullptr;
	sock->sk = nullptr;
	auto children = std::exchange(sk->children, {});
	if (sk->connection != nullptr) {
		if (sk->state != SMC_TCP_CLOSE) {
			const bool reset =
				!sk->received.empty() || (sk->linger && sk->linger_ms == 0);
			if (reset || !sk->shut_snd)
				sk->connection->send(sk->side,
						     reset ? Segment::kReset : Segment::kFin, {});
		}
		sk->connection->set_end(sk->side, nullptr);
	}
	sk->state = SMC_TCP_CLOSE;
	sk->dead = true;
	smc_sk_unlock(sk);
	for (struct sock *child : children)
		smc_tcp_close(child);
	smc_sk_put(sk);
	return 0;
}
