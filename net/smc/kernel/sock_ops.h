/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ops tables of SMC sockets, and TCP's own that stand behind them.
 */
#ifndef SMC_KERNEL_SOCK_OPS_H
#define SMC_KERNEL_SOCK_OPS_H

#include <linux/net.h>
#include <net/sock.h>

extern struct proto_ops smc_ops_v4;
extern struct proto_ops smc_ops_v6;

/* setsockopt(TCP_ULP, "smc"): what may fail, and then the layer itself. */
int smc_ulp_prepare(void);
void smc_ulp_forget(void);
void smc_ulp_setup(void);
void smc_ulp_teardown(void);
/* What it is known by. */
#define SMC_ULP_NAME "smc"

/* TCP's ops for this sock's family. */
const struct proto_ops *smc_base_ops(const struct sock *sk);
static inline const struct proto_ops *smc_ops_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &smc_ops_v6 : &smc_ops_v4;
}

/*
 * Lets go of TCP_ULP "smc", if that made this an SMC socket. Under the sock's lock, or when its
 * socket is being released.
 */
void smc_drop_ulp(struct sock *sk);
/*
 * Lets go of what IPPROTO_SMC holds the module with until the socket is there, and its ops do. Any
 * context; more than once.
 */
void smc_drop_creator(struct sock *sk);

/*
 * Takes away what smc_tcp_watch_children() has put into a sock, when that listens no more, or is a
 * child that nobody else has seen. Any context; also of one that has nothing.
 */
void smc_tcp_give_back_af(struct sock *sk);
/* Learns that table of TCP's for the family of @sk, a fresh one. */
void smc_tcp_learn_af(const struct sock *sk);

/* False if the kernel runs without IPv6. */
bool smc_have_ipv6(void);
/* Learns TCP's ops and prepares the tables of fallen sockets. */
int smc_ops_setup(void);
void smc_ops_teardown(void);

#endif
