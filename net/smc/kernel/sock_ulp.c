// SPDX-License-Identifier: GPL-2.0-only
/*
 * setsockopt(TCP_ULP, "smc"): makes an SMC socket of a fresh TCP socket. Only its ops change, under
 * the sock's lock; a call of another thread that is inside TCP's ops at that moment stays a TCP
 * call.
 *
 * The layer stays until the socket is closed: one of those calls may be a TCP_ULP that has yet to
 * read the name of another layer, and must find the place taken. Or it may be a getsockopt(), which
 * looks at the layer, sleeps in a copy, and looks again: TCP never takes a layer away before the
 * close, so it does not expect that there is none by then.
 *
 * An IPV6_ADDRFORM must find the place taken, too, since it would give the sock TCP's ops without a
 * call of ours: it refuses any sk_prot but TCP's own. So the sock has another one until it gets
 * those ops.
 */
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_option.h"

/*
 * A copy of TCP's, which differs by its address only. Half-open requests of a listener use it as
 * long as they last, and so may a child that is made while the listener ends: nothing in it is
 * ours, and it stays when the module goes.
 */
static struct proto *taken_v6_prot __ro_after_init;

#if IS_ENABLED(CONFIG_IPV6)

static struct proto *tcps_v6_prot(void)
{
	return &tcpv6_prot;
}

#else

/* No sock has it. */
static struct proto *tcps_v6_prot(void)
{
	return &tcp_prot;
}

#endif

static int ulp_init(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;

	if (sk->sk_state != TCP_CLOSE || !sock || sock->state != SS_UNCONNECTED)
		return -EISCONN;
	if (sk->sk_family == AF_INET6 && !smc_have_ipv6())
		return -EAFNOSUPPORT;
	/* Ours already, or a socket of ours that has fallen back for good. */
	if (READ_ONCE(sock->ops) == smc_ops_of(sk) || smc_sock_state(sock))
		return -EEXIST;
	/* Another layer has put its own there. */
	if (READ_ONCE(sock->ops) != smc_base_ops(sk) ||
	    (sk->sk_family == AF_INET6 && sk->sk_prot != tcps_v6_prot()))
		return -EINVAL;
	/*
	 * Released with the socket, as for any module's ops, instead of the reference held so far:
	 * IPv6 may be a module, which stays for as long as this one does.
	 */
	__module_get(THIS_MODULE);
	module_put(smc_base_ops(sk)->owner);
	/* TCP has cleared it, as for any socket with a layer; this one sends as TCP does. */
	sock_allow_zerocopy(sock);
	if (sk->sk_family == AF_INET6)
		WRITE_ONCE(sk->sk_prot, taken_v6_prot);
	/* Callers read the ops without a lock. */
	smp_store_release(&sock->ops, smc_ops_of(sk));
	return 0;
}

void smc_ulp_give_back_prot(struct sock *sk)
{
	if (sk->sk_prot == taken_v6_prot)
		WRITE_ONCE(sk->sk_prot, tcps_v6_prot());
}

/* A listener's children have no reference to the layer, and do not need it. */
static void ulp_clone(const struct request_sock *req, struct sock *child, const gfp_t priority)
{
	inet_csk(child)->icsk_ulp_ops = NULL;
	smc_ulp_give_back_prot(child);
	if (child->sk_prot_creator == taken_v6_prot)
		child->sk_prot_creator = tcps_v6_prot();
}

static struct tcp_ulp_ops smc_ulp __read_mostly = {
	.name = SMC_ULP_NAME,
	.owner = THIS_MODULE,
	.init = ulp_init,
	.clone = ulp_clone,
};

int __init smc_ulp_prepare(void)
{
	taken_v6_prot = kmemdup(tcps_v6_prot(), sizeof(struct proto), GFP_KERNEL);
	return taken_v6_prot ? 0 : -ENOMEM;
}

void __init smc_ulp_forget(void)
{
	kfree(taken_v6_prot);
}

void __init smc_ulp_setup(void)
{
	const int ret = tcp_register_ulp(&smc_ulp);

	if (ret) {
		/* The name is taken. */
		pr_err("smc: no TCP_ULP \"" SMC_ULP_NAME "\": error %d\n", ret);
		smc_ulp_forget();
		taken_v6_prot = NULL;
		return;
	}
	kmemleak_not_leak(taken_v6_prot);
}

void smc_ulp_teardown(void)
{
	if (taken_v6_prot)
		tcp_unregister_ulp(&smc_ulp);
}

bool smc_ulp_is_ours(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_ulp_ops) == &smc_ulp;
}

#ifdef SMC_OPTION_IS_OURS
struct proto *smc_ulp_prot(const struct sock *sk)
{
	return smc_ulp_is_ours(sk) ? taken_v6_prot : tcps_v6_prot();
}
#endif

void smc_drop_ulp(struct sock *sk)
{
	if (!smc_ulp_is_ours(sk))
		return;
	smc_ulp_give_back_prot(sk);
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, NULL);
	module_put(smc_ulp.owner);
}
