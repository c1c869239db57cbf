// SPDX-License-Identifier: GPL-2.0-only
/* Memory of rings: who is charged, and how much there may be. */
#include <linux/atomic.h>
#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#include "kernel/abi/stats.h"
#include "kernel/ring_memory.h"

/* Places in tcp_mem. */
enum {
	TCP_MEM_LOW,
	TCP_MEM_PRESSURE,
	TCP_MEM_HIGH,
};

static atomic_long_t ring_pages = ATOMIC_LONG_INIT(0);

static long tcp_pages(void)
{
	return atomic_long_read(tcp_prot.memory_allocated);
}

static long mark_pages(int mark)
{
	return READ_ONCE(tcp_prot.sysctl_mem[mark]);
}

static bool fits(long all_ring_pages, size_t size_bytes)
{
	const int mark = size_bytes > SMC_RING_BYTES_MIN ? TCP_MEM_PRESSURE : TCP_MEM_HIGH;

	return all_ring_pages + tcp_pages() <= mark_pages(mark);
}

bool smc_ring_enter(const struct sock *sk, size_t size_bytes, bool anyway)
{
	const long pages = smc_ring_pages(size_bytes);

	/* Add first, then look: of several at once none may slip through. */
	if (fits(atomic_long_add_return(pages, &ring_pages), size_bytes) || anyway)
		return true;
	atomic_long_sub(pages, &ring_pages);
	smc_stat_inc(sock_net(sk), SMC_STAT_RING_LIMITED);
	return false;
}

void smc_ring_leave(size_t size_bytes)
{
	atomic_long_sub(smc_ring_pages(size_bytes), &ring_pages);
}

u64 smc_ring_bytes(void)
{
	return (u64)atomic_long_read(&ring_pages) << PAGE_SHIFT;
}

bool smc_rings_are_many(void)
{
	return atomic_long_read(&ring_pages) + tcp_pages() > mark_pages(TCP_MEM_LOW);
}

void *smc_ring_vmalloc(size_t size_bytes, gfp_t gfp)
{
	/* A smaller ring, or TCP, is better than a program that the OOM killer picks. */
	const gfp_t effort = __GFP_RETRY_MAYFAIL;
	void *ring;

	ring = __vmalloc(size_bytes, gfp | effort | __GFP_ZERO);
	if (ring || gfpflags_allow_blocking(gfp))
		return ring;
	/*
	 * The cgroup's limit is reached, or the host has no free pages at hand, as usual where
	 * files fill its memory. In the second case it helps to allocate some pages that no cgroup
	 * pays for: afterwards they are free.
	 */
	vfree(__vmalloc(size_bytes, GFP_KERNEL | __GFP_NOWARN | effort));
	return __vmalloc(size_bytes, gfp | effort | __GFP_ZERO);
}

bool smc_ring_fits(size_t size_bytes)
{
	return fits(atomic_long_read(&ring_pages) + (long)smc_ring_pages(size_bytes), size_bytes);
}

u64 smc_ring_pressure_bytes(void)
{
	return (u64)mark_pages(TCP_MEM_PRESSURE) << PAGE_SHIFT;
}

void *smc_ring_alloc(struct sock *sk, size_t size_bytes, bool spare)
{
	gfp_t gfp = smc_ring_gfp(sk);
	struct mem_cgroup *old;
	void *ring;

	if (!smc_ring_enter(sk, size_bytes, false))
		return NULL;
	/* The peer asks for it in a call of its own. */
	if (spare)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	old = smc_ring_charge(smc_ring_memcg(sk));
	ring = kzalloc(size_bytes, gfp | __GFP_NORETRY);
	if (!ring)
		ring = spare ? __vmalloc(size_bytes, gfp | __GFP_ZERO)
			     : smc_ring_vmalloc(size_bytes, gfp);
	smc_ring_charge(old);
	if (!ring)
		smc_ring_leave(size_bytes);
	return ring;
}

void smc_ring_free(void *ring, size_t size_bytes)
{
	if (!ring)
		return;
	kvfree(ring);
	smc_ring_leave(size_bytes);
}

u64 smc_ring_group(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	if (sk && sk->sk_memcg)
		return cgroup_id(sk->sk_memcg->css.cgroup);
#endif
	return 0;
}
