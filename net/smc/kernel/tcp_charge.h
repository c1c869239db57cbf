/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which cgroup a listener's child is charged to, and how work items have TCP charge: without
 * reclaiming in the cgroup, and without its OOM killer. They serve all users, and a stranger can
 * make them send. As in softirqs, where TCP does the same, what is needed may exceed the limit.
 */
#ifndef SMC_KERNEL_TCP_CHARGE_H
#define SMC_KERNEL_TCP_CHARGE_H

#include <linux/types.h>

struct sock;

/*
 * Charges @child, which has just been taken out of TCP's queue, to the memory
 * cgroup of @listener, if it has none yet, with all that it has received so far.
 * Process; takes the lock of @child.
 */
void smc_tcp_charge_child(struct sock *child, const struct sock *listener);

/*
 * Between the two TCP allocates and charges for @sk as in a softirq. With the sock's lock, which is
 * not given back in between; nothing sleeps there.
 */
gfp_t smc_tcp_atomic_begin(struct sock *sk);
void smc_tcp_atomic_end(struct sock *sk, gfp_t allocation);

/*
 * For a call of TCP's that may sleep: the next packet without data that @sk sends is charged now.
 * With the sock's lock.
 */
void smc_tcp_charge_ahead(struct sock *sk);

#endif
