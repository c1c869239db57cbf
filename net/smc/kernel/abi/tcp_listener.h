/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A listener and its accept queue.
 */
#ifndef SMC_KERNEL_ABI_TCP_LISTENER_H
#define SMC_KERNEL_ABI_TCP_LISTENER_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* What the oldest entry of a listener's accept queue is. Any context. */
enum smc_accept_head {
	SMC_ACCEPT_EMPTY,
	SMC_ACCEPT_PLAIN,	/* a peer that did not offer SMC */
	SMC_ACCEPT_SMC,
};
enum smc_accept_head smc_tcp_accept_head(struct sock *listener);
/*
 * Its youngest entry, for wakeups: a hint, without a lock. One that did not offer
 * SMC is told of only if others stand before it; EMPTY otherwise. Any context,
 * also with interrupts off.
 */
enum smc_accept_head smc_tcp_accept_hint(const struct sock *listener);
/* How many there are up to the last one that offered SMC; 0 if none did. */
u32 smc_tcp_accept_up_to_smc(struct sock *listener);
/* Is SMC offered to no more than the user's backlog has room for? */
enum smc_hs_limit {
	SMC_HS_LIMIT_NET,	/* as net.smc.limit_smc_hs says at that moment */
	SMC_HS_LIMIT_OFF,
	SMC_HS_LIMIT_ON,
};
/*
 * Who connects from now on is not offered SMC while @full, and otherwise while
 * more connections than SMC_TCP_QUEUE_MAX stand in the queues of @listener; by
 * @limit, more than the user's backlog. They are plain TCP then.
 */
#define SMC_TCP_QUEUE_MAX 512
void smc_tcp_limit_handshakes(struct sock *listener, bool full, enum smc_hs_limit limit);
/*
 * Before the first call of the above: what it leaves in @listener, no child gets. With its lock,
 * before it listens; more than once.
 */
void smc_tcp_watch_children(struct sock *listener);

SMC_ABI_END

#endif
