/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A listener and its accept queue.
 */
#ifndef SMC_KERNEL_ABI_TCP_LISTENER_H
#define SMC_KERNEL_ABI_TCP_LISTENER_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* The oldest entry of a listener's accept queue. Any context. */
enum smc_accept_head {
	SMC_ACCEPT_EMPTY,
	SMC_ACCEPT_PLAIN,	/* a peer that did not offer SMC */
	SMC_ACCEPT_SMC,
};
enum smc_accept_head smc_tcp_accept_head(struct sock *listener);
/*
 * Its youngest entry, for wakeups: a hint, without a lock. PLAIN only if other entries are before
 * it; EMPTY otherwise. Any context, also with interrupts off.
 */
enum smc_accept_head smc_tcp_accept_hint(const struct sock *listener);
/* How many entries there are up to the last one that offered SMC; 0 if none did. */
u32 smc_tcp_accept_up_to_smc(struct sock *listener);
/* Whether SMC is offered only to as many as the user's backlog has room for. */
enum smc_hs_limit {
	SMC_HS_LIMIT_NET,	/* as net.smc.limit_smc_hs says at that moment */
	SMC_HS_LIMIT_OFF,
	SMC_HS_LIMIT_ON,
};
/*
 * New clients are not offered SMC while @full is set, nor while more than SMC_TCP_QUEUE_MAX
 * connections are in the queues of @listener, or, by @limit, more than the user's backlog. They are
 * plain TCP then.
 */
#define SMC_TCP_QUEUE_MAX 512
void smc_tcp_limit_handshakes(struct sock *listener, bool full, enum smc_hs_limit limit);
/*
 * Before the first call of the above: keeps children from inheriting what that puts into @listener.
 * With its lock, before it listens; may be called again.
 */
void smc_tcp_watch_children(struct sock *listener);

SMC_ABI_END

#endif
