// SPDX-License-Identifier: GPL-2.0-only
//
// A second connection by TCP alone (kernel/abi/tcp_peer.h), simulated.
#include "kernel/abi/tcp_peer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_ops.h"
#include "scheduler.hpp"
#include "socket.hpp"
#include "talk.hpp"
#include "tcp_connection.hpp"
#include "trace.hpp"
#include "world.hpp"

using namespace sim;

namespace {

constexpr int kNonblock = 00004000;

} // namespace

bool smc_tcp_peer(const struct sockaddr *addr, int, struct smc_peer *peer)
{
	*peer = {};
	if (addr->host == nullptr)
		return false;
	peer->address[10] = peer->address[11] = 0xff;
	std::copy(addr->host->address.begin(), addr->host->address.end(), peer->address + 12);
	peer->port = addr->port;
	return true;
}

bool smc_tcp_routed_by_address(const struct sock *sk)
{
	return !sk->marked;
}

// A simulated address does not fit into the attempt, which has the sock's own address instead.
void smc_tcp_remember_attempt(struct sock *sk, const struct sockaddr *addr, int addr_len,
			      struct smc_tcp_attempt *attempt)
{
	attempt->by_address = smc_tcp_routed_by_address(sk);
	attempt->addr_len = addr_len;
	std::memcpy(attempt->addr, &sk, sizeof(sk));
	sk->attempted = *addr;
}

bool smc_tcp_attempted_peer(const struct smc_tcp_attempt *attempt, struct smc_peer *peer)
{
	const struct sock *sk;

	std::memcpy(&sk, attempt->addr, sizeof(sk));
	return smc_tcp_peer(&sk->attempted, attempt->addr_len, peer);
}

int smc_tcp_connect_again(struct socket *sock, const struct smc_tcp_attempt *attempt)
{
	struct sock *sk = sock->sk;
	smc_peer peer;

	if (sk->owner != scheduler().current())
		fail("connects again without the sock's lock");
	if (sk->attempted.meets != nullptr)
		fail("who connects to a client connects to him again");
	if (!smc_tcp_attempted_peer(attempt, &peer) || sk->attempted.port != peer.port)
		fail("the second connection has another port");
	const auto first = sk->connection;
	if (first != nullptr && sk->state != SMC_TCP_CLOSE)
		first->send(sk->side, Segment::kReset, {});
	// Nobody is woken.
	sk->state = SMC_TCP_CLOSE;
	sk->err = 0;
	sk->shut_rcv = sk->shut_snd = false;
	sk->received.clear();
	smc_tcp_withdraw(sk);
	sock->ss = SMC_SS_UNCONNECTED;
	const int ret =
		smc_tcp_connect_locked(sock, &sk->attempted, sizeof(sk->attempted), kNonblock);
	// A server that has aborted the first one, perhaps before the client's handshake had ended.
	if (first != nullptr && talks().is_disorderly(first->id()))
		talks().refuse(sk->connection->id());
	return ret;
}

u32 smc_tcp_round_trip_ms(const struct sock *)
{
	return 1;
}
