// SPDX-License-Identifier: GPL-2.0-only
/*
 * setsockopt(TCP_ULP, "smc"): makes an SMC socket of a fresh TCP socket. Its
 * ops change and nothing else, under the sock's lock; a call of another thread
 * that is inside TCP's ops at that moment stays what it is, TCP.
 *
 * The layer stays until the socket is released, or leaves for TCP's own ops: one
 * of those calls may be a TCP_ULP that has yet to read the name of another layer,
 * and that must find the place taken.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"

static int ulp_init(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;

	if (sk->sk_state != TCP_CLOSE || !sock || sock->state != SS_UNCONNECTED)
		return -EISCONN;
	if (sk->sk_family == AF_INET6 && !smc_have_ipv6())
		return -EAFNOSUPPORT;
	/* Ours already, or it was and has fallen back for good. */
	if (READ_ONCE(sock->ops) == smc_ops_of(sk) || smc_sock_state(sock))
		return -EEXIST;
	/* Someone else has put ops of his own there. */
	if (READ_ONCE(sock->ops) != smc_base_ops(sk))
		return -EINVAL;
	/* Given back with the socket, as for any ops of a module. */
	__module_get(THIS_MODULE);
	/* TCP has taken it away, as from any socket with a layer; this one sends as TCP does. */
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	/* Callers read the ops without a lock. */
	smp_store_release(&sock->ops, smc_ops_of(sk));
	return 0;
}

/* A listener's children have no reference on the layer, and no use for it. */
static void ulp_clone(const struct request_sock *req, struct sock *child, const gfp_t priority)
{
	inet_csk(child)->icsk_ulp_ops = NULL;
}

static struct tcp_ulp_ops smc_ulp __read_mostly = {
	.name = "smc",
	.owner = THIS_MODULE,
	.init = ulp_init,
	.clone = ulp_clone,
};

int __init smc_ulp_setup(void)
{
	return tcp_register_ulp(&smc_ulp);
}

void smc_ulp_teardown(void)
{
	tcp_unregister_ulp(&smc_ulp);
}

void smc_drop_ulp(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_ulp_ops != &smc_ulp)
		return;
	icsk->icsk_ulp_ops = NULL;
	module_put(smc_ulp.owner);
}
