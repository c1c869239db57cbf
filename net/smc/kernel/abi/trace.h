/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What users may trace (kernel/tracepoints.h). A call and a jump while nobody does. Any context.
 */
#ifndef SMC_KERNEL_ABI_TRACE_H
#define SMC_KERNEL_ABI_TRACE_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* A link of SMC-R as events show it: pointers are shown, and not followed. */
struct smc_traced_link {
	struct net *net;
	const void *link;
	const void *group;
	int state;		/* SMC_LINK_STATE_*: before it went down, after it came up */
	const char *device;
};

void smc_trace_fallback(const struct sock *sk, u32 reason);
void smc_trace_link(const struct smc_traced_link *link, bool up);
/* @message: at least the header of a CLC message. */
void smc_trace_clc(const struct sock *sk, bool sent, const void *message, size_t len);
void smc_trace_stall(const struct sock *sk, bool peer_is_full);

SMC_ABI_END

#endif
