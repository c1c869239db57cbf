// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, logging, time and randomness for the C++ side.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "kernel/abi/mem.h"

static_assert(sizeof_field(struct smc_rcu_head, opaque) == sizeof(struct rcu_head));
static_assert(offsetof(struct smc_rcu_head, opaque) == 0);

void *smc_mem_alloc(size_t size_bytes)
{
	/*
	 * Without memory a connection becomes TCP; peers must not be able to fill the log by that.
	 */
	return kvzalloc(size_bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

void smc_mem_free(void *mem)
{
	kvfree(mem);
}

/* With the type that RCU calls: kernels with control-flow integrity check it. */
static void run_deferred(struct rcu_head *rcu)
{
	struct smc_rcu_head *head = (struct smc_rcu_head *)rcu;

	head->fn(head);
}

void smc_rcu_defer(struct smc_rcu_head *head, void (*fn)(struct smc_rcu_head *head))
{
	head->fn = fn;
	call_rcu((struct rcu_head *)head, run_deferred);
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
	/* The timers that its users wait for expire by ticks, too, and the hardware's is slow. */
	return jiffies64_to_msecs(get_jiffies_64());
}

void smc_random_bytes(void *out, size_t len_bytes)
{
	get_random_bytes(out, len_bytes);
}

u64 smc_random_u64(void)
{
	return get_random_u64();
}

u64 smc_hash(const struct smc_hash_key *key, u64 first, u64 second)
{
	const siphash_key_t secret = { .key = { key->words[0], key->words[1] } };

	return siphash_2u64(first, second, &secret);
}

void smc_warn_bug(const char *what)
{
	WARN_ONCE(1, "smc: %s\n", what);
}

void smc_log_notice(const char *what, const char *object, u32 value)
{
	pr_notice_ratelimited("smc: %s %s %#x\n", what, object, value);
}
