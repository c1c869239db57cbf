/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that run at each wakeup of a socket's wait queue.
 */
#ifndef SMC_KERNEL_ABI_WAKE_HOOK_H
#define SMC_KERNEL_ABI_WAKE_HOOK_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * A function that runs at each wakeup of a socket's wait queue, in the context of the waker (often
 * softirq), under the queue's lock with interrupts off: it may only take notes and queue work, and
 * takes no lock. If it returns true the hook is removed. Children of a listener do not inherit it.
 */
struct smc_wake_hook {
	unsigned long opaque[8];
};
void smc_wake_hook_init(struct smc_wake_hook *hook, struct socket *sock,
			bool (*fn)(struct smc_wake_hook *hook));
/* Does nothing if it is there already. Any context. */
void smc_wake_hook_add(struct smc_wake_hook *hook);
/* fn does not run afterwards, whether the hook was there or not. Any context. */
void smc_wake_hook_remove(struct smc_wake_hook *hook);

SMC_ABI_END

#endif
