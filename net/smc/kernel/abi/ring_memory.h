/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that connections send from and receive in: DMBs, RMBs, send buffers. Each one, used or
 * kept for the next connection, is charged to the memory cgroup of the sock that it was made for,
 * and counts in one account for the whole host. That account plus TCP's own memory is compared with
 * net.ipv4.tcp_mem: above the second value only rings of the smallest size are made, above the
 * third one none but send buffers of that size.
 */
#ifndef SMC_KERNEL_ABI_RING_MEMORY_H
#define SMC_KERNEL_ABI_RING_MEMORY_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

#define SMC_RING_BYTES_MIN (16 * 1024)

/*
 * Zeroed memory for a ring of @sk, or NULL: too much is in use, @sk's cgroup is full, or there is
 * none. Never invokes the OOM killer, and a work item does not reclaim in the cgroup. Contiguous if
 * such memory is free. @spare: only if nobody has to give anything up for it. May sleep.
 */
void *smc_ring_alloc(struct sock *sk, size_t size_bytes, bool spare);
/* @size_bytes as in smc_ring_alloc(). NULL is fine. Any context. */
void smc_ring_free(void *ring, size_t size_bytes);

/*
 * The memory cgroup that @sk's rings are charged to, as an ID that is never used again. 0: none, or
 * @sk is NULL. A ring charged to one cgroup is not for socks of another.
 */
u64 smc_ring_group(const struct sock *sk);

/* Above the first value of tcp_mem: unused rings are not to be kept. Any context. */
bool smc_rings_are_many(void);

/* The account has room for one more ring of @size_bytes. Any context. */
bool smc_ring_fits(size_t size_bytes);

/* The second value of tcp_mem. Any context. */
u64 smc_ring_pressure_bytes(void);

SMC_ABI_END

#endif
