// SPDX-License-Identifier: GPL-2.0-only
/*
 * Charges children of a listener to the listener's memory cgroup. TCP charges them to the cgroup of
 * the task that accepts them, and a work item has none.
 */
#include <linux/memcontrol.h>
#include <net/sock.h>

#include "kernel/tcp_charge.h"

#ifdef CONFIG_MEMCG
/*
 * The child's memory so far counts for TCP as a whole, and for no cgroup. It is given back, and
 * taken once more with the cgroup: the call that charges a cgroup alone is not open to modules.
 * Also beyond the cgroup's limit, as TCP does: the memory is in use already. TCP allows that to a
 * socket that has more than its send buffer takes, so the size of that is 0 meanwhile. With bottom
 * halves off this neither reclaims nor calls the OOM killer nor waits: it may run in a work item,
 * which others wait for.
 */
static void charge_again(struct sock *child, struct mem_cgroup *memcg)
{
	const int taken_bytes = PAGE_ALIGN(child->sk_forward_alloc + child->sk_wmem_queued +
					   atomic_read(&child->sk_rmem_alloc));
	const int sndbuf = child->sk_sndbuf;
	const u8 userlocks = child->sk_userlocks;

	if (taken_bytes > 0)
		__sk_mem_reclaim(child, taken_bytes);
	child->sk_memcg = memcg;
	if (taken_bytes <= 0)
		return;
	child->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(child->sk_sndbuf, 0);
	local_bh_disable();
	WARN_ON_ONCE(!__sk_mem_schedule(child, taken_bytes, SK_MEM_SEND));
	local_bh_enable();
	WRITE_ONCE(child->sk_sndbuf, sndbuf);
	child->sk_userlocks = userlocks;
}
#endif

void smc_tcp_charge_child(struct sock *child, const struct sock *listener)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = listener->sk_memcg;

	if (!memcg || child->sk_memcg)
		return;
	lock_sock(child);
	if (css_tryget(&memcg->css))
		charge_again(child, memcg);
	release_sock(child);
#endif
}
