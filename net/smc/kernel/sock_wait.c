// SPDX-License-Identifier: GPL-2.0-only
/* Sleeping on a socket, and waking sleepers and pollers. */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include <net/busy_poll.h>
#include <net/sock.h>

#include "kernel/abi/sock_wait.h"

static_assert(SMC_POLL_IN == (__force u32)(EPOLLIN | EPOLLRDNORM));
static_assert(SMC_POLL_PRI == (__force u32)EPOLLPRI);
static_assert(SMC_POLL_OUT == (__force u32)(EPOLLOUT | EPOLLWRNORM));
static_assert(SMC_POLL_ERR == (__force u32)EPOLLERR);
static_assert(SMC_POLL_HUP == (__force u32)EPOLLHUP);
static_assert(SMC_POLL_RDHUP == (__force u32)EPOLLRDHUP);

void smc_sk_busy_poll_by(struct sock *sk, u32 napi_id)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	if (unlikely(READ_ONCE(sk->sk_napi_id) != napi_id))
		WRITE_ONCE(sk->sk_napi_id, napi_id);
#endif
}

#ifdef CONFIG_NET_RX_BUSY_POLL
struct smc_busy_poll {
	struct sock *sk;
	bool (*ready)(void *arg);
	void *arg;
};

static bool busy_poll_ends(void *arg, unsigned long start)
{
	const struct smc_busy_poll *poll = arg;

	return poll->ready(poll->arg) || sk_busy_loop_timeout(poll->sk, start) ||
	       signal_pending(current);
}

/*
 * Without the sock's lock. True: it is worth looking again. Not sk_busy_loop(), which looks into
 * TCP's queue.
 */
static bool busy_poll(struct sock *sk, bool (*ready)(void *arg), void *arg)
{
	struct smc_busy_poll poll = { .sk = sk, .ready = ready, .arg = arg };
	unsigned int napi_id = READ_ONCE(sk->sk_napi_id);

	if (!sk_can_busy_loop(sk) || napi_id < MIN_NAPI_ID)
		return false;
#ifdef HAVE_PREFER_BUSY_POLL
	napi_busy_loop(napi_id, busy_poll_ends, &poll, READ_ONCE(sk->sk_prefer_busy_poll),
		       READ_ONCE(sk->sk_busy_poll_budget) ?: BUSY_POLL_BUDGET);
#else
	napi_busy_loop(napi_id, busy_poll_ends, &poll);
#endif
	return ready(arg);
}
#else
static bool busy_poll(struct sock *sk, bool (*ready)(void *arg), void *arg)
{
	return false;
}
#endif

/*
 * What a sleeper waits for. Who waits for data is not woken where there is only more room to write,
 * and the other way round: another thread may be doing the other thing. Any other wakeup, one
 * without a key among them, may be about its end, and wakes both.
 */
enum awaited {
	AWAITED_ANYTHING,
	AWAITED_ROOM,
	AWAITED_CONCERN,
};

struct sleeper {
	struct wait_queue_entry wait;
	bool (*concerns)(void *arg); /* of AWAITED_CONCERN */
	void *arg;
};

static bool wakes_only_for(void *key, __poll_t events)
{
	return key && !(key_to_poll(key) & ~events);
}

static int wake_reader(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	if (wakes_only_for(key, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))
		return 0;
	return autoremove_wake_function(wait, mode, sync, key);
}

static int wake_writer(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	if (wakes_only_for(key, EPOLLIN | EPOLLRDNORM | EPOLLRDBAND | EPOLLPRI))
		return 0;
	return woken_wake_function(wait, mode, sync, key);
}

static int wake_concerned(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	const struct sleeper *sleeper = container_of(wait, struct sleeper, wait);

	if (!sleeper->concerns(sleeper->arg))
		return 0;
	return woken_wake_function(wait, mode, sync, key);
}

