// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work items for the C++ side, on work queues of the module's own, so that unloading can wait for
 * all of them. They are bound to processors: an item runs where it was queued, and one thread runs
 * all items that queue each other in turn, as two handshakes do. On an unbound queue each of them
 * would wake one more thread, which as a rule comes too late.
 *
 * Work on users' sockets needs their locks, and a user can hold those for as long as he likes, by a
 * call that waits for memory that he controls. Such work does not sleep there, but comes again
 * (smc_sk_try_lock()); and it has a queue of its own, so that connections and link groups do not
 * wait behind it either.
 *
 * Runs of sockets and listeners wait for runs of handshakes that end, so handshakes have a third
 * queue: on one queue, enough of the former would keep the latter from beginning.
 *
 * What may wait for a peer, as only the end of an iWARP link does, is on a queue that is not bound
 * and has room for very many runs: else a few silent peers would hold up all others' work.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/workqueue.h>

#include "kernel/abi/lock.h"
#include "kernel/compat.h"
#include "kernel/stages.h"

struct work_item {
	struct delayed_work delayed;
	struct workqueue_struct *queue;
	void (*fn)(struct smc_work *work);
};

static_assert(sizeof(struct smc_work) >= sizeof(struct work_item));

/*
 * Runs of each queue at the same time, of each processor. They wait for devices now
 * and then, and for each other only where one is about to end, so a handful is
 * enough; without a limit a burst of connections could make a thread for each.
 */
#define RUNS_MAX 16

static struct workqueue_struct *smc_transport_queue;
static struct workqueue_struct *smc_socket_queue;
static struct workqueue_struct *smc_handshake_queue;
static struct workqueue_struct *smc_waiting_queue;

static struct work_item *item_of(struct smc_work *work)
{
	return (struct work_item *)work->opaque;
}

static void run(struct work_struct *work)
{
	struct work_item *item = container_of(to_delayed_work(work), struct work_item, delayed);

	item->fn((struct smc_work *)item);
}

static struct lock_class_key smc_work_keys[SMC_WORK_CLASSES];

static const char *const smc_work_names[SMC_WORK_CLASSES] = {
	[SMC_WORK_OF_SOCKET] = "smc_work_of_socket",
	[SMC_WORK_OF_LISTENER] = "smc_work_of_listener",
	[SMC_WORK_OF_HANDSHAKE] = "smc_work_of_handshake",
	[SMC_WORK_OTHER] = "smc_work",
	[SMC_WORK_WAITING] = "smc_work_waiting",
};

void smc_work_init(struct smc_work *work, void (*fn)(struct smc_work *work),
		   enum smc_work_class class_)
{
	struct work_item *item = item_of(work);

	INIT_DELAYED_WORK(&item->delayed, run);
	lockdep_init_map(&item->delayed.work.lockdep_map, smc_work_names[class_],
			 &smc_work_keys[class_], 0);
	switch (class_) {
	case SMC_WORK_OF_HANDSHAKE:
		item->queue = smc_handshake_queue;
		break;
	case SMC_WORK_OF_SOCKET:
	case SMC_WORK_OF_LISTENER:
		item->queue = smc_socket_queue;
		break;
	case SMC_WORK_WAITING:
		item->queue = smc_waiting_queue;
		break;
	default:
		item->queue = smc_transport_queue;
	}
	item->fn = fn;
}

bool smc_work_queue(struct smc_work *work)
{
	struct work_item *item = item_of(work);

	/* As a rule it does not wait for its time, and there is no timer to be taken away. */
	if (queue_work(item->queue, &item->delayed.work))
		return false;
	return mod_delayed_work(item->queue, &item->delayed, 0);
}

bool smc_work_queue_delayed(struct smc_work *work, u64 delay_ms)
{
	struct work_item *item = item_of(work);

	return mod_delayed_work(item->queue, &item->delayed, msecs_to_jiffies(delay_ms));
}

bool smc_work_queue_if_idle(struct smc_work *work, u64 delay_ms)
{
	struct work_item *item = item_of(work);

	return !queue_delayed_work(item->queue, &item->delayed, msecs_to_jiffies(delay_ms));
}

bool smc_work_cancel(struct smc_work *work)
{
	struct work_item *item = item_of(work);

	/*
	 * As a rule no run waits, and to find that out takes no lock. What the caller did before is
	 * seen by a run that comes from here on.
	 */
	smp_mb();
	return delayed_work_pending(&item->delayed) && cancel_delayed_work(&item->delayed);
}

bool smc_work_cancel_sync(struct smc_work *work)
{
	return cancel_delayed_work_sync(&item_of(work)->delayed);
}

void smc_work_wait(struct smc_work *work)
{
	flush_work(&item_of(work)->delayed.work);
}

void smc_work_flush_all(void)
{
	/* Connections and groups last: the others queue work for them, and get none from them. */
	flush_workqueue(smc_socket_queue);
	flush_workqueue(smc_handshake_queue);
	flush_workqueue(smc_transport_queue);
	/* That of groups which the latter have ended, and what it leaves to do. */
	flush_workqueue(smc_waiting_queue);
	flush_workqueue(smc_transport_queue);
}

int smc_work_setup(void)
{
	smc_transport_queue = alloc_workqueue("smc", WQ_PERCPU, RUNS_MAX);
	smc_socket_queue = alloc_workqueue("smc_socket", WQ_PERCPU, RUNS_MAX);
	smc_handshake_queue = alloc_workqueue("smc_handshake", WQ_PERCPU, RUNS_MAX);
	smc_waiting_queue = alloc_workqueue("smc_waiting", WQ_UNBOUND, 0);
	if (smc_transport_queue && smc_socket_queue && smc_handshake_queue && smc_waiting_queue)
		return 0;
	smc_work_teardown();
	return -ENOMEM;
}

static void destroy(struct workqueue_struct *queue)
{
	if (queue)
		destroy_workqueue(queue);
}

void smc_work_teardown(void)
{
	destroy(smc_waiting_queue);
	destroy(smc_handshake_queue);
	destroy(smc_socket_queue);
	destroy(smc_transport_queue);
}
