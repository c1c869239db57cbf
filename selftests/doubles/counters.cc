// SPDX-License-Identifier: GPL-2.0-only
//
// A namespace's counters (kernel/abi/stats.h), on top of smc_stat_add(), which each test program
// defines.
#include "kernel/abi/stats.h"

#include <cassert>

struct smc_counters *smc_counters(net *net)
{
	return reinterpret_cast<struct smc_counters *>(net);
}

void smc_count(struct smc_counters *counters, u32 index, s64 n)
{
	smc_stat_add(reinterpret_cast<net *>(counters), index, n);
}

void smc_count_call(struct smc_counters *counters, u32 calls, u32 payload, u32 bytes, s64 n)
{
	assert(calls < SMC_STATS && payload < SMC_STATS && bytes < SMC_STATS);
	smc_count(counters, calls, 1);
	smc_count(counters, payload, 1);
	smc_count(counters, bytes, n);
}
