// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user's socket and its sock, as the C++ side handles them.
 */
#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"

static_assert(SMC_SS_UNCONNECTED == SS_UNCONNECTED);
static_assert(SMC_SS_CONNECTING == SS_CONNECTING);
static_assert(SMC_SS_CONNECTED == SS_CONNECTED);
static_assert(SMC_TCP_ESTABLISHED == TCP_ESTABLISHED);
static_assert(SMC_TCP_SYN_SENT == TCP_SYN_SENT);
static_assert(SMC_TCP_SYN_RECV == TCP_SYN_RECV);
static_assert(SMC_TCP_CLOSE == TCP_CLOSE);
static_assert(SMC_TCP_CLOSE_WAIT == TCP_CLOSE_WAIT);
static_assert(SMC_TCP_LISTEN == TCP_LISTEN);
static_assert(SMC_SIOCINQ == SIOCINQ && SMC_SIOCOUTQ == SIOCOUTQ);
static_assert(SMC_SIOCOUTQNSD == SIOCOUTQNSD && SMC_SIOCATMARK == SIOCATMARK);

/* ---- State beside the socket ---------------------------------------------- */

void *smc_sock_state(struct socket *sock)
{
	return smc_state_of(sock);
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

/* With the spinlock, which it does not hold while it waits. */
static bool becomes_free(struct sock *sk)
{
	long left_jiffies = 1;
	DEFINE_WAIT(wait);

	while (sk->sk_lock.owned && left_jiffies) {
		/* Queued with those in lock_sock(), of which one is woken at a time. */
		prepare_to_wait_exclusive(&sk->sk_lock.wq, &wait, TASK_UNINTERRUPTIBLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		left_jiffies = schedule_timeout(left_jiffies);
		spin_lock_bh(&sk->sk_lock.slock);
		finish_wait(&sk->sk_lock.wq, &wait);
	}
	return !sk->sk_lock.owned;
}

bool smc_sk_try_lock_briefly(struct sock *sk, bool patient) __acquires(&sk->sk_lock.slock)
{
	spin_lock_bh(&sk->sk_lock.slock);
	if (likely(!sk->sk_lock.owned) || (patient && becomes_free(sk)))
		return true;
	spin_unlock_bh(&sk->sk_lock.slock);
	/* For sparse, to which a function either takes a lock or does not. */
	__acquire(&sk->sk_lock.slock);
	return false;
}

void smc_sk_unlock_briefly(struct sock *sk) __releases(&sk->sk_lock.slock)
{
	spin_unlock_bh(&sk->sk_lock.slock);
}

void smc_sk_keep_lock(struct sock *sk) __releases(&sk->sk_lock.slock)
{
	sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	mutex_acquire(&sk->sk_lock.dep_map, 0, 0, _RET_IP_);
}

bool smc_sk_try_lock(struct sock *sk, bool patient)
{
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	free = !sk->sk_lock.owned || (patient && becomes_free(sk));
	if (free)
		sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (free)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return free;
}

int smc_sk_state(const struct sock *sk)
{
	/* As inet_sk_state_load(): what TCP set before the state is visible, too. */
	return smp_load_acquire(&((struct sock *)sk)->sk_state);
}

bool smc_sk_is_shut(const struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown);
}

bool smc_sk_is_broken(const struct sock *sk)
{
	if (likely(!smc_sk_error(sk) && READ_ONCE(sk->sk_state) != TCP_CLOSE))
		return false;
	/* As in smc_sk_state(), for those who look for the error now. */
	smp_acquire__after_ctrl_dep();
	return true;
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

long smc_timeo_left(long timeo_jiffies, u64 began_ms)
{
	const u64 took_ms = smc_now_ms() - began_ms;

	if (timeo_jiffies == MAX_SCHEDULE_TIMEOUT)
		return timeo_jiffies;
	return max(timeo_jiffies - (long)msecs_to_jiffies(took_ms), 0L);
}

static size_t low_water_bytes(const struct sock *sk, bool waitall, size_t len)
{
	return sock_rcvlowat(sk, waitall, min_t(size_t, len, INT_MAX));
}

void smc_sk_receive_options(const struct sock *sk, const struct msghdr *msg, bool waitall,
			    size_t len, struct smc_receive_options *options)
{
	options->low_water_bytes = low_water_bytes(sk, waitall, len);
	options->urgent_inline = sock_flag(sk, SOCK_URGINLINE);
	options->moves_peek_offset = READ_ONCE(sk->sk_peek_off) >= 0;
	options->wants_inq = tcp_sk(sk)->recvmsg_inq || msg_wants_inq(msg);
}

void smc_sk_poll_options(const struct sock *sk, struct smc_poll_options *options)
{
	options->low_water_bytes = low_water_bytes(sk, false, INT_MAX);
	options->died = smc_sk_state(sk) == TCP_CLOSE;
	options->error = smc_sk_error(sk) || !skb_queue_empty_lockless(&sk->sk_error_queue);
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

u32 smc_sk_sndbuf_limit_bytes(const struct sock *sk)
{
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		return 0;
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[2]);
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
	return max(READ_ONCE(sk->sk_peek_off), 0);
}

void smc_sk_move_peek_offset(struct sock *sk, u32 bytes, bool peeked)
{
	if (peeked)
		sk_peek_offset_fwd(sk, bytes);
	else
		sk_peek_offset_bwd(sk, bytes);
}

u32 smc_sk_max_backlog(const struct sock *sk)
{
	return READ_ONCE(sk->sk_max_ack_backlog);
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
