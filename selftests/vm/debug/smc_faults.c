// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits one fault on purpose when it is loaded, so that check-harness can see that the debug
 * kernel finds it and that the harness turns red. Which one: the parameter "fault". Loading fails
 * afterwards with -ECANCELED, nothing stays.
 */

#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

static char *fault = "";
module_param(fault, charp, 0);

static DEFINE_SPINLOCK(first_lock);
static DEFINE_SPINLOCK(second_lock);

static void lock_order(void)
{
	spin_lock(&first_lock);
	spin_lock(&second_lock);
	spin_unlock(&second_lock);
	spin_unlock(&first_lock);

	spin_lock(&second_lock);
	spin_lock(&first_lock);
	spin_unlock(&first_lock);
	spin_unlock(&second_lock);
}

static void sleep_in_atomic(void)
{
	spin_lock(&first_lock);
	might_sleep();
	spin_unlock(&first_lock);
}

static void rcu_pointer_unprotected(void)
{
	static int __rcu *nowhere;

	if (rcu_dereference(nowhere))
		pr_info("unexpected\n");
}

static void use_after_free(void)
{
	char *object = kmalloc(64, GFP_KERNEL);

	if (!object)
		return;
	kfree(object);
	/* Hidden, since the compiler would refuse it otherwise. */
	OPTIMIZER_HIDE_VAR(object);
	WRITE_ONCE(object[8], 1);
}

static void out_of_bounds(void)
{
	static int table[4];
	unsigned int index = ARRAY_SIZE(table);

	OPTIMIZER_HIDE_VAR(index);
	/* One byte too far: KASAN keeps a red zone there. */
	WRITE_ONCE(table[index], 1);
}

static void shift_too_far(void)
{
	static int result;
	unsigned int count = 40;

	OPTIMIZER_HIDE_VAR(count);
	WRITE_ONCE(result, 1 << count);
}

static void nothing_to_do(struct work_struct *work)
{
}

static void free_queued_work(void)
{
	struct delayed_work *work = kmalloc(sizeof(*work), GFP_KERNEL);

	if (!work)
		return;
	INIT_DELAYED_WORK(work, nothing_to_do);
	schedule_delayed_work(work, HZ * 1000);
	kfree(work);
}

static void forget_memory(void)
{
	int number;

	for (number = 0; number < 8; number++) {
		char *object = kmalloc(96, GFP_KERNEL);

		if (object)
			memset(object, 0x5a, 96);
		OPTIMIZER_HIDE_VAR(object);
	}
}

static void refcount_below_zero(void)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_dec(&count);
}

static void corrupt_list(void)
{
	struct list_head head = LIST_HEAD_INIT(head);
	struct list_head entry = LIST_HEAD_INIT(entry);

	list_add(&entry, &head);
	entry.prev = &entry;
	list_del(&entry);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "rcu_pointer_unprotected", rcu_pointer_unprotected },
	{ "sleep_in_atomic", sleep_in_atomic },
	{ "lock_order", lock_order },
	{ "use_after_free", use_after_free },
	{ "out_of_bounds", out_of_bounds },
	{ "shift_too_far", shift_too_far },
	{ "free_queued_work", free_queued_work },
	{ "forget_memory", forget_memory },
	{ "refcount_below_zero", refcount_below_zero },
	{ "corrupt_list", corrupt_list },
};

static int __init smc_faults_init(void)
{
	size_t index;

	for (index = 0; index < ARRAY_SIZE(faults); index++) {
		if (sysfs_streq(fault, faults[index].name)) {
			faults[index].commit();
			return -ECANCELED;
		}
	}
	return -EINVAL;
}
module_init(smc_faults_init);

MODULE_DESCRIPTION("Faults on purpose, for the tests of the test environment");
MODULE_LICENSE("GPL");
