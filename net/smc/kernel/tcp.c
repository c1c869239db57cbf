// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMC's option on the TCP connection under a socket. Here TCP itself writes and reads it (kernels
 * built with CONFIG_SMC), and only has to be told.
 */
#include <linux/jump_label.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/tcp.h"
#include "kernel/stages.h"

#if !IS_ENABLED(CONFIG_SMC)
#error "this kernel's TCP does not know the SMC option: no variant for it yet"
#endif

int __init smc_tcp_setup(void)
{
	static_branch_enable(&tcp_have_smc);
	return 0;
}

void smc_tcp_teardown(void)
{
	static_branch_disable(&tcp_have_smc);
}

void smc_tcp_offer(struct sock *sk)
{
	tcp_sk(sk)->syn_smc = 1;
}

void smc_tcp_withdraw(struct sock *sk)
{
	WRITE_ONCE(tcp_sk(sk)->syn_smc, 0);
}

bool smc_tcp_fastopen_connect(const struct sock *sk)
{
	return tcp_sk(sk)->fastopen_connect;
}

bool smc_tcp_agreed(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

static bool is_own_peer(const struct sock *sk)
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

enum smc_tcp_opened smc_tcp_opened(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* A SYN-ACK without the option clears syn_smc; a SYN does not. */
	if (!READ_ONCE(tp->syn_smc) || !tp->rx_opt.smc_ok)
		return SMC_TCP_OPENED_PLAIN;
	if (is_own_peer(sk))
		return SMC_TCP_OPENED_SELF;
	/*
	 * tcp_finish_connect(), which a SYN-ACK leads to, sets lrcvtime, as if data had come. By
	 * way of SYN_RECV it stays 0 until data come.
	 */
	if (!READ_ONCE(inet_csk(sk)->icsk_ack.lrcvtime))
		return SMC_TCP_OPENED_CROSSED;
	return SMC_TCP_OPENED;
}
