/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that run at each wakeup of a socket's wait queue.
 */
#ifndef SMC_KERNEL_ABI_WAKE_HOOK_H
#define SMC_KERNEL_ABI_WAKE_HOOK_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * A function that runs at each wakeup of a socket's wait queue, in the context
 * of the waker (often softirq), under the queue's lock with interrupts off: it
 * must only note and queue, and take no lock. True: it is not to be called
 * again. Children of a listener inherit nothing from it.
 */
struct smc_wake_hook {
	unsigned long opaque[8];
};
void smc_wake_hook_init(struct smc_wake_hook *hook, struct socket *sock,
			bool (*fn)(struct smc_wake_hook *hook));
/* Does nothing if it is there already. Any context. */
void smc_wake_hook_add(struct smc_wake_hook *hook);
/* Afterwards fn does not run and will not. Whether it is there or not. Any context. */
void smc_wake_hook_remove(struct smc_wake_hook *hook);

SMC_ABI_END

#endif
