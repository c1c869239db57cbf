// SPDX-License-Identifier: GPL-2.0-only
#include "tcp_open.hpp"

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "kernel/abi/tcp.h"
#include "scheduler.hpp"
#include "talk.hpp"
#include "tcp_connection.hpp"
#include "world.hpp"

namespace sim {
namespace {

constexpr unsigned kSynTries = 30;

std::map<std::pair<net *, u16>, struct sock *> listeners;

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
		scheduler().after(tcp_latency_us(), [connection] {
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
	const u64 there_us = tcp_latency_us();
	const u64 back_us = there_us + tcp_latency_us();

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
	scheduler().after(tcp_latency_us(), [connection, host, port, option, tries] {
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

} // namespace

void start_listening(struct sock *sk)
{
	listeners[{sk->net, sk->port}] = sk;
}

void stop_listening(const struct sock *sk)
{
	listeners.erase({sk->net, sk->port});
}

void send_syn(struct sock *client, net *host, u16 port)
{
	send_syn(client, host, port, 0);
}

void meet(struct sock *sk, struct sock *other, bool one_sided)
{
	sk->meets = other;
	if (other->meets != sk)
		return;
	const auto connection = new_connection(other, *sk->net);

	connection->set_end(1, sk);
	for (struct sock *end : {other, sk})
		end->connection = connection;
	other->side = 0;
	sk->side = 1;
	other->peer_showed = sk->offers_smc;
	sk->peer_showed = other->offers_smc;
	scheduler().after(tcp_latency_us(), [=] { establish(connection, 0, true); });
	scheduler().after(tcp_latency_us(), [=] { establish(connection, 1, !one_sided); });
}

} // namespace sim
