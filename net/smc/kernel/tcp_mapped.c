// SPDX-License-Identifier: GPL-2.0-only
/*
 * IPv6 socks that connect by IPv4, where TCP does not write the option. TCP gives such a sock
 * another table for its address family and sends the SYN before it returns, so the copy of that
 * table has to be there before: for the time of the call the sock has a protocol whose connect() is
 * ours. It does what TCP does with such an address, and leaves all others to TCP.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_option.h"

#if defined(SMC_OPTION_IS_OURS) && IS_ENABLED(CONFIG_IPV6)

/* Of sockets with TCP_ULP "smc", and of others: see sock_ulp.c. */
static struct proto connecting[2] __ro_after_init;

static struct proto *connecting_prot(const struct sock *sk)
{
	return &connecting[smc_ulp_is_ours(sk)];
}

static bool is_mapped(const struct sockaddr_in6 *to, int length)
{
	return length >= SIN6_LEN_RFC2133 && to->sin6_family == AF_INET6 &&
	       ipv6_addr_v4mapped(&to->sin6_addr);
}

static int connect_by_ipv4(struct sock *sk, const struct sockaddr_in6 *to)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const u16 header_bytes = icsk->icsk_ext_hdr_len;
	struct tcp_sock *tp = tcp_sk(sk);
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = to->sin6_port,
		.sin_addr.s_addr = to->sin6_addr.s6_addr32[3],
	};
	int ret;

	/* Timestamps of another peer say nothing. */
	if (tp->rx_opt.ts_recent_stamp && !ipv6_addr_equal(&sk->sk_v6_daddr, &to->sin6_addr)) {
		tp->rx_opt.ts_recent = 0;
		tp->rx_opt.ts_recent_stamp = 0;
		WRITE_ONCE(tp->write_seq, 0);
	}
	sk->sk_v6_daddr = to->sin6_addr;
	inet6_sk(sk)->flow_label = 0;
	smc_af_offer_mapped(sk);
	ret = tcp_prot.connect(sk, (struct sockaddr_unsized *)&sin, sizeof(sin));
	if (ret) {
		icsk->icsk_ext_hdr_len = header_bytes;
		smc_af_offer_v6(sk);
		inet_sk(sk)->inet_dport = 0;
		sk->sk_route_caps = 0;
		return ret;
	}
	inet6_sk(sk)->saddr = sk->sk_v6_rcv_saddr;
	return 0;
}

static int connect_v6(struct sock *sk, struct sockaddr_unsized *addr, int length)
{
	const struct sockaddr_in6 *to = (const struct sockaddr_in6 *)addr;

	smc_mapped_end(sk);
	/* A flow label is TCP's to look up, and sockets of IPv6 alone its to refuse. */
	if (!is_mapped(to, length) || to->sin6_flowinfo || ipv6_only_sock(sk) ||
	    smc_af_kind(sk) != SMC_AF_OFFERING || !smc_af_knows_mapped())
		return tcpv6_prot.connect(sk, addr, length);
	return connect_by_ipv4(sk, to);
}

void smc_mapped_begin(struct sock *sk, const struct sockaddr *addr, int length)
{
	if (sk->sk_family != AF_INET6 || sk->sk_state != TCP_CLOSE ||
	    smc_af_kind(sk) != SMC_AF_OFFERING || sk->sk_prot != smc_ulp_prot(sk))
		return;
	if (is_mapped((const struct sockaddr_in6 *)addr, length) && !smc_af_knows_mapped())
		smc_af_learn_mapped(smc_tables_fill);
	/* For other addresses as well, since a BPF program may yet change it. */
	WRITE_ONCE(sk->sk_prot, connecting_prot(sk));
}

void smc_mapped_end(struct sock *sk)
{
	if (sk->sk_prot == connecting_prot(sk))
		WRITE_ONCE(sk->sk_prot, smc_ulp_prot(sk));
}

void __init smc_mapped_setup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(connecting); i++) {
		connecting[i] = tcpv6_prot;
		connecting[i].connect = connect_v6;
	}
}

#endif
