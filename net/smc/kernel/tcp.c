// SPDX-License-Identifier: GPL-2.0-only
/*
 * What TCP knows of a connection.
 */
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "kernel/abi/tcp.h"
#include "kernel/tcp_option.h"

bool smc_tcp_fastopen_connect(const struct sock *sk)
{
	return tcp_sk(sk)->fastopen_connect;
}

bool smc_tcp_is_own_peer(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (inet->inet_sport != inet->inet_dport)
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	/* IPv4 addresses are in it, too, as mapped ones. */
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_equal(&sk->sk_v6_rcv_saddr, &sk->sk_v6_daddr);
#endif
	return inet->inet_rcv_saddr == inet->inet_daddr;
}
