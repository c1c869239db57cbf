// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user's socket and its sock, as the C++ side handles them.
 */
#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/sockios.h>
#include <linux/splice.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/sock.h"

static_assert(SMC_SS_UNCONNECTED == SS_UNCONNECTED);
static_assert(SMC_SS_CONNECTING == SS_CONNECTING);
static_assert(SMC_SS_CONNECTED == SS_CONNECTED);
static_assert(SMC_TCP_ESTABLISHED == TCP_ESTABLISHED);
static_assert(SMC_TCP_SYN_SENT == TCP_SYN_SENT);
static_assert(SMC_TCP_SYN_RECV == TCP_SYN_RECV);
static_assert(SMC_TCP_CLOSE == TCP_CLOSE);
static_assert(SMC_TCP_CLOSE_WAIT == TCP_CLOSE_WAIT);
static_assert(SMC_TCP_LISTEN == TCP_LISTEN);
static_assert(SMC_POLL_IN == (__force u32)(EPOLLIN | EPOLLRDNORM));
static_assert(SMC_POLL_PRI == (__force u32)EPOLLPRI);
static_assert(SMC_POLL_OUT == (__force u32)(EPOLLOUT | EPOLLWRNORM));
static_assert(SMC_POLL_ERR == (__force u32)EPOLLERR);
static_assert(SMC_POLL_HUP == (__force u32)EPOLLHUP);
static_assert(SMC_POLL_RDHUP == (__force u32)EPOLLRDHUP);
static_assert(SMC_MSG_OOB == MSG_OOB && SMC_MSG_PEEK == MSG_PEEK);
static_assert(SMC_MSG_TRUNC == MSG_TRUNC && SMC_MSG_DONTWAIT == MSG_DONTWAIT);
static_assert(SMC_MSG_WAITALL == MSG_WAITALL && SMC_MSG_MORE == MSG_MORE);
static_assert(SMC_MSG_ERRQUEUE == MSG_ERRQUEUE && SMC_MSG_NOSIGNAL == MSG_NOSIGNAL);
static_assert(SMC_MSG_FASTOPEN == MSG_FASTOPEN);
static_assert(SMC_SIOCINQ == SIOCINQ && SMC_SIOCOUTQ == SIOCOUTQ);
static_assert(SMC_SIOCOUTQNSD == SIOCOUTQNSD && SMC_SIOCATMARK == SIOCATMARK);

/* ---- State beside the socket ---------------------------------------------- */

void *smc_sock_state(struct socket *sock)
{
	/* Pairs with the cmpxchg() that published it: what it points to is there, too. */
	return smp_load_acquire(&SOCK_INODE(sock)->i_private);
}

void *smc_sock_publish_state(struct socket *sock, void *state)
{
	void *old = cmpxchg(&SOCK_INODE(sock)->i_private, NULL, state);

	return old ? old : state;
}

void smc_sock_clear_state(struct socket *sock)
{
	SOCK_INODE(sock)->i_private = NULL;
}

int smc_sock_ss(const struct socket *sock)
{
	return sock->state;
}

void smc_sock_set_ss(struct socket *sock, int state)
{
	sock->state = state;
}

bool smc_sock_nonblock(const struct socket *sock)
{
	return sock->file && (sock->file->f_flags & O_NONBLOCK);
}

/* ---- The sock ------------------------------------------------------------------ */

struct sock *smc_sock_sk(const struct socket *sock)
{
	return sock->sk;
}

struct net *smc_sk_net(const struct sock *sk)
{
	return sock_net(sk);
}

void smc_sk_hold(struct sock *sk)
{
	sock_hold(sk);
}

void smc_sk_put(struct sock *sk)
{
	sock_put(sk);
}

void smc_sk_lock(struct sock *sk)
{
	lock_sock(sk);
}

void smc_sk_unlock(struct sock *sk)
{
	release_sock(sk);
}

