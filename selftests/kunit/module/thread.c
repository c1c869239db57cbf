// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads besides the one that runs the case.
 */

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "smc_kunit/bridge.h"

struct smc_kunit_thread {
	struct completion done;
	void (*run)(void *argument);
	void *argument;
};

static int run_thread(void *data)
{
	struct smc_kunit_thread *thread = data;

	thread->run(thread->argument);
	/* After this the thread runs no code of this module, so the module may be unloaded. */
	kthread_complete_and_exit(&thread->done, 0);
}

struct smc_kunit_thread *smc_kunit_thread_start(void (*run)(void *argument), void *argument)
{
	struct smc_kunit_thread *thread = kmalloc(sizeof(*thread), GFP_KERNEL);

	if (!thread)
		smc_kunit_abort("no memory for a thread");
	init_completion(&thread->done);
	thread->run = run;
	thread->argument = argument;
	if (IS_ERR(kthread_run(run_thread, thread, "smc_kunit"))) {
		kfree(thread);
		smc_kunit_abort("no thread");
	}
	return thread;
}

void smc_kunit_thread_join(struct smc_kunit_thread *thread)
{
	wait_for_completion(&thread->done);
	kfree(thread);
}
