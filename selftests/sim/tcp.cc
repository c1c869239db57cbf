// SPDX-License-Identifier: GPL-2.0-only
//
// TCP as far as the module sees it (kernel/abi/tcp.h), simulated: the option, accept queues, the
// CLC exchange. TCP's own calls are in tcp_ops.cc.
#include "kernel/abi/tcp.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "clc_observer.hpp"
#include "kernel/abi/pernet.h"
#include "scheduler.hpp"
#include "socket.hpp"
#include "tcp_connection.hpp"
#include "trace.hpp"
#include "work_queue.hpp"
#include "world.hpp"

using namespace sim;

void smc_tcp_offer(struct sock *sk)
{
	sk->offers_smc = true;
}

void smc_tcp_withdraw(struct sock *sk)
{
	sk->offers_smc = false;
}

bool smc_tcp_offers(const struct sock *sk)
{
	return sk->offers_smc;
}

// Nobody here sets it.
bool smc_tcp_fastopen_connect(const struct sock *)
{
	return false;
}

bool smc_tcp_agreed(const struct sock *sk)
{
	return sk->offers_smc;
}

enum smc_tcp_opened smc_tcp_opened(const struct sock *sk)
{
	if (!sk->offers_smc || !sk->peer_showed)
		return SMC_TCP_OPENED_PLAIN;
	return sk->crossed ? SMC_TCP_OPENED_CROSSED : SMC_TCP_OPENED;
}

bool smc_tcp_sees_crossed_option()
{
	return true;
}

void smc_tcp_clc_follows(struct sock *sk)
{
	sk->ack_waits = true;
}

void smc_tcp_hold_answers() {}

void smc_tcp_drop_answers() {}

bool smc_tcp_addr_is_own(const struct sock *sk, const struct sockaddr *addr, int)
{
	return addr->host == sk->net;
}

// There is one kernel.
void smc_net_listens(net *net)
{
	net->listeners++;
}

void smc_net_stops_listening(net *net)
{
	if (net->listeners-- == 0)
		fail("host %s stops listening, and does not listen", net->name.c_str());
}

bool smc_addr_is_near(const net *own, const u8 addr[16])
{
	const auto has_it = [&](const auto &host) {
		return host.get() != own &&
		       std::equal(host->address.begin(), host->address.end(), addr + 12) &&
		       (host->claimed ||
			(host->listeners != 0 &&
			 smc_sysctl_smcd_loopback(host.get()) == SMC_LOOPBACK_KERNEL));
	};

	return std::ranges::any_of(world().hosts, has_it);
}

// ---- Accepting ----------------------------------------------------------------------------------

smc_accept_head smc_tcp_accept_head(struct sock *listener)
{
	scheduler().maybe_yield();
	if (listener->children.empty())
		return SMC_ACCEPT_EMPTY;
	return listener->children.front()->offers_smc ? SMC_ACCEPT_SMC : SMC_ACCEPT_PLAIN;
}

smc_accept_head smc_tcp_accept_hint(const struct sock *listener)
{
	if (listener->children.empty())
		return SMC_ACCEPT_EMPTY;
	if (listener->children.back()->offers_smc)
		return SMC_ACCEPT_SMC;
	return listener->children.size() > 1 ? SMC_ACCEPT_PLAIN : SMC_ACCEPT_EMPTY;
}

u32 smc_tcp_accept_up_to_smc(struct sock *listener)
{
	const auto &children = listener->children;

	scheduler().maybe_yield();
	const auto last = std::find_if(children.rbegin(), children.rend(),
				       [](const struct sock *child) { return child->offers_smc; });
	return static_cast<u32>(children.rend() - last);
}

// Simulated children inherit nothing from their listener.
void smc_tcp_watch_children(struct sock *) {}

// No simulated host has enough clients to reach the bounds of TCP's own queues.
void smc_tcp_limit_handshakes(struct sock *listener, bool full, smc_hs_limit)
{
	listener->refuses_smc = full;
}