bool smc_sk_try_lock(struct sock *sk, bool patient)
{
	long left_jiffies = patient ? 1 : 0;
	DEFINE_WAIT(wait);
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	while (sk->sk_lock.owned && left_jiffies) {
		/* In turn with those in lock_sock(), of whom one is woken at a time. */
		prepare_to_wait_exclusive(&sk->sk_lock.wq, &wait, TASK_UNINTERRUPTIBLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		left_jiffies = schedule_timeout(left_jiffies);
		spin_lock_bh(&sk->sk_lock.slock);
		finish_wait(&sk->sk_lock.wq, &wait);
	}
	free = !sk->sk_lock.owned;
	if (free)
		sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (free)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return free;
}

int smc_sk_state(const struct sock *sk)
{
	/* As inet_sk_state_load(): what TCP set before the state is there, too. */
	return smp_load_acquire(&((struct sock *)sk)->sk_state);
}

bool smc_sk_is_shut(const struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown);
}

int smc_sk_error(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err);
}

int smc_sk_take_error(struct sock *sk)
{
	return sock_error(sk);
}

void smc_sk_report_error(struct sock *sk, int err)
{
	WRITE_ONCE(sk->sk_err, err);
	sk_error_report(sk);
}

long smc_sk_sndtimeo(const struct sock *sk, bool nonblock)
{
	return sock_sndtimeo(sk, nonblock);
}

long smc_sk_rcvtimeo(const struct sock *sk, bool nonblock)
{
	return sock_rcvtimeo(sk, nonblock);
}

size_t smc_sk_rcvlowat(const struct sock *sk, bool waitall, size_t len)
{
	return sock_rcvlowat(sk, waitall, min_t(size_t, len, INT_MAX));
}

bool smc_sk_linger(const struct sock *sk, long *timeout_jiffies)
{
	*timeout_jiffies = sk->sk_lingertime;
	return sock_flag(sk, SOCK_LINGER);
}

bool smc_process_exiting(void)
{
	return current->flags & PF_EXITING;
}

u32 smc_sk_asked_sndbuf_bytes(const struct sock *sk)
{
	return sk->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(sk->sk_sndbuf) / 2 : 0;
}

u32 smc_sk_asked_rcvbuf_bytes(const struct sock *sk)
{
	return sk->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(sk->sk_rcvbuf) / 2 : 0;
}

u32 smc_sk_rcvbuf_limit_bytes(const struct sock *sk)
{
	const struct netns_ipv4 *ipv4 = &sock_net(sk)->ipv4;

	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK || !READ_ONCE(ipv4->sysctl_tcp_moderate_rcvbuf))
		return 0;
	return READ_ONCE(ipv4->sysctl_tcp_rmem[2]);
}

bool smc_sk_nodelay(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_OFF;
}

bool smc_sk_corked(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
}

bool smc_sk_urgent_inline(const struct sock *sk)
{
	return sock_flag(sk, SOCK_URGINLINE);
}

u32 smc_sk_peek_offset(const struct sock *sk)
{
	return max(sk_peek_offset(sk, MSG_PEEK), 0);
}

void smc_sk_move_peek_offset(struct sock *sk, u32 bytes, bool peeked)
{
	if (peeked)
		sk_peek_offset_fwd(sk, bytes);
	else
		sk_peek_offset_bwd(sk, bytes);
}

bool smc_sk_has_queued_error(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_error_queue);
}

u32 smc_sk_max_backlog(const struct sock *sk)
{
	return READ_ONCE(sk->sk_max_ack_backlog);
}

/* ---- Sleeping and waking ---------------------------------------------------------- */

static int sleep_once(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		      bool exclusive, bool reads)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	bool interrupted;
	int ret = 0;

	if (!*timeo_jiffies)
		return -EAGAIN;
	/* Whoever does not look again must not keep a SIGIO back: this comes first. */
	interrupted = signal_pending(current);
	if (reads && !interrupted)
		sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	if (exclusive)
		add_wait_queue_exclusive(sk_sleep(sk), &wait);
	else
		add_wait_queue(sk_sleep(sk), &wait);
	if (!ready(arg)) {
		if (interrupted) {
			ret = sock_intr_errno(*timeo_jiffies);
		} else {
			release_sock(sk);
			*timeo_jiffies = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo_jiffies);
			lock_sock(sk);
		}
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	if (reads)
		sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	return ret;
}

int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		 bool exclusive)
{
	return sleep_once(sk, timeo_jiffies, ready, arg, exclusive, false);
}