static const wait_queue_func_t wake_functions[] = {
	[AWAITED_ANYTHING] = woken_wake_function,
	[AWAITED_ROOM] = wake_writer,
	[AWAITED_CONCERN] = wake_concerned,
};

static __always_inline int sleep_once(struct sock *sk, long *timeo_jiffies,
				      bool (*ready)(void *arg), void *arg, bool exclusive,
				      enum awaited awaited, bool (*concerns)(void *arg))
{
	struct sleeper sleeper = {
		.wait = { .private = current, .func = wake_functions[awaited] },
		.concerns = concerns,
		.arg = arg,
	};
	int ret = 0;

	if (!*timeo_jiffies)
		return -EAGAIN;
	INIT_LIST_HEAD(&sleeper.wait.entry);
	if (exclusive)
		add_wait_queue_exclusive(sk_sleep(sk), &sleeper.wait);
	else
		add_wait_queue(sk_sleep(sk), &sleeper.wait);
	if (!ready(arg)) {
		if (signal_pending(current)) {
			ret = sock_intr_errno(*timeo_jiffies);
		} else {
			release_sock(sk);
			*timeo_jiffies = wait_woken(&sleeper.wait, TASK_INTERRUPTIBLE,
						    *timeo_jiffies);
			lock_sock(sk);
		}
	}
	remove_wait_queue(sk_sleep(sk), &sleeper.wait);
	return ret;
}

int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		 bool (*concerns)(void *arg), void *arg, bool exclusive)
{
	return sleep_once(sk, timeo_jiffies, ready, arg, exclusive, AWAITED_CONCERN, concerns);
}

int smc_sk_await_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	DEFINE_WAIT_FUNC(wait, wake_reader);
	bool interrupted;
	int ret = 0;

	if (!*timeo_jiffies)
		return -EAGAIN;
	if (busy_poll(sk, ready, arg))
		return 0;
	/* First: a sleeper that does not look again must not keep a SIGIO back. */
	interrupted = signal_pending(current);
	if (!interrupted)
		sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	/*
	 * Whoever wakes takes it from the queue, so of several messages only the first one looks
	 * for a sleeper. @ready does not sleep.
	 */
	prepare_to_wait(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
	if (!ready(arg)) {
		if (interrupted)
			ret = sock_intr_errno(*timeo_jiffies);
		else
			*timeo_jiffies = schedule_timeout(*timeo_jiffies);
	}
	finish_wait(sk_sleep(sk), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	return ret;
}

int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		bool (*concerns)(void *arg), void *arg)
{
	const enum awaited awaited = concerns ? AWAITED_CONCERN : AWAITED_ANYTHING;
	int ret = 0;

	while (!ret && !ready(arg))
		ret = sleep_once(sk, timeo_jiffies, ready, arg, false, awaited, concerns);
	return ret;
}

int smc_sk_wait_for_room(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	int ret = 0;

	while (!ret && !ready(arg))
		ret = sleep_once(sk, timeo_jiffies, ready, arg, false, AWAITED_ROOM, NULL);
	return ret;
}

void smc_sk_wake(struct sock *sk, u32 events)
{
	const u32 key = events & SMC_POLL_ANY ? 0 : events;
	struct socket_wq *wq;

	rcu_read_lock();
	/*
	 * Before the wakeup: a sleeper in recv() gets no signal, and does not sleep any more
	 * afterwards.
	 */
	if (events & SMC_POLL_IN)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (events & SMC_POLL_OUT)
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
	if (events & SMC_POLL_HUP)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_sync_poll(&wq->wait, (__force __poll_t)key);
	rcu_read_unlock();
}

void smc_sk_set_nospace(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;

	if (sock)
		set_bit(SOCK_NOSPACE, &sock->flags);
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
}

void smc_poll_register(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	sock_poll_wait(file, sock, wait);
}

void smc_sk_sigurg(struct sock *sk)
{
	/* It reads sk_socket and its file more than once; close() clears both under this lock. */
	read_lock_bh(&sk->sk_callback_lock);
	sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}
