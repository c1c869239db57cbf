// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks and completions for the C++ side.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "kernel/abi/lock.h"

static_assert(sizeof(struct smc_spinlock) >= sizeof(spinlock_t));
static_assert(sizeof(struct smc_mutex) >= sizeof(struct mutex));
static_assert(sizeof(struct smc_completion) >= sizeof(struct completion));

static struct lock_class_key smc_lock_keys[SMC_LOCK_CLASSES];

static const char *const smc_lock_names[SMC_LOCK_CLASSES] = {
	[SMC_LOCK_GROUP_MAKING] = "smc_group_making",
	[SMC_LOCK_GROUP_SETUP] = "smc_group_setup",
	[SMC_LOCK_POOL_UNMAP] = "smc_pool_unmap",
	[SMC_LOCK_LISTENER] = "smc_listener",
	[SMC_LOCK_SOCKETS] = "smc_sockets",
	[SMC_LOCK_ENDPOINT] = "smc_endpoint",
	[SMC_LOCK_GROUP_TABLE] = "smc_group_table",
	[SMC_LOCK_GROUP] = "smc_group",
	[SMC_LOCK_POOL] = "smc_pool",
	[SMC_LOCK_LINK] = "smc_link",
	[SMC_LOCK_CONTROL] = "smc_control",
	[SMC_LOCK_RENDEZVOUS] = "smc_rendezvous",
	[SMC_LOCK_LEAF] = "smc_leaf",
};

void smc_spin_init(struct smc_spinlock *lock, enum smc_lock_class class_)
{
	spinlock_t *spinlock = (spinlock_t *)lock->opaque;

	spin_lock_init(spinlock);
	lockdep_set_class_and_name(spinlock, &smc_lock_keys[class_], smc_lock_names[class_]);
}

void smc_spin_lock(struct smc_spinlock *lock) __acquires(lock)
{
	spin_lock_bh((spinlock_t *)lock->opaque);
}

void smc_spin_unlock(struct smc_spinlock *lock) __releases(lock)
{
	spin_unlock_bh((spinlock_t *)lock->opaque);
}

void smc_spin_lock_inner(struct smc_spinlock *lock) __acquires(lock)
{
	spin_lock((spinlock_t *)lock->opaque);
}

void smc_spin_unlock_inner(struct smc_spinlock *lock) __releases(lock)
{
	spin_unlock((spinlock_t *)lock->opaque);
}

void smc_mutex_init(struct smc_mutex *mutex, enum smc_lock_class class_)
{
	struct mutex *m = (struct mutex *)mutex->opaque;

	mutex_init(m);
	lockdep_set_class_and_name(m, &smc_lock_keys[class_], smc_lock_names[class_]);
}

void smc_mutex_lock(struct smc_mutex *mutex)
{
	mutex_lock((struct mutex *)mutex->opaque);
}

void smc_mutex_unlock(struct smc_mutex *mutex)
{
	mutex_unlock((struct mutex *)mutex->opaque);
}

void smc_completion_init(struct smc_completion *completion)
{
	init_completion((struct completion *)completion->opaque);
}

void smc_complete_all(struct smc_completion *completion)
{
	complete_all((struct completion *)completion->opaque);
}

bool smc_completion_wait(struct smc_completion *completion, u64 timeout_ms)
{
	return wait_for_completion_timeout((struct completion *)completion->opaque,
					   msecs_to_jiffies(timeout_ms));
}
