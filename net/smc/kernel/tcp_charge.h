/* SPDX-License-Identifier: GPL-2.0-only */
/* Which cgroup a listener's child is charged to. */
#ifndef SMC_KERNEL_TCP_CHARGE_H
#define SMC_KERNEL_TCP_CHARGE_H

struct sock;

/*
 * Charges @child, which has just been taken out of TCP's queue, to the memory
 * cgroup of @listener, if it has none yet, with all that it has received so far.
 * Process; takes the lock of @child.
 */
void smc_tcp_charge_child(struct sock *child, const struct sock *listener);

#endif
