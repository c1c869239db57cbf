// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom a socket connects to, and a second connection to him by TCP alone.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <linux/time64.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_peer.h"
#include "kernel/compat.h"
#include "kernel/tcp_charge.h"

static_assert(sizeof_field(struct smc_tcp_attempt, addr) == sizeof(struct sockaddr_in6));

bool smc_tcp_peer(const struct sockaddr *addr, int addr_len, struct smc_peer *peer)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	struct in6_addr address = {};
	__be16 port;

	*peer = (struct smc_peer){};
	if (addr_len >= (int)sizeof(*v4) && v4->sin_family == AF_INET) {
		ipv6_addr_set_v4mapped(v4->sin_addr.s_addr, &address);
		port = v4->sin_port;
	} else if (addr_len >= SIN6_LEN_RFC2133 && v6->sin6_family == AF_INET6) {
		address = v6->sin6_addr;
		port = v6->sin6_port;
		if (addr_len >= (int)sizeof(*v6) &&
		    __ipv6_addr_needs_scope_id(__ipv6_addr_type(&address)))
			peer->scope_id = v6->sin6_scope_id;
	} else {
		return false;
	}
	memcpy(peer->address, &address, sizeof(peer->address));
	peer->port = ntohs(port);
	return true;
}

bool smc_tcp_routed_by_address(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (READ_ONCE(sk->sk_bound_dev_if) || READ_ONCE(sk->sk_mark) || inet->inet_rcv_saddr ||
	    READ_ONCE(inet->tos))
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_any(&sk->sk_v6_rcv_saddr))
		return false;
#endif
	return true;
}

void smc_tcp_remember_attempt(struct sock *sk, const struct sockaddr *addr, int addr_len,
			      struct smc_tcp_attempt *attempt)
{
	attempt->by_address = smc_tcp_routed_by_address(sk);
	attempt->addr_len = clamp_t(int, addr_len, 0, sizeof(attempt->addr));
	/* Without a call, as a rule. */
	if (attempt->addr_len == sizeof(struct sockaddr_in))
		memcpy(attempt->addr, addr, sizeof(struct sockaddr_in));
	else
		memcpy(attempt->addr, addr, attempt->addr_len);
	attempt->port = inet_sk(sk)->inet_num;
	attempt->window_clamp = tcp_sk(sk)->window_clamp;
}

bool smc_tcp_attempted_peer(const struct smc_tcp_attempt *attempt, struct smc_peer *peer)
{
	return smc_tcp_peer((const struct sockaddr *)attempt->addr, attempt->addr_len, peer);
}

/* Who sleeps or polls would take the report for the end of the user's connection. */
static void report_nothing(struct sock *sk)
{
}

/* A port that the program has named stays by itself. */
static void take_port_again(struct sock *sk, u16 port)
{
	struct inet_sock *inet = inet_sk(sk);

	/* If somebody has taken it meanwhile, connecting chooses another one. */
	if (port && !inet->inet_num && !sk->sk_prot->get_port(sk, port))
		inet->inet_sport = htons(inet->inet_num);
}

int smc_tcp_connect_again(struct socket *sock, const struct smc_tcp_attempt *attempt)
{
	/* BPF programs may write a longer one into it. */
	struct sockaddr_storage addr = {};
	struct sock *sk = sock->sk;
	void (*report)(struct sock *sk) = sk->sk_error_report;

	memcpy(&addr, attempt->addr, attempt->addr_len);
	WRITE_ONCE(sk->sk_error_report, report_nothing);
	smc_tcp_forget(sk);
	WRITE_ONCE(sk->sk_error_report, report);
	smc_tcp_withdraw(sk);
	take_port_again(sk, attempt->port);
	WRITE_ONCE(tcp_sk(sk)->window_clamp, attempt->window_clamp);
	smc_tcp_charge_ahead(sk);
	sock->state = SS_UNCONNECTED;
	return __inet_stream_connect(sock, (struct sockaddr_unsized *)&addr, attempt->addr_len,
				     O_NONBLOCK, 0);
}

u32 smc_tcp_round_trip_ms(const struct sock *sk)
{
	return DIV_ROUND_UP(READ_ONCE(tcp_sk(sk)->srtt_us) >> 3, USEC_PER_MSEC);
}
