// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fallen sockets: they run TCP's own functions, but keep their reference to this module until they
 * are released, because a thread of the process may still be inside one of our functions.
 *
 * Two things replace the ops of a TCP socket without a call of ours: kTLS, which also copies the
 * table of the first TLS socket for all later ones, and IPV6_ADDRFORM. So a fallen socket watches
 * for these two options, and gets TCP's own table before either can happen.
 */
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/lock.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"

static struct proto_ops fallen_v4 __ro_after_init;
static struct proto_ops fallen_v6 __ro_after_init;

/*
 * A fallen socket with TCP's own ops does not call us at release, and other threads may still be
 * inside our functions with its state. So the state and the reference to this module stay until the
 * socket is closed. Nothing in a sock can tell us that without its clones inheriting it, and these
 * hold no reference: so the sock is looked at from time to time.
 */
struct guest {
	struct list_head node;
	struct sock *sk; /* held */
	void *state;
};

#define GUEST_LOOK_MS 200
/* Users choose how many there are: the lock is released after so many. */
#define GUESTS_AT_ONCE 64

static LIST_HEAD(guests);
static DEFINE_SPINLOCK(guests_lock);
static struct smc_work guests_work;

/* Takes some of @todo: those that are closed go to @gone. False if none is left. */
static bool look_at_some(struct list_head *todo, struct list_head *gone)
{
	struct guest *guest;
	unsigned int n;

	spin_lock(&guests_lock);
	for (n = 0; n < GUESTS_AT_ONCE && !list_empty(todo); n++) {
		guest = list_first_entry(todo, struct guest, node);
		/* Nobody has its descriptor any more, nor is inside a call on it. */
		list_move(&guest->node, sock_flag(guest->sk, SOCK_DEAD) ? gone : &guests);
	}
	spin_unlock(&guests_lock);
	return !list_empty(todo);
}

static void look_at_guests(struct smc_work *work)
{
	struct guest *guest, *next;
	LIST_HEAD(todo);
	LIST_HEAD(gone);
	bool more;

	spin_lock(&guests_lock);
	list_splice_init(&guests, &todo);
	spin_unlock(&guests_lock);
	while (look_at_some(&todo, &gone))
		cond_resched();
	spin_lock(&guests_lock);
	more = !list_empty(&guests);
	spin_unlock(&guests_lock);
	if (more)
		smc_work_queue_delayed(work, GUEST_LOOK_MS);
	list_for_each_entry_safe(guest, next, &gone, node) {
		smc_op_forget(guest->state);
		/* TCP may last for minutes, and must not hold the module that long. */
		lock_sock(guest->sk);
		smc_drop_ulp(guest->sk);
		release_sock(guest->sk);
		sock_put(guest->sk);
		kfree(guest);
		/* smc_fallen_teardown() waits for the rest of this run. */
		module_put(THIS_MODULE);
		cond_resched();
	}
}

static const struct proto_ops *fallen_ops_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &fallen_v6 : &fallen_v4;
}

/*
 * For good: a thread that takes over the ops, now or later, finds TCP's own, and nothing of ours
 * has to be put back afterwards.
 */
static noinline int leave(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct guest *guest;
	bool left;
	int ret;

	/* A socket of the kernel may go with its namespace at any moment. */
	if (!sk->sk_net_refcnt)
		return -EOPNOTSUPP;
	guest = kmalloc(sizeof(*guest), GFP_KERNEL);
	if (!guest)
		return -ENOMEM;
	/* User space can make others wait for this, but only on the same socket. */
	lock_sock(sk);
	left = READ_ONCE(sock->ops) == fallen_ops_of(sk);
	/* It may have been a listener of ours, and become one of TCP's later, with children. */
	if (left)
		smc_op_stop_limiting(smc_sock_state(sock));
	ret = left ? smc_tcp_unlimit_handshakes(sk) : 0;
	if (left && !ret) {
		smc_ulp_give_back_prot(sk);
		/* IPv6 may be a module; its socket's release puts it. */
		__module_get(smc_base_ops(sk)->owner);
		/* Callers read the ops without a lock. */
		smp_store_release(&sock->ops, smc_base_ops(sk));
	}
	release_sock(sk);
	if (!left || ret) {
		kfree(guest);
		return ret;
	}
	sock_hold(sk);
	guest->sk = sk;
	guest->state = smc_sock_state(sock);
	/* Its release does not call us, so its state stops using the socket now. */
	smc_op_leave(guest->state);
	spin_lock(&guests_lock);
	list_add(&guest->node, &guests);
	spin_unlock(&guests_lock);
	smc_work_queue_if_idle(&guests_work, GUEST_LOOK_MS);
	return 0;
}

int smc_fallen_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			  unsigned int optlen)
{
	/* By TCP_ULP "smc" the place is taken for good, and TCP says so. */
	const bool changes_layer =
		level == SOL_TCP && optname == TCP_ULP && !smc_ulp_is_ours(sock->sk);

	if (changes_layer || (level == SOL_IPV6 && optname == IPV6_ADDRFORM)) {
		const int ret = leave(sock);

		if (ret)
			return ret;
	}
	return sock_common_setsockopt(sock, level, optname, optval, optlen);
}

void smc_sock_fall(struct socket *sock)
{
	smc_drop_creator(sock->sk);
	/* Only if it is our table: kTLS may have put its own there meanwhile. */
	(void)cmpxchg(&sock->ops, smc_ops_of(sock->sk), fallen_ops_of(sock->sk));
}

void smc_sock_make_plain(struct socket *new_sock)
{
	const struct proto_ops *ops = new_sock->ops;

	/* It may listen later, to peers with which its owner does not want SMC. */
	smc_tcp_withdraw(new_sock->sk);
	/* kernel_accept() then gives it the listener's ops, with a reference, when this returns. */
	if (!ops)
		return;
	new_sock->ops = smc_base_ops(new_sock->sk);
	/* IPv6 may be a module; its socket's release puts it. */
	__module_get(new_sock->ops->owner);
	/* The listener holds a reference of its own while accept() runs. */
	module_put(ops->owner);
}

void __init smc_fallen_learn(const struct proto_ops *base)
{
	struct proto_ops *fallen = base->family == PF_INET6 ? &fallen_v6 : &fallen_v4;

	*fallen = *base;
	fallen->owner = THIS_MODULE;
	fallen->release = smc_op_release;
	fallen->setsockopt = smc_fallen_setsockopt;
}

void __init smc_fallen_setup(void)
{
	/* It takes locks of socks, though of closed ones only. */
	smc_work_init(&guests_work, look_at_guests, SMC_WORK_OF_SOCKET);
}

void smc_fallen_teardown(void)
{
	/* No guest is left, but the last run may not have ended. */
	smc_work_cancel_sync(&guests_work);
}
