// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that run at each wakeup of a socket's wait queue.
 */
#include <linux/list.h>
#include <linux/net.h>
#include <linux/wait.h>

#include "kernel/abi/wake_hook.h"

struct hook {
	struct wait_queue_entry entry;
	struct wait_queue_head *head;
	bool (*fn)(struct smc_wake_hook *hook);
};

static_assert(sizeof(struct smc_wake_hook) >= sizeof(struct hook));

static int run_hook(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct hook *hook = container_of(entry, struct hook, entry);

	if (hook->fn((struct smc_wake_hook *)hook))
		list_del_init_careful(&entry->entry);
	/* Not a waiter: never uses up an exclusive wakeup. */
	return 0;
}

void smc_wake_hook_init(struct smc_wake_hook *storage, struct socket *sock,
			bool (*fn)(struct smc_wake_hook *hook))
{
	struct hook *hook = (struct hook *)storage;

	init_waitqueue_func_entry(&hook->entry, run_hook);
	INIT_LIST_HEAD(&hook->entry.entry);
	hook->head = &sock->wq.wait;
	hook->fn = fn;
}

void smc_wake_hook_add(struct smc_wake_hook *storage)
{
	struct hook *hook = (struct hook *)storage;
	unsigned long flags;

	spin_lock_irqsave(&hook->head->lock, flags);
	if (list_empty(&hook->entry.entry))
		__add_wait_queue(hook->head, &hook->entry);
	spin_unlock_irqrestore(&hook->head->lock, flags);
}

void smc_wake_hook_remove(struct smc_wake_hook *storage)
{
	struct hook *hook = (struct hook *)storage;
	unsigned long flags;

	/* Off the list its function has ended, if it removed itself: see run_hook(). */
	if (list_empty_careful(&hook->entry.entry))
		return;
	spin_lock_irqsave(&hook->head->lock, flags);
	list_del_init(&hook->entry.entry);
	spin_unlock_irqrestore(&hook->head->lock, flags);
}
