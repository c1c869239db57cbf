// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children of a listener are charged to the listener's memory cgroup: TCP charges them to that of
 * the task that accepts them, and a work item has none. And how work items charge.
 */
#include <linux/bottom_half.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <net/sock.h>

#include "kernel/tcp_charge.h"

#ifdef CONFIG_MEMCG
/*
 * Also beyond the cgroup's limit, as TCP does in softirqs. TCP allows that to a socket that has
 * more than its send buffer takes, so the size of that is 0 meanwhile. With bottom halves off this
 * neither reclaims nor calls the OOM killer nor waits.
 */
static void charge(struct sock *sk, int bytes)
{
	const int sndbuf = sk->sk_sndbuf;
	const u8 userlocks = sk->sk_userlocks;

	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, 0);
	local_bh_disable();
	WARN_ON_ONCE(!__sk_mem_schedule(sk, bytes, SK_MEM_SEND));
	local_bh_enable();
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
	sk->sk_userlocks = userlocks;
}

/*
 * The child's memory so far counts for TCP as a whole, and for no cgroup. It is given back, and
 * taken once more with the cgroup: the call that charges a cgroup alone is not open to modules. The
 * memory is in use already, so the limit is not asked.
 */
static void charge_again(struct sock *child, struct mem_cgroup *memcg)
{
	const int taken_bytes = PAGE_ALIGN(child->sk_forward_alloc + child->sk_wmem_queued +
					   atomic_read(&child->sk_rmem_alloc));

	if (taken_bytes > 0)
		__sk_mem_reclaim(child, taken_bytes);
	child->sk_memcg = memcg;
	if (taken_bytes > 0)
		charge(child, taken_bytes);
}
#endif

void smc_tcp_charge_child(struct sock *child, const struct sock *listener)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = listener->sk_memcg;
	bool slow;

	if (!memcg || child->sk_memcg)
		return;
	/* What TCP receives meanwhile waits for the spinlock, and is charged in its softirq. */
	slow = lock_sock_fast(child);
	if (css_tryget(&memcg->css))
		charge_again(child, memcg);
	unlock_sock_fast(child, slow);
#endif
}

gfp_t smc_tcp_atomic_begin(struct sock *sk)
{
	const gfp_t allocation = sk->sk_allocation;

	sk->sk_allocation = sk_gfp_mask(sk, GFP_ATOMIC);
	local_bh_disable();
	return allocation;
}

void smc_tcp_atomic_end(struct sock *sk, gfp_t allocation)
{
	local_bh_enable();
	sk->sk_allocation = allocation;
	/* Where it must not sleep, TCP of older kernels sends from pages that the sock keeps. */
	if (sk->sk_frag.page) {
		put_page(sk->sk_frag.page);
		sk->sk_frag.page = NULL;
	}
}

void smc_tcp_charge_ahead(struct sock *sk)
{
#ifdef CONFIG_MEMCG
	if (sk->sk_memcg && sk->sk_forward_alloc < (int)PAGE_SIZE)
		charge(sk, PAGE_SIZE);
#endif
}
