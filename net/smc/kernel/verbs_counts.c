// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many objects of the RDMA core the module holds: what a leak test reads.
 */
#include <linux/atomic.h>

#include "kernel/verbs.h"

static atomic_t smc_ib_counters[SMC_IB_COUNTS];
static atomic64_t smc_ib_buffers_bytes;

void smc_ib_count(enum smc_ib_count what, int by)
{
	atomic_add(by, &smc_ib_counters[what]);
}

void smc_ib_count_buffer_bytes(s64 by)
{
	atomic64_add(by, &smc_ib_buffers_bytes);
}

void smc_ib_counts(struct smc_ib_counts *out)
{
	out->devices = atomic_read(&smc_ib_counters[SMC_IB_COUNT_DEVICES]);
	out->links = atomic_read(&smc_ib_counters[SMC_IB_COUNT_LINKS]);
	out->regions = atomic_read(&smc_ib_counters[SMC_IB_COUNT_REGIONS]);
	out->memory_regions = atomic_read(&smc_ib_counters[SMC_IB_COUNT_MEMORY_REGIONS]);
	out->buffers = atomic_read(&smc_ib_counters[SMC_IB_COUNT_BUFFERS]);
	out->buffers_bytes = atomic64_read(&smc_ib_buffers_bytes);
}
