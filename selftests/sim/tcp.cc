// SPDX-License-Identifier: GPL-2.0-only
//
// TCP as far as the module can tell: connections, accept queues, byte streams with delays, resets.
#include "kernel/abi/tcp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "clc_observer.hpp"
#include "kernel/abi/control.h"
#include "scheduler.hpp"
#include "socket.hpp"
#include "talk.hpp"
#include "trace.hpp"

namespace sim {

SocketCounts &socket_counts()
{
	static SocketCounts counts;
	return counts;
}

std::function<void(std::string &)> &clc_forger()
{
	static std::function<void(std::string &)> forger;
	return forger;
}

namespace {

constexpr unsigned kSynTries = 4;

u64 connections_made;
std::map<std::pair<net *, u16>, struct sock *> listeners;
std::map<std::pair<u32, u32>, std::weak_ptr<TcpConnection>> by_sequence;

u64 latency_us()
{
	const Knobs &knobs = world().knobs;
	Random &random = scheduler().random();

	if (world().fault(knobs.tcp_stall)) {
		const u64 stalled_us = random.between(100'000, 8'000'000);
		note("TCP stalls for %llu ms", stalled_us / 1000);
		return stalled_us;
	}
	return 1 + random.below(knobs.latency_us);
}

void wake(struct sock *sk, u32 events)
{
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events);
}

// As sk_state_change().
void wake_all(struct sock *sk, u32 events)
{
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events, true);
}

void die(struct sock *sk, int err)
{
	if (err != 0)
		sk->err = err;
	sk->state = SMC_TCP_CLOSE;
	sk->shut_rcv = sk->shut_snd = true;
	wake_all(sk, SMC_POLL_IN | SMC_POLL_OUT | SMC_POLL_ERR | SMC_POLL_HUP | SMC_POLL_RDHUP);
}

} // namespace

TcpConnection::TcpConnection(u64 id, struct sock *client, const net &server)
	: id_(id), ends_{client, nullptr}, addresses_{client->net->address, server.address}
{
	Random &random = scheduler().random();

	for (unsigned side = 0; side < 2; side++) {
		sent_[side] = static_cast<u32>(random.next());
		received_[1 - side] = sent_[side];
	}
	if (random.one_in(world().knobs.middlebox))
		received_[random.below(2)] += 1 + static_cast<u32>(random.below(1000));
}

namespace {

// Knobs: eid_changes. Host b itself knows the first EID alone.
std::string from_host_b(std::string bytes)
{
	constexpr std::size_t kLaterAccept = 108;
	constexpr std::size_t kEid = 64;

	if (bytes.size() == kLaterAccept && bytes.compare(kEid, SMC_EID_LEN, eid_of_hosts()) == 0)
		bytes.replace(kEid, SMC_EID_LEN, eid_of_hosts(1));
	return bytes;
}

void to_host_b(std::string &received)
{
	const std::size_t at = received.find(eid_of_hosts(1));

	if (at != std::string::npos)
		received.replace(at, SMC_EID_LEN, eid_of_hosts());
}

} // namespace

void TcpConnection::send(unsigned from, Segment kind, std::string bytes)
{
	const unsigned to = 1 - from;
	const u64 time_us = std::max(last_us_[to], scheduler().now_us() + latency_us());
	auto self = ends_[from] != nullptr ? ends_[from]->connection : nullptr;

	if (self == nullptr && ends_[to] != nullptr)
		self = ends_[to]->connection;
	if (self == nullptr)
		return;
	if (kind == Segment::kData && observer != nullptr)
		observer->sent(from, bytes);
	if (kind == Segment::kData && world().fault(world().knobs.tcp_reset)) {
		note("tcp-%llu: reset by the network", id_);
		kind = Segment::kReset;
		bytes.clear();
		// Both sides hear of it; one that did not, and sends nothing, would wait for ever.
		scheduler().at(time_us, [self, from] { self->deliver(from, Segment::kReset, {}); });
	}
	last_us_[to] = time_us;
	sent_[from] += static_cast<u32>(bytes.size());
	scheduler().at(time_us, [self, to, kind, bytes = std::move(bytes)] {
		self->deliver(to, kind, bytes);
	});
}

void TcpConnection::break_off()
{
	note("tcp-%llu: reset by the network", id_);
	for (const unsigned from : {0U, 1U})
		send(from, Segment::kReset, {});
}