struct sock *smc_tcp_accept(struct sock *listener, bool, int *err)
{
	smc_sk_lock(listener);
	struct sock *child = nullptr;
	if (listener->state != SMC_TCP_LISTEN) {
		*err = -EINVAL;
	} else if (listener->children.empty()) {
		*err = -EAGAIN;
	} else {
		child = listener->children.front();
		listener->children.pop_front();
	}
	smc_sk_unlock(listener);
	return child;
}

struct sock *smc_tcp_take_out(struct sock *listener)
{
	scheduler().maybe_yield();
	if (listener->children.empty())
		return nullptr;
	struct sock *child = listener->children.front();
	listener->children.pop_front();
	return child;
}

void smc_tcp_adopt(struct sock *sk, struct socket *sock)
{
	smc_sk_lock(sk);
	sock->sk = sk;
	sock->ss = SMC_SS_CONNECTED;
	sk->socket = sock;
	smc_sk_unlock(sk);
}

struct sock *smc_tcp_orphan(struct socket *sock)
{
	struct sock *sk = sock->sk;

	sk->socket = nullptr;
	sock->sk = nullptr;
	return sk;
}

struct socket *smc_tcp_wrap(struct sock *sk, struct socket *spare)
{
	struct socket *sock = spare;

	if (scheduler().current()->is_atomic())
		fail("a socket is made in atomic context");
	if (sock == nullptr) {
		if (world().lacks(world().knobs.no_memory))
			return nullptr;
		socket_counts().sockets++;
		socket_counts().wrapped++;
		sock = new struct socket;
	}
	smc_tcp_adopt(sk, sock);
	return sock;
}

struct sock *smc_tcp_empty(struct socket *sock)
{
	if (!sock->queue.empty())
		fail("a socket is taken for another one, and somebody waits on it");
	return smc_tcp_orphan(sock);
}

void smc_tcp_unwrap(struct socket *sock)
{
	struct sock *sk = sock->sk != nullptr ? smc_tcp_orphan(sock) : nullptr;

	if (!sock->queue.empty())
		fail("a socket is freed that somebody waits on");
	socket_counts().sockets--;
	delete sock;
	if (sk != nullptr)
		smc_tcp_close(sk);
}

void smc_tcp_keep(struct socket *sock)
{
	smc_tcp_orphan(sock)->linger = false;
}

void smc_tcp_let_go(struct sock *sk, bool reset)
{
	struct socket rest;

	if (scheduler().current()->is_atomic())
		fail("a socket is released in atomic context");
	if (reset) {
		smc_sk_lock(sk);
		smc_tcp_reset(sk, 0);
		smc_sk_unlock(sk);
	}
	rest.sk = sk;
	(void)smc_tcp_ops_release(&rest);
}

void smc_tcp_close(struct sock *sk)
{
	if (sk->connection != nullptr) {
		if (sk->state != SMC_TCP_CLOSE)
			sk->connection->send(sk->side, Segment::kReset, {});
		sk->connection->set_end(sk->side, nullptr);
	}
	sk->state = SMC_TCP_CLOSE;
	sk->dead = true;
	smc_sk_put(sk);
}

// ---- The CLC exchange ---------------------------------------------------------------------------

namespace {

void check_locked(const struct sock *sk)
{
	if (sk->owner != scheduler().current())
		fail("TCP is called without the sock's lock");
	scheduler().maybe_yield();
}

// A work item that gave the lock itself back would take in what has come meanwhile, and reclaim for
// that in the owner's memory cgroup.
void check_brief(const struct sock *sk)
{
	check_locked(sk);
	if (in_work_item() && !scheduler().current()->is_atomic())
		fail("a work item looks at TCP under the lock itself");
}

} // namespace

void smc_tcp_clc_begin(struct sock *sk, struct smc_tcp_clc *saved)
{
	check_brief(sk);
	saved->rcvlowat = sk->rcvlowat;
	// connect(AF_UNSPEC), or the like, may have ended it.
	saved->sent = sk->connection != nullptr ? sk->connection->sequence_sent(sk->side) : 0;
	saved->received =
		sk->connection != nullptr ? sk->connection->sequence_received(sk->side) : 0;
	sk->rcvlowat = 1;
}

