/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by all kinds of rings: the account, and who is charged. */
#ifndef SMC_KERNEL_RING_MEMORY_H
#define SMC_KERNEL_RING_MEMORY_H

#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "kernel/abi/ring_memory.h"

/*
 * How many pages a ring takes. Where a page is larger than the smallest ring, that takes a whole
 * one; SMC-D's takes a part, and counts as one all the same.
 */
static inline unsigned int smc_ring_pages(size_t size_bytes)
{
	return DIV_ROUND_UP(size_bytes, PAGE_SIZE);
}

/*
 * Enters a ring of @size_bytes for @sk. False, and counted there, if that would be too much. Any
 * context.
 */
bool smc_ring_enter(const struct sock *sk, size_t size_bytes, bool anyway);
void smc_ring_leave(size_t size_bytes);
/* Of all rings, in every namespace. */
u64 smc_ring_bytes(void);

/*
 * Without a cgroup, or a sock, nobody is charged: the current task may be the peer's program.
 */
static inline struct mem_cgroup *smc_ring_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk ? sk->sk_memcg : NULL;
#else
	return NULL;
#endif
}

/*
 * Who pays for this thread's allocations from now on; returns who did until now. Process context:
 * older kernels do not export what set_active_memcg() needs elsewhere.
 */
static inline struct mem_cgroup *smc_ring_charge(struct mem_cgroup *memcg)
{
#if defined(HAVE_INT_ACTIVE_MEMCG) || !defined(CONFIG_MEMCG)
	return set_active_memcg(memcg);
#else
	swap(current->active_memcg, memcg);
	return memcg;
#endif
}

/*
 * For allocations under smc_ring_charge(smc_ring_memcg(@sk)). A work item runs for everybody:
 * where the cgroup is full it takes less, or nothing. It neither reclaims in the cgroup nor waits,
 * as a task does whose cgroup is above its memory.high.
 */
static inline gfp_t smc_ring_gfp(const struct sock *sk)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;

	if (!smc_ring_memcg(sk))
		return gfp;
	if (current->flags & PF_WQ_WORKER)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	return gfp | __GFP_ACCOUNT;
}

/* Zeroed pages that need not be contiguous, or NULL; @gfp as of smc_ring_gfp(). */
void *smc_ring_vmalloc(size_t size_bytes, gfp_t gfp);

#endif
