/* SPDX-License-Identifier: GPL-2.0-only */
/* Sleeping on a socket, and waking sleepers and pollers. */
#ifndef SMC_KERNEL_ABI_SOCK_WAIT_H
#define SMC_KERNEL_ABI_SOCK_WAIT_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * Sleeps on the user's wait queue until it is woken, after the caller has found nothing and before
 * it looks again; does not sleep if @ready reports that something has come meanwhile. Called and
 * returning with the sock's lock held, asleep without it. 0, -EAGAIN when *timeo_jiffies has run
 * out, or the errno of an interrupting signal.
 *
 * A wakeup that does not concern the sleeper, as @concerns says, does not wake him: he would only
 * find nothing, in the way of those who are about to bring something. It is called by whoever
 * wakes, under the wait queue's lock and with interrupts off, and takes no lock.
 */
int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		 bool (*concerns)(void *arg), void *arg, bool exclusive);
/*
 * The same for a reader, called and returning without the sock's lock: SMC_POLL_OUT alone does not
 * wake it. As on TCP, the event that ends the sleep sends no SIGIO (O_ASYNC), and a socket with
 * SO_BUSY_POLL does not sleep but polls for that long.
 */
int smc_sk_await_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg);
/*
 * What brings the messages of @sk, for programs that poll it instead of sleeping (SO_BUSY_POLL,
 * epoll): smc_ib_link_napi_id(). TCP's segments, of which there are few, name their own. Any
 * context.
 */
void smc_sk_busy_poll_by(struct sock *sk, u32 napi_id);
/*
 * Sleeps on the user's wait queue until @ready returns true. Called and returning with the sock's
 * lock held, asleep without it. 0, -EAGAIN when *timeo_jiffies has run out, or the errno of an
 * interrupting signal. @concerns: see smc_sk_sleep(); NULL: any wakeup may.
 */
int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		bool (*concerns)(void *arg), void *arg);
/* The same for a writer: neither SMC_POLL_IN nor SMC_POLL_PRI alone wakes it. */
int smc_sk_wait_for_room(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
			 void *arg);

/* Poll bits of include/uapi/linux/eventpoll.h. */
#define SMC_POLL_IN 0x0041u	/* EPOLLIN | EPOLLRDNORM */
#define SMC_POLL_PRI 0x0002u
#define SMC_POLL_OUT 0x0104u	/* EPOLLOUT | EPOLLWRNORM */
#define SMC_POLL_ERR 0x0008u
#define SMC_POLL_HUP 0x0010u
#define SMC_POLL_RDHUP 0x2000u
/*
 * Wakes pollers and sleepers, and sends SIGIO. A poller may use these bits without looking again;
 * with ANY among them all pollers look again. Any context.
 */
#define SMC_POLL_ANY 0x80000000u
void smc_sk_wake(struct sock *sk, u32 events);
/* Notes that a writer waits for room (SOCK_NOSPACE). */
void smc_sk_set_nospace(struct sock *sk);
/* Registers the poller, without calling TCP's poll(). */
void smc_poll_register(struct file *file, struct socket *sock, struct poll_table_struct *wait);
void smc_sk_sigurg(struct sock *sk);

SMC_ABI_END

#endif
