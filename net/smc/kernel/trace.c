// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints, and those of them that C++ calls.
 */
#include "kernel/abi/trace.h"

#define CREATE_TRACE_POINTS
#include "kernel/tracepoints.h"

/* RFC 7609, appendix A.2: eyecatcher, type, length, version and flags. */
#define CLC_HEADER_BYTES 8

void smc_trace_fallback(const struct sock *sk, u32 reason)
{
	trace_smc_switch_to_fallback(sk, reason);
}

void smc_trace_link(const struct smc_traced_link *link, bool up)
{
	if (up)
		trace_smcr_link_up(link, __builtin_return_address(0));
	else
		trace_smcr_link_down(link, __builtin_return_address(0));
}

void smc_trace_clc(const struct sock *sk, bool sent, const void *message, size_t len)
{
	if (len >= CLC_HEADER_BYTES)
		trace_smc_clc_message(sk, sent, message, len);
}

void smc_trace_stall(const struct sock *sk, bool peer_is_full)
{
	trace_smc_stall(sk, peer_is_full);
}
