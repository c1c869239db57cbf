/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, completions, work items. C++ embeds the storage, C initialises and
 * uses it; the sizes are checked by the compiler in kernel/lock.c and
 * kernel/work.c. Lock-debugging kernels have larger objects.
 */
#ifndef SMC_KERNEL_ABI_LOCK_H
#define SMC_KERNEL_ABI_LOCK_H

#include "kernel/abi/types.h"

#if defined(CONFIG_DEBUG_LOCK_ALLOC) || defined(CONFIG_DEBUG_SPINLOCK) || \
	defined(CONFIG_DEBUG_MUTEXES) || defined(CONFIG_DEBUG_OBJECTS_TIMERS)
/* All of them are larger then. */
#define SMC_LOCKS_ARE_DEBUGGED 1
#define SMC_SPINLOCK_WORDS 12
#define SMC_MUTEX_WORDS 24
#define SMC_COMPLETION_WORDS 16
#define SMC_WORK_WORDS 48
#else
#define SMC_LOCKS_ARE_DEBUGGED 0
/* With PREEMPT_RT a spinlock is a mutex with priority inheritance. */
#ifdef CONFIG_PREEMPT_RT
#define SMC_SPINLOCK_WORDS 4
#else
#define SMC_SPINLOCK_WORDS 1
#endif
#define SMC_MUTEX_WORDS 5
#define SMC_COMPLETION_WORDS 5
#define SMC_WORK_WORDS 20
#endif

SMC_ABI_BEGIN

/*
 * Lock classes for lockdep, in locking order (Documentation/locking.md): a
 * lock is taken only while locks of smaller classes are held.
 */
enum smc_lock_class {
	SMC_LOCK_GROUP_MAKING,
	SMC_LOCK_GROUP_SETUP,
	SMC_LOCK_POOL_UNMAP,
	SMC_LOCK_LISTENER,
	SMC_LOCK_SOCKETS,
	SMC_LOCK_ENDPOINT,
	SMC_LOCK_GROUP_TABLE,
	SMC_LOCK_GROUP,
	SMC_LOCK_POOL,
	SMC_LOCK_LINK,
	SMC_LOCK_CONTROL,
	SMC_LOCK_RENDEZVOUS,
	SMC_LOCK_LEAF,
	SMC_LOCK_CLASSES,
};

/* Taken with bottom halves off: shared between processes and softirqs. */
struct smc_spinlock {
	unsigned long opaque[SMC_SPINLOCK_WORDS];
};
void smc_spin_init(struct smc_spinlock *lock, enum smc_lock_class class_);
void smc_spin_lock(struct smc_spinlock *lock);
void smc_spin_unlock(struct smc_spinlock *lock);
/* The same under another one of these locks, which has turned bottom halves off. */
void smc_spin_lock_inner(struct smc_spinlock *lock);
void smc_spin_unlock_inner(struct smc_spinlock *lock);

/* Process context only. */
struct smc_mutex {
	unsigned long opaque[SMC_MUTEX_WORDS];
};
void smc_mutex_init(struct smc_mutex *mutex, enum smc_lock_class class_);
void smc_mutex_lock(struct smc_mutex *mutex);
void smc_mutex_unlock(struct smc_mutex *mutex);

struct smc_completion {
	unsigned long opaque[SMC_COMPLETION_WORDS];
};
void smc_completion_init(struct smc_completion *completion);
/* Any context. */
void smc_complete_all(struct smc_completion *completion);
/* Sleeps, not interruptible; false if @timeout_ms went by first. */
bool smc_completion_wait(struct smc_completion *completion, u64 timeout_ms);

/*
 * A function that runs in process context on one of the module's work queues,
 * at once or after a delay. One instance never runs twice at the same time.
 */
struct smc_work {
	unsigned long opaque[SMC_WORK_WORDS];
};
/*
 * For lockdep: a run may wait for the end of a run of a class below its own, if that one waits for
 * nothing. Only runs of the last two classes never take the lock of a user's sock. Only those of
 * WAITING may wait for a peer.
 */
enum smc_work_class {
	SMC_WORK_OF_SOCKET,
	SMC_WORK_OF_LISTENER,
	SMC_WORK_OF_HANDSHAKE,
	SMC_WORK_OTHER,
	SMC_WORK_WAITING,
	SMC_WORK_CLASSES,
};
void smc_work_init(struct smc_work *work, void (*fn)(struct smc_work *work),
		   enum smc_work_class class_);
/* Any context. True if it was queued already. */
bool smc_work_queue(struct smc_work *work);
/*
 * (Re)arms it to run after @delay_ms; the newest call wins over an older one
 * that has not run yet. Any context. True if it was pending.
 */
bool smc_work_queue_delayed(struct smc_work *work, u64 delay_ms);
/*
 * Arms it to run after @delay_ms, unless it is pending already, sooner or
 * later. Any context. True if it was pending.
 */
bool smc_work_queue_if_idle(struct smc_work *work, u64 delay_ms);
/* Takes it out of the queue; true if it was pending there. Any context. */
bool smc_work_cancel(struct smc_work *work);
/*
 * Same, and waits for a run under way. Meanwhile nothing can be queued; whether smc_work_queue()
 * reports that differs between kernels, so this is not for work that counts its runs. Process
 * context.
 */
bool smc_work_cancel_sync(struct smc_work *work);
/* Waits for a run under way, not for one that is delayed. Process context. */
void smc_work_wait(struct smc_work *work);
/* Waits until everything queued so far has run. */
void smc_work_flush_all(void);

SMC_ABI_END

#endif