void smc_tcp_clc_end(struct sock *sk, const struct smc_tcp_clc *saved)
{
	check_locked(sk);
	sk->rcvlowat = saved->rcvlowat;
}

namespace {

void observe_taken(const struct sock *sk)
{
	if (sk->connection != nullptr && sk->connection->observer != nullptr)
		sk->connection->observer->taken(sk->side);
}

// The observer follows only the module's messages.
int send_clc(struct sock *sk, const void *buf, size_t len)
{
	std::string message(static_cast<const char *>(buf), len);
	const std::shared_ptr<ClcObserver> observer = sk->connection->observer;

	if (!clc_forger())
		return send_now(sk, buf, len);
	observer->sent(sk->side, message);
	clc_forger()(message);
	sk->connection->observer = nullptr;
	const int ret = send_now(sk, message.data(), len);
	sk->connection->observer = observer;
	return ret;
}

} // namespace

bool smc_tcp_quiet(const struct sock *sk)
{
	scheduler().maybe_yield();
	return sk->received.empty() && sk->err == 0 && !sk->shut_rcv &&
	       sk->state == SMC_TCP_ESTABLISHED;
}

int smc_tcp_peek(struct sock *sk, void *buf, size_t len, bool *eof)
{
	check_brief(sk);
	const int ret = receive_now(sk, buf, len, true);
	*eof = ret == 0 || (ret > 0 && static_cast<size_t>(ret) < len && sk->shut_rcv);
	if (*eof && sk->state != SMC_TCP_CLOSE)
		observe_taken(sk);
	return ret == -EAGAIN ? 0 : ret;
}

int smc_tcp_drop(struct sock *sk, size_t len)
{
	std::string sink(len, '\0');

	check_brief(sk);
	const int ret = receive_now(sk, sink.data(), len, false);
	if (ret > 0)
		observe_taken(sk);
	if (ret >= 0 && static_cast<size_t>(ret) < len)
		return -EPIPE;
	return ret < 0 ? ret : 0;
}

int smc_tcp_send(struct sock *sk, const void *buf, size_t len)
{
	check_locked(sk);
	const int ret = world().lacks(world().knobs.no_memory) ? -ENOBUFS : send_clc(sk, buf, len);
	return ret < 0 ? ret : 0;
}

void smc_tcp_abort(struct sock *sk, int err)
{
	check_locked(sk);
	if (sk->state != SMC_TCP_CLOSE)
		reset_connection(sk, err);
	sk->received.clear();
	die(sk, err);
}

void smc_tcp_forget(struct sock *sk)
{
	smc_tcp_reset(sk, 0);
}

void smc_tcp_reset(struct sock *sk, int err)
{
	check_locked(sk);
	if (sk->state != SMC_TCP_CLOSE)
		reset_connection(sk, 0);
	sk->received.clear();
	sk->shut_rcv = sk->shut_snd = false;
	sk->err = err;
	if (sk->socket != nullptr)
		sk->socket->queue.wake(SMC_POLL_ERR);
}

bool smc_tcp_host_path(const struct smc_tcp_path *, struct smc_host_path *host)
{
	*host = {.ifindex = 2, .vlan_id = 0, .ipv4 = {}};
	return true;
}

bool smc_tcp_path(struct sock *sk, struct smc_tcp_path *path)
{
	*path = {};
	if (world().lacks(world().knobs.no_route))
		return false;
	path->ifindex = 2;
	path->vlan_id = sk->net->vlan_id;
	path->ipv4 = true;
	path->local[10] = path->local[11] = path->peer[10] = path->peer[11] = 0xff;
	std::copy(sk->net->address.begin(), sk->net->address.end(), path->local + 12);
	if (sk->connection != nullptr) {
		const auto &peer = sk->connection->address(1 - sk->side);
		std::copy(peer.begin(), peer.end(), path->peer + 12);
		path->own = peer == sk->net->address;
	}
	for (const u8 length : sk->net->prefix_lengths) {
		const u8 i = path->prefix4_count++;

		std::copy_n(sk->net->address.begin(), length / 8, path->prefix4[i]);
		path->prefix4_len[i] = length;
	}
	path->prefix4_own = path->prefix4_count;
	return true;
}
