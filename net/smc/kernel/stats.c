// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters per CPU and network namespace.
 */
#include <linux/percpu.h>

#include "kernel/abi/stats.h"
#include "kernel/pernet.h"

/* An address of every CPU is in an address space of its own, which compilers know since gcc 14. */
struct smc_counters *smc_counters(struct net *net)
{
	return (struct smc_counters *)(uintptr_t __force)smc_pernet(net)->stats;
}

static u64 __percpu *values_of(struct smc_counters *counters)
{
	return (u64 __percpu __force *)(uintptr_t)counters;
}

void smc_count(struct smc_counters *counters, u32 index, s64 n)
{
	if (WARN_ON_ONCE(index >= SMC_STATS))
		return;
	this_cpu_add(values_of(counters)[index], n);
}

void smc_count_call(struct smc_counters *counters, u32 calls, u32 payload, u32 bytes, s64 n)
{
	u64 __percpu *values = values_of(counters);

	this_cpu_inc(values[calls]);
	this_cpu_inc(values[payload]);
	this_cpu_add(values[bytes], n);
}

void smc_stat_add(struct net *net, u32 index, s64 n)
{
	smc_count(smc_counters(net), index, n);
}

u64 smc_stat_read(struct net *net, u32 index)
{
	u64 __percpu *stats = smc_pernet(net)->stats;
	u64 sum = 0;
	int cpu;

	if (index >= SMC_STATS)
		return 0;
	/* A gauge may be negative on one CPU; only the sum counts. */
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)[index]);
	return sum;
}

int smc_stats_net_init(struct smc_pernet *pn)
{
	pn->stats = __alloc_percpu(SMC_STATS * sizeof(u64), __alignof__(u64));
	return pn->stats ? 0 : -ENOMEM;
}

void smc_stats_net_exit(struct smc_pernet *pn)
{
	free_percpu(pn->stats);
}