std::shared_ptr<TcpConnection> connection_by_sequence(u32 client, u32 server)
{
	const auto found = by_sequence.find({client, server});

	return found != by_sequence.end() ? found->second.lock() : nullptr;
}

void TcpConnection::deliver(unsigned to, Segment kind, const std::string &bytes)
{
	struct sock *sk = ends_[to];

	// Nobody is there any more.
	if (sk == nullptr || sk->dead || sk->state == SMC_TCP_CLOSE) {
		if (kind == Segment::kData && ends_[1 - to] != nullptr)
			send(to, Segment::kReset, {});
		return;
	}
	switch (kind) {
	case Segment::kData:
		// In pieces, now and then: a reader must not count on whole messages.
		sk->received += bytes;
		if (to == 1 && world().knobs.eid_changes)
			to_host_b(sk->received);
		received_[to] += static_cast<u32>(bytes.size());
		// As tcp_data_ready().
		if (sk->received.size() >= static_cast<size_t>(sk->rcvlowat))
			wake(sk, SMC_POLL_IN);
		break;
	case Segment::kFin:
		if (sk->state == SMC_TCP_ESTABLISHED)
			sk->state = SMC_TCP_CLOSE_WAIT;
		sk->shut_rcv = true;
		wake_all(sk, SMC_POLL_IN | SMC_POLL_RDHUP);
		break;
	case Segment::kReset:
		note("tcp-%llu: reset arrives at side %u", id_, to);
		die(sk, sk->state == SMC_TCP_CLOSE_WAIT ? EPIPE : ECONNRESET);
		break;
	}
}

void reset_connection(struct sock *sk, int err)
{
	if (sk->connection != nullptr && sk->state != SMC_TCP_CLOSE)
		sk->connection->send(sk->side, Segment::kReset, {});
	die(sk, err);
}

// ---- Establishing -------------------------------------------------------------------------------

namespace {

struct sock *new_sock(net *host)
{
	socket_counts().socks++;
	return new struct sock(host);
}

void arrive_in_queue(struct sock *listener, struct sock *child)
{
	if (child->dead)
		return;
	listener->children.push_back(child);
	wake(listener, SMC_POLL_IN);
}

void send_syn(struct sock *client, net *host, u16 port, unsigned tries);

// At the server. The client may have given up meanwhile.
void receive_syn(const std::shared_ptr<TcpConnection> &connection, net *host, u16 port, bool option,
		 unsigned tries)
{
	struct sock *client = connection->end(0);
	const auto found = listeners.find({host, port});

	if (client == nullptr || client->state != SMC_TCP_SYN_SENT)
		return;
	if (found == listeners.end()) {
		scheduler().after(latency_us(), [connection] {
			struct sock *sk = connection->end(0);
			if (sk != nullptr && sk->state == SMC_TCP_SYN_SENT)
				die(sk, ECONNREFUSED);
		});
		return;
	}
	struct sock *listener = found->second;
	if (listener->children.size() > listener->backlog) {
		scheduler().after(1'000'000, [connection, host, port, tries] {
			struct sock *sk = connection->end(0);
			if (sk != nullptr && sk->state == SMC_TCP_SYN_SENT)
				send_syn(sk, host, port, tries + 1);
		});
		return;
	}
	struct sock *child = new_sock(host);
	child->connection = connection;
	child->side = 1;
	child->state = SMC_TCP_ESTABLISHED;
	child->offers_smc = option && listener->offers_smc && !listener->refuses_smc;
	if (option && listener->refuses_smc)
		talks().refuse(connection->id());
	child->sndbuf_bytes = listener->sndbuf_bytes;
	child->rcvbuf_bytes = listener->rcvbuf_bytes;
	connection->set_end(1, child);
	const bool answered = child->offers_smc && !world().fault(world().knobs.strip_option);
	const u64 there_us = latency_us();
	const u64 back_us = there_us + latency_us();

	scheduler().after(there_us, [connection, answered] {
		struct sock *sk = connection->end(0);
		// A client that has closed meanwhile answers the SYN-ACK with a reset.
		if (sk == nullptr || sk->state != SMC_TCP_SYN_SENT) {
			connection->send(0, Segment::kReset, {});
			return;
		}
		sk->offers_smc = sk->offers_smc && answered;
		sk->state = SMC_TCP_ESTABLISHED;
		wake(sk, SMC_POLL_OUT);
	});
	scheduler().after(back_us, [connection, child, host, port] {
		const auto still = listeners.find({host, port});

		if (connection->end(1) != child)
			return;
		if (still != listeners.end() && child->state != SMC_TCP_CLOSE) {
			arrive_in_queue(still->second, child);
			return;
		}
		reset_connection(child, 0);
		smc_tcp_close(child);
	});
}

void send_syn(struct sock *client, net *host, u16 port, unsigned tries)
{
	const auto connection = client->connection;
	const bool option = client->offers_smc && !world().fault(world().knobs.strip_option);

	if (tries == kSynTries) {
		die(client, ETIMEDOUT);
		return;
	}
	scheduler().after(latency_us(), [connection, host, port, option, tries] {
		receive_syn(connection, host, port, option, tries);
	});
}

void establish(const std::shared_ptr<TcpConnection> &connection, unsigned side, bool crossed)
{
	struct sock *sk = connection->end(side);

	if (sk == nullptr || sk->state != SMC_TCP_SYN_SENT)
		return;
	sk->crossed = crossed;
	sk->state = SMC_TCP_ESTABLISHED;
	wake(sk, SMC_POLL_OUT);
}

// Simultaneous open, without loss.
void meet(struct sock *sk, struct sock *other, bool one_sided)
{
	sk->meets = other;
	if (other->meets != sk)
		return;
	const auto connection =
		std::make_shared<TcpConnection>(++connections_made, other, *sk->net);

	connection->set_end(1, sk);
	for (struct sock *end : {other, sk})
		end->connection = connection;
	other->side = 0;
	sk->side = 1;
	other->peer_showed = sk->offers_smc;
	sk->peer_showed = other->offers_smc;
	scheduler().after(latency_us(), [=] { establish(connection, 0, true); });
	scheduler().after(latency_us(), [=] { establish(connection, 1, !one_sided); });
}

} // namespace
} // namespace sim

