// SPDX-License-Identifier: GPL-2.0-only
/* The ops tables: those of SMC sockets, which sock_ops.c fills, and TCP's own behind them. */
#include <linux/net.h>
/* Before the next, which on 5.10 does not include what it needs. */
#include <net/sock.h>
#include <net/inet_common.h>

#include "kernel/sock_ops.h"

struct proto_ops smc_ops_v4 __ro_after_init;
struct proto_ops smc_ops_v6 __ro_after_init;
/* inet6_stream_ops is not exported: learnt from a socket. */
static const struct proto_ops *base_v6 __ro_after_init;

void __init smc_tables_learn_v6(const struct proto_ops *base)
{
	base_v6 = base;
}

const struct proto_ops *smc_base_ops(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? base_v6 : &inet_stream_ops;
}

bool smc_have_ipv6(void)
{
	return base_v6;
}