int smc_sk_sleep_for_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	return sleep_once(sk, timeo_jiffies, ready, arg, false, true);
}

int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		bool exclusive)
{
	int ret = 0;

	while (!ret && !ready(arg))
		ret = smc_sk_sleep(sk, timeo_jiffies, ready, arg, exclusive);
	return ret;
}

void smc_sk_wake(struct sock *sk, u32 events)
{
	const u32 key = events & SMC_POLL_ANY ? 0 : events;
	struct socket_wq *wq;

	rcu_read_lock();
	/* First: who sleeps in recv() gets no signal, and is not asleep any more afterwards. */
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
	/* It looks at sk_socket and its file more than once; close() takes both away under this. */
	read_lock_bh(&sk->sk_callback_lock);
	sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

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

	/* Its function has run to its end then, if it took itself off: see run_hook(). */
	if (list_empty_careful(&hook->entry.entry))
		return;
	spin_lock_irqsave(&hook->head->lock, flags);
	list_del_init(&hook->entry.entry);
	spin_unlock_irqrestore(&hook->head->lock, flags);
}

/* ---- Messages ------------------------------------------------------------------------ */

u32 smc_msg_flags(const struct msghdr *msg)
{
	return msg->msg_flags;
}

size_t smc_msg_copy_from(struct msghdr *msg, void *to, size_t len)
{
	/* Past hardened usercopy, which looks a vmalloc()ed ring up under a lock each time. */
	return _copy_from_iter(to, len, &msg->msg_iter);
}

size_t smc_msg_copy_to(struct msghdr *msg, const void *from, size_t len)
{
	return _copy_to_iter(from, len, &msg->msg_iter);
}

bool smc_msg_control_is_good(struct sock *sk, struct msghdr *msg)
{
	struct sockcm_cookie sockc;

	if (!msg->msg_controllen)
		return true;
	sockcm_init(&sockc, sk);
	return !sock_cmsg_send(sk, msg, &sockc);
}

void smc_msg_add_flags(struct msghdr *msg, u32 flags)
{
	msg->msg_flags |= flags;
}

bool smc_msg_wants_inq(const struct sock *sk, const struct msghdr *msg)
{
	return tcp_sk(sk)->recvmsg_inq || msg->msg_get_inq;
}

void smc_msg_put_inq(const struct sock *sk, struct msghdr *msg, u32 inq_bytes)
{
	int value = inq_bytes;

	msg->msg_inq = value;
	if (tcp_sk(sk)->recvmsg_inq)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(value), &value);
}

int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct smc_zerocopy **notice)
{
	struct ubuf_info *uarg;

	/* With a uarg of the caller's own (io_uring) it is he who notifies. */
	if (!(msg->msg_flags & MSG_ZEROCOPY) || !len || msg->msg_ubuf ||
	    !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	uarg = msg_zerocopy_realloc(sk, len, NULL);
	if (!uarg)
		return -ENOBUFS;
	uarg_to_msgzc(uarg)->zerocopy = 0;
	*notice = (struct smc_zerocopy *)uarg;
	return 0;
}

void smc_zerocopy_end(struct smc_zerocopy *notice, bool sent)
{
	struct ubuf_info *uarg = (struct ubuf_info *)notice;

	if (sent)
		net_zcopy_put(uarg);
	else
		net_zcopy_put_abort(uarg, true);
}

void smc_msg_no_name(struct msghdr *msg)
{
	msg->msg_namelen = 0;
}

int smc_sk_stream_error(struct sock *sk, u32 flags, int err)
{
	return sk_stream_error(sk, flags, err);
}

int smc_sk_receive_closed(struct sock *sk)
{
	if (sock_flag(sk, SOCK_DONE))
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	return sk->sk_shutdown & RCV_SHUTDOWN ? 0 : -ENOTCONN;
}

int smc_put_user_int(int value, unsigned long arg)
{
	return put_user(value, (int __user *)arg);
}

long smc_splice_read_copy(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			  unsigned int flags)
{
#ifdef HAVE_COPY_SPLICE_READ
	return copy_splice_read(sock->file, pos, pipe, len, flags);
#else
	return generic_file_splice_read(sock->file, pos, pipe, len, flags);
#endif
}
