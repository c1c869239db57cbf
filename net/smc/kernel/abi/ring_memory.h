/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that connections send from and receive in: DMBs, RMBs, send buffers. Each
 * one, in use or kept for the next connection, is charged to the memory cgroup of
 * the sock that it was made for, and counts in one account for the whole host. That
 * is held against net.ipv4.tcp_mem, together with what TCP has: above the second
 * value there are rings of the smallest size only, above the third one none.
 */
#ifndef SMC_KERNEL_ABI_RING_MEMORY_H
#define SMC_KERNEL_ABI_RING_MEMORY_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

#define SMC_RING_BYTES_MIN (16 * 1024)

/*
 * Zeroed memory for a ring of @sk, or NULL: too much is in use, @sk's cgroup is full,
 * or there is none. Never at the price of a program that the OOM killer picks, and in
 * a work item without reclaiming in the cgroup. Contiguous if that is free. @spare:
 * only if it costs nobody anything. May sleep.
 */
void *smc_ring_alloc(struct sock *sk, size_t size_bytes, bool spare);
/* @size_bytes as it was asked for. NULL is fine. Any context. */
void smc_ring_free(void *ring, size_t size_bytes);

/*
 * Which memory cgroup @sk's rings are charged to: an ID that no other one ever gets.
 * 0: none. A ring that is charged to one is not for socks of another.
 */
u64 smc_ring_group(const struct sock *sk);

/*
 * So much is in use, above the first value of tcp_mem, that what nobody uses is not to
 * be kept. Any context.
 */
bool smc_rings_are_many(void);

/* There is room for one more ring of @size_bytes, as far as the account goes. Any context. */
bool smc_ring_fits(size_t size_bytes);

/* The second value of tcp_mem. Any context. */
u64 smc_ring_pressure_bytes(void);

SMC_ABI_END

#endif
