/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory, logging, time and randomness.
 */
#ifndef SMC_KERNEL_ABI_MEM_H
#define SMC_KERNEL_ABI_MEM_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * Memory or NULL. Cleared in kernels, so that nothing of another owner can ever leak; but nobody
 * relies on that, and the doubles of the tests fill it with rubbish. May sleep.
 */
void *smc_mem_alloc(size_t size_bytes);
/* Any context; NULL is fine. */
void smc_mem_free(void *mem);

/*
 * Frees @mem with @fn after every RCU reader that can see it now has left.
 * @head is storage inside the object. Any context.
 */
struct smc_rcu_head {
	void *opaque[2];
	void (*fn)(struct smc_rcu_head *head);
};
void smc_rcu_defer(struct smc_rcu_head *head, void (*fn)(struct smc_rcu_head *head));
void smc_rcu_read_lock(void);
void smc_rcu_read_unlock(void);
/* Waits for readers and for deferred frees that are under way. May sleep. */
void smc_rcu_barrier(void);

/* Milliseconds of a monotonic clock, the same one on all processors: of ticks. Any context. */
u64 smc_now_ms(void);
void smc_random_bytes(void *out, size_t len_bytes);
/* As unguessable as the above, and cheaper by far than eight bytes of it. */
u64 smc_random_u64(void);
/* For tables of what strangers choose: who does not know @key cannot tell what collides. */
struct smc_hash_key {
	u64 words[2];
};
u64 smc_hash(const struct smc_hash_key *key, u64 first, u64 second);

/* A bug of this module: warns once for each call site, and goes on. */
void smc_warn_bug(const char *what);
/* Rate-limited notice to the log. */
void smc_log_notice(const char *what, const char *object, u32 value);

SMC_ABI_END

#endif