using namespace sim;

void smc_tcp_offer(struct sock *sk)
{
	sk->offers_smc = true;
}

void smc_tcp_withdraw(struct sock *sk)
{
	sk->offers_smc = false;
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

// There is one kernel.
bool smc_tcp_addr_is_here(const struct sock *, const struct sockaddr *, int)
{
	return true;
}

bool smc_tcp_uses_ipsec(struct sock *)
{
	return false;
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

// Simulated children have nothing of their listener's.
void smc_tcp_watch_children(struct sock *) {}

// The bounds of TCP's own queues no simulated host has clients enough for.
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

struct socket *smc_tcp_wrap(struct sock *sk)
{
	if (scheduler().current()->is_atomic())
		fail("a socket is made in atomic context");
	if (world().lacks(world().knobs.no_memory))
		return nullptr;
	socket_counts().sockets++;
	auto *sock = new struct socket;
	smc_tcp_adopt(sk, sock);
	return sock;
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

struct socket *smc_tcp_keep(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct socket *kept = smc_tcp_wrap(sk);

	if (kept != nullptr) {
		sock->sk = nullptr;
		sk->linger = false;
	}
	return kept;
}

void smc_tcp_let_go(struct socket *sock, bool reset)
{
	if (scheduler().current()->is_atomic())
		fail("a socket is released in atomic context");
	if (reset) {
		smc_sk_lock(sock->sk);
		smc_tcp_reset(sock->sk, 0);
		smc_sk_unlock(sock->sk);
	}
	(void)smc_tcp_ops_release(sock);
	socket_counts().sockets--;
	delete sock;
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

} // namespace

void smc_tcp_clc_begin(struct sock *sk, struct smc_tcp_clc *saved)
{
	check_locked(sk);
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

// As tcp_recvmsg() that does not block: bytes, 0 at the end, or -errno.
int receive_now(struct sock *sk, void *buf, size_t len, bool peek)
{
	const size_t n = std::min(len, sk->received.size());

	if (n != 0) {
		std::memcpy(buf, sk->received.data(), n);
		if (!peek)
			sk->received.erase(0, n);
		return static_cast<int>(n);
	}
	if (sk->err != 0)
		return smc_sk_take_error(sk);
	if (sk->shut_rcv)
		return 0;
	if (sk->state == SMC_TCP_CLOSE)
		return -ENOTCONN;
	return -EAGAIN;
}

int send_now(struct sock *sk, const void *buf, size_t len)
{
	if (sk->err != 0)
		return smc_sk_take_error(sk);
	if (sk->shut_snd || sk->state == SMC_TCP_CLOSE)
		return -EPIPE;
	// In pieces: a reader must not count on whole messages.
	std::string message(static_cast<const char *>(buf), len);
	if (sk->side == 1 && world().knobs.eid_changes)
		message = from_host_b(std::move(message));
	const char *bytes = message.data();
	Random &random = scheduler().random();
	for (size_t at = 0; at < len;) {
		size_t n = len - at;
		if (random.one_in(3))
			n = 1 + random.below(n);
		sk->connection->send(sk->side, Segment::kData, {bytes + at, n});
		at += n;
	}
	return static_cast<int>(len);
}

} // namespace

namespace {

// What is read along is what the module has said.
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
	check_locked(sk);
	const int ret = receive_now(sk, buf, len, true);
	*eof = ret == 0 || (ret > 0 && static_cast<size_t>(ret) < len && sk->shut_rcv);
	if (*eof && sk->state != SMC_TCP_CLOSE)
		observe_taken(sk);
	return ret == -EAGAIN ? 0 : ret;
}

int smc_tcp_drop(struct sock *sk, size_t len)
{
	std::string sink(len, '\0');

	check_locked(sk);
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
	}
	for (const u8 length : sk->net->prefix_lengths) {
		const u8 i = path->prefix4_count++;

		std::copy_n(sk->net->address.begin(), length / 8, path->prefix4[i]);
		path->prefix4_len[i] = length;
	}
	path->prefix4_own = path->prefix4_count;
	return true;
}

bool smc_tcp_peer_is_here(const struct sock *sk, const struct smc_tcp_path *)
{
	const struct sock *peer = sk->connection->end(1 - sk->side);

	return peer != nullptr && world().may_meet(sk->net, peer->net);
}

// ---- TCP's own calls ----------------------------------------------------------------------------

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
		// What an attempt before this one still has under way is nobody's.
		if (sk->connection != nullptr)
			sk->connection->set_end(sk->side, nullptr);
		sk->crossed = false;
		sk->peer_showed = true;
		if (addr->meets != nullptr) {
			sk->state = SMC_TCP_SYN_SENT;
			sock->ss = SMC_SS_CONNECTING;
			meet(sk, addr->meets, addr->one_sided);
			break;
		}
		sk->connection =
			std::make_shared<TcpConnection>(++connections_made, sk, *addr->host);
		sk->connection->observer = observe_clc(sk->connection->id(), sk->net, addr->host);
		by_sequence[{sk->connection->sequence_sent(0), sk->connection->sequence_sent(1)}] =
			sk->connection;
		sk->side = 0;
		sk->state = SMC_TCP_SYN_SENT;
		sk->err = 0;
		sk->shut_rcv = sk->shut_snd = false;
		sk->received.clear();
		sock->ss = SMC_SS_CONNECTING;
		send_syn(sk, addr->host, addr->port, 0);
		if (nonblock)
			ret = -EINPROGRESS;
		break;
	}
	if (ret == 0) {
		long timeo = nonblock ? 0 : 1L << 40;
		const auto settled = [](void *arg) {
			return static_cast<struct sock *>(arg)->state != SMC_TCP_SYN_SENT;
		};
		ret = smc_sk_wait(sk, &timeo, settled, sk, false);
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
	sk->state = SMC_TCP_LISTEN;
	sk->backlog = static_cast<u32>(backlog);
	listeners[{sk->net, sk->port}] = sk;
	smc_sk_unlock(sk);
	return 0;
}

// Of a listener that is shut down; any other is SMC's.
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

	// Whoever asks has looked at other things before, and those may change meanwhile.
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
		listeners.erase({sk->net, sk->port});
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

	smc_sk_lock(sk);
	const size_t n = smc_msg_copy_from(msg, bytes.data(), len);
	int ret = n == 0 && len != 0 ? -EFAULT : send_now(sk, bytes.data(), n);
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
	long timeo = (bits & SMC_MSG_DONTWAIT) != 0 || sock->nonblock ? 0 : 1L << 40;

	if ((bits & SMC_MSG_OOB) != 0)
		return -EINVAL;
	smc_sk_lock(sk);
	int ret = smc_sk_wait(sk, &timeo, readable, sk, false);
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
		listeners.erase({sk->net, sk->port});
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
