/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user's struct socket and the TCP sock under it.
 *
 * One socket, one sock: sock->sk is the TCP sock from socket() to close(). What
 * makes it an SMC socket is sock->ops and, from connect() or listen() on, a
 * state object of ours beside it. A fallback only changes sock->ops.
 */
#ifndef SMC_KERNEL_ABI_SOCK_H
#define SMC_KERNEL_ABI_SOCK_H

#include "kernel/abi/sock_message.h"
#include "kernel/abi/sock_ops.h"
#include "kernel/abi/sock_wait.h"
#include "kernel/abi/tcp_ops.h"
#include "kernel/abi/types.h"
#include "kernel/abi/wake_hook.h"

SMC_ABI_BEGIN

/* ---- State beside the socket -------------------------------------------- */

/* NULL until smc_sock_publish_state(); lives until smc_op_release/_forget. */
void *smc_sock_state(struct socket *sock);
/* Returns what is there afterwards: @state, or another thread's. */
void *smc_sock_publish_state(struct socket *sock, void *state);
void smc_sock_clear_state(struct socket *sock);

/* enum socket_state */
#define SMC_SS_UNCONNECTED 1
#define SMC_SS_CONNECTING 2
#define SMC_SS_CONNECTED 3
int smc_sock_ss(const struct socket *sock);
void smc_sock_set_ss(struct socket *sock, int state);
bool smc_sock_nonblock(const struct socket *sock);

/* ---- The sock ------------------------------------------------------------ */

struct sock *smc_sock_sk(const struct socket *sock);
struct net *smc_sk_net(const struct sock *sk);
void smc_sk_hold(struct sock *sk);
void smc_sk_put(struct sock *sk);
void smc_sk_lock(struct sock *sk);
void smc_sk_unlock(struct sock *sk);
/*
 * For a call that is through in a moment: as lock_sock_fast(), holds the spinlock that guards the
 * lock, bottom halves off, so that nobody can take that. False: somebody has it; @patient waits a
 * moment (the length of a tick) first, in which most calls end. Must not sleep until it gives the
 * spinlock back, or takes the lock in exchange for it.
 */
bool smc_sk_try_lock_briefly(struct sock *sk, bool patient);
void smc_sk_unlock_briefly(struct sock *sk);
void smc_sk_keep_lock(struct sock *sk);
/*
 * For work items: a user may hold the lock for as long as he likes, by a call that waits for memory
 * that he controls. False if it is held; @patient as above.
 */
bool smc_sk_try_lock(struct sock *sk, bool patient);

/* Values of sk->sk_state that matter here. */
#define SMC_TCP_ESTABLISHED 1
#define SMC_TCP_SYN_SENT 2
#define SMC_TCP_SYN_RECV 3
#define SMC_TCP_CLOSE 7
#define SMC_TCP_CLOSE_WAIT 8
#define SMC_TCP_LISTEN 10
int smc_sk_state(const struct sock *sk);
/* shutdown(), or a connection that has ended. */
bool smc_sk_is_shut(const struct sock *sk);

/* Pending error as a positive errno; take clears it and returns -errno or 0. */
int smc_sk_error(const struct sock *sk);
/* An error is pending, or TCP is in state CLOSE. */
bool smc_sk_is_broken(const struct sock *sk);
int smc_sk_take_error(struct sock *sk);
/* Sets it and wakes everybody. @err is positive. */
void smc_sk_report_error(struct sock *sk, int err);

/* In jiffies, as smc_sk_wait() takes them; 0 for a call that must not block. */
long smc_sk_sndtimeo(const struct sock *sk, bool nonblock);
long smc_sk_rcvtimeo(const struct sock *sk, bool nonblock);
/* What is left of such a time, of a call that began at @began_ms, as smc_now_ms() tells it. */
long smc_timeo_left(long timeo_jiffies, u64 began_ms);
/* What recv() needs of a sock. May change while its lock is free. */
struct smc_receive_options {
	size_t low_water_bytes;	/* to wait for: SO_RCVLOWAT, or all with MSG_WAITALL */
	bool urgent_inline;	/* as smc_sk_urgent_inline() */
	bool moves_peek_offset;	/* SO_PEEK_OFF is set: smc_sk_move_peek_offset() is wanted */
	bool wants_inq;		/* TCP_INQ: smc_msg_put_inq() is wanted */
};
void smc_sk_receive_options(const struct sock *sk, const struct msghdr *msg, bool waitall,
			    size_t len, struct smc_receive_options *options);
/*
 * What poll() needs of it. Any context; asked after the connection, as TCP looks for errors last.
 */
struct smc_poll_options {
	size_t low_water_bytes;	/* SO_RCVLOWAT */
	bool died;		/* TCP is closed */
	bool error;		/* SO_ERROR has one, or MSG_ERRQUEUE */
};
void smc_sk_poll_options(const struct sock *sk, struct smc_poll_options *options);
/* SO_LINGER: false if off, else its time in jiffies. */
bool smc_sk_linger(const struct sock *sk, long *timeout_jiffies);
bool smc_process_exiting(void);
/* Buffer sizes asked for with SO_SNDBUF and SO_RCVBUF; 0 if they were not. */
u32 smc_sk_asked_sndbuf_bytes(const struct sock *sk);
u32 smc_sk_asked_rcvbuf_bytes(const struct sock *sk);
/*
 * How far a receive buffer may grow by itself: as TCP's, by net.ipv4.tcp_moderate_rcvbuf and
 * tcp_rmem. 0: not at all, or the user has set its size.
 */
u32 smc_sk_rcvbuf_limit_bytes(const struct sock *sk);
/* The same of a send buffer, by tcp_wmem. */
u32 smc_sk_sndbuf_limit_bytes(const struct sock *sk);
/* TCP_NODELAY and TCP_CORK as set on the sock. */
bool smc_sk_nodelay(const struct sock *sk);
bool smc_sk_corked(const struct sock *sk);
/* SO_OOBINLINE. */
bool smc_sk_urgent_inline(const struct sock *sk);
/* SO_PEEK_OFF: where a peek begins, and moving that place after a peek or a read. */
u32 smc_sk_peek_offset(const struct sock *sk);
void smc_sk_move_peek_offset(struct sock *sk, u32 bytes, bool peeked);
u32 smc_sk_max_backlog(const struct sock *sk);

/* SIGPIPE as TCP raises it for -EPIPE; returns what send() shall return. */
int smc_sk_stream_error(struct sock *sk, u32 flags, int err);
/* TCP's answer to a recv() in state CLOSE. The sock's lock is held. 0 or -errno. */
int smc_sk_receive_closed(struct sock *sk);

/* ioctl: writes an int answer to user space. */
int smc_put_user_int(int value, unsigned long arg);
#define SMC_SIOCINQ 0x541Bu
#define SMC_SIOCOUTQ 0x5411u
#define SMC_SIOCOUTQNSD 0x894Bu
#define SMC_SIOCATMARK 0x8905u

SMC_ABI_END

#endif
