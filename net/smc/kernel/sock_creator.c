// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocols by which IPPROTO_SMC makes socks.
 *
 * Copies of TCP's protocols, for the creation only: init turns the new sock into a TCP sock. The
 * copy stays as its creator, and with it the reference to the module that sk_alloc() took: it is
 * the only one until the caller holds one for the ops. It goes before there can be children or a
 * TIME_WAIT, which take their protocol from the creator.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "kernel/sock_ops.h"

struct proto smc_inet_prot __ro_after_init;
#if IS_ENABLED(CONFIG_IPV6)
struct proto smc_inet6_prot __ro_after_init;
#endif

static int become_tcp(struct sock *sk, struct proto *prot)
{
	sk->sk_protocol = IPPROTO_TCP;
	WRITE_ONCE(sk->sk_prot, prot);
	return prot->init(sk);
}

static void change_creator(struct sock *sk, struct proto *from, struct proto *to)
{
	if (READ_ONCE(sk->sk_prot_creator) != from)
		return;
	__module_get(to->owner);
	/* Two threads may be here. */
	module_put(cmpxchg(&sk->sk_prot_creator, from, to) == from ? from->owner : to->owner);
}

void smc_creator_drop(struct sock *sk)
{
	change_creator(sk, &smc_inet_prot, &tcp_prot);
#if IS_ENABLED(CONFIG_IPV6)
	change_creator(sk, &smc_inet6_prot, &tcpv6_prot);
#endif
}

static int inet_smc_init(struct sock *sk)
{
	return become_tcp(sk, &tcp_prot);
}

#if IS_ENABLED(CONFIG_IPV6)
static int inet6_smc_init(struct sock *sk)
{
	return become_tcp(sk, &tcpv6_prot);
}
#endif

void __init smc_creators_setup(void)
{
	smc_inet_prot = tcp_prot;
	smc_inet_prot.init = inet_smc_init;
	smc_inet_prot.owner = THIS_MODULE;
#if IS_ENABLED(CONFIG_IPV6)
	smc_inet6_prot = tcpv6_prot;
	smc_inet6_prot.init = inet6_smc_init;
	smc_inet6_prot.owner = THIS_MODULE;
#endif
}
