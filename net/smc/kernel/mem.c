// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, logging, time and randomness for the C++ side.
 */
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sock.h>

#include "kernel/abi/mem.h"

static_assert(sizeof(struct smc_rcu_head) == sizeof(struct rcu_head));

void *smc_mem_alloc(size_t size_bytes)
{
	/* Without it a connection becomes TCP; peers are not to fill the log for that. */
	return kvzalloc(size_bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

void *smc_mem_alloc_ring(struct sock *sk, size_t size_bytes, bool spare)
{
	/*
	 * Without a cgroup of its own the sock is the root's, and nobody is charged: the caller may
	 * be the peer's program.
	 */
	const gfp_t gfp = __GFP_NOWARN | (sk->sk_memcg ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	/* A smaller ring, or TCP, is better than a program there that the OOM killer picks. */
	const gfp_t effort = spare ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	struct mem_cgroup *old = set_active_memcg(sk->sk_memcg);
	void *ring = kzalloc(size_bytes, gfp | __GFP_NORETRY);

	if (!ring)
		ring = __vmalloc(size_bytes, gfp | effort | __GFP_ZERO);
	set_active_memcg(old);
	return ring;
}

u64 smc_mem_group(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	if (sk->sk_memcg)
		return cgroup_id(sk->sk_memcg->css.cgroup);
#endif
	return 0;
}

void smc_mem_free(void *mem)
{
	kvfree(mem);
}

void smc_rcu_defer(struct smc_rcu_head *head, void (*fn)(struct smc_rcu_head *head))
{
	call_rcu((struct rcu_head *)head, (rcu_callback_t)fn);
}

void smc_rcu_read_lock(void) __acquires(RCU)
{
	rcu_read_lock();
}

void smc_rcu_read_unlock(void) __releases(RCU)
{
	rcu_read_unlock();
}

void smc_rcu_barrier(void)
{
	rcu_barrier();
}

u64 smc_now_ms(void)
{
	return ktime_get_mono_fast_ns() / NSEC_PER_MSEC;
}

void smc_random_bytes(void *out, size_t len_bytes)
{
	get_random_bytes(out, len_bytes);
}

u64 smc_random_u64(void)
{
	return get_random_u64();
}

void smc_warn_bug(const char *what)
{
	WARN_ONCE(1, "smc: %s\n", what);
}

void smc_log_notice(const char *what, const char *object, u32 value)
{
	pr_notice_ratelimited("smc: %s %s %#x\n", what, object, value);
}
