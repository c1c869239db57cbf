// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways to make an SMC socket: PF_SMC, and IPPROTO_SMC in PF_INET and PF_INET6.
 * Each makes a TCP sock; only the socket's ops differ.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/printk.h>
#include <linux/socket.h>
#include <net/ipv6.h>
#include <net/protocol.h>
#include <net/sock.h>

#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/stages.h"

#define SMCPROTO_SMC 0
#define SMCPROTO_SMC6 1
#ifndef IPPROTO_SMC_VALUE
#define IPPROTO_SMC_VALUE 256
#endif

/* ---- PF_SMC -------------------------------------------------------------------- */

static int smc_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct socket *inner;
	struct sock *sk;
	int family, ret;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != SMCPROTO_SMC && protocol != SMCPROTO_SMC6)
		return -EPROTONOSUPPORT;
	family = protocol == SMCPROTO_SMC6 ? PF_INET6 : PF_INET;
	if (family == PF_INET6 && !smc_have_ipv6())
		return -EAFNOSUPPORT;

	/*
	 * The whole of TCP's own way to make a socket, with its namespace
	 * reference, labels and cgroup hooks; then the sock changes hands.
	 */
	ret = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &inner, kern);
	if (ret)
		return ret;
	/* A TCP socket of the user's, for all that others can tell. */
	smc_deselect(inner);
	sk = inner->sk;
	inner->sk = NULL;
	sock->state = SS_UNCONNECTED;
	sock->ops = smc_ops_of(sk);
	sock_graft(sk, sock);
	sock_allow_zerocopy(sock);
	sock_release(inner);
	return 0;
}

static const struct net_proto_family smc_family = {
	.family = PF_SMC,
	.owner = THIS_MODULE,
	.create = smc_create,
};

/* ---- IPPROTO_SMC ----------------------------------------------------------------- */

static struct inet_protosw inet_smc_protosw = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_SMC_VALUE,
	.prot = &smc_inet_prot,
	.ops = &smc_ops_v4,
	.flags = INET_PROTOSW_ICSK,
};

#if IS_ENABLED(CONFIG_IPV6)

static struct inet_protosw inet6_smc_protosw = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_SMC_VALUE,
	.prot = &smc_inet6_prot,
	.ops = &smc_ops_v6,
	.flags = INET_PROTOSW_ICSK,
};

static bool smc_protocol_v6;

static void __init register_v6(void)
{
	int ret;

	if (!smc_have_ipv6())
		return;
	/* If IPv6 has that protocol already, the other ways remain. */
	ret = inet6_register_protosw(&inet6_smc_protosw);
	smc_protocol_v6 = ret == 0;
	if (ret)
		pr_err("smc: no IPPROTO_SMC for IPv6: error %d\n", ret);
}

static void unregister_v6(void)
{
	if (smc_protocol_v6)
		inet6_unregister_protosw(&inet6_smc_protosw);
}

#else

static void __init register_v6(void)
{
}

static void unregister_v6(void)
{
}

#endif

/* ---- Setup -------------------------------------------------------------------------- */

/*
 * An open socket holds the module, but a module whose loading fails goes all the same. So
 * everything that can fail comes before the first way to make a socket.
 */
int __init smc_sock_setup(void)
{
	int ret;

	ret = smc_ops_setup();
	if (ret)
		return ret;
	ret = smc_ulp_prepare();
	if (ret)
		return ret;
	smc_creators_setup();

	ret = sock_register(&smc_family);
	if (ret) {
		smc_ulp_forget();
		return ret;
	}
	inet_register_protosw(&inet_smc_protosw);
	register_v6();
	smc_ulp_setup();
	return 0;
}

void smc_sock_teardown(void)
{
	smc_ulp_teardown();
	unregister_v6();
	inet_unregister_protosw(&inet_smc_protosw);
	sock_unregister(PF_SMC);
	smc_ops_teardown();
}
