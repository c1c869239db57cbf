/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets: the user's struct socket, the TCP sock under it, and the calls that
 * user space makes on them.
 *
 * One socket, one sock: sock->sk is the TCP sock from socket() to close(). What
 * makes it an SMC socket is sock->ops and, from connect() or listen() on, a
 * state object of ours beside it. A fallback only changes sock->ops.
 */
#ifndef SMC_KERNEL_ABI_SOCK_H
#define SMC_KERNEL_ABI_SOCK_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* ---- Families and protocols -------------------------------------------- */

/* Registers PF_SMC and IPPROTO_SMC; sockets can be made from here on. */
int smc_sock_setup(void);
void smc_sock_teardown(void);

/* ---- Calls from user space, defined by shell/socket/ -------------------- */
/* Process context. Return values are those of struct proto_ops. */

int smc_op_release(struct socket *sock);
int smc_op_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
/* @new_sock has no sock yet; on success it has one, and its final ops. */
int smc_op_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern);
u32 smc_op_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int smc_op_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int smc_op_listen(struct socket *sock, int backlog);
int smc_op_shutdown(struct socket *sock, int how);
/* Is TCP's stream the handshake's, or has it been left for SMC? */
bool smc_op_keeps_tcp(struct socket *sock);
/* False in the handshake, and for an SMC connection that is over, whatever TCP underneath says. */
bool smc_op_has_peer(struct socket *sock);
int smc_op_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int smc_op_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
long smc_op_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			unsigned int flags);
/* Nothing follows what was sent with MSG_MORE. */
void smc_op_push(struct socket *sock);
/* An option that C has already decoded as one that matters to us. */
enum smc_option {
	SMC_OPTION_NODELAY,	/* TCP_NODELAY, on or off */
	SMC_OPTION_CORK,	/* TCP_CORK, on or off */
	SMC_OPTION_ULP,		/* another TCP upper layer is asked for */
	SMC_OPTION_ADDRFORM,	/* IPV6_ADDRFORM */
	SMC_OPTION_REPAIR,	/* TCP_REPAIR */
	SMC_OPTION_FASTOPEN,	/* TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, … */
};
/*
 * Asked before TCP sees the option: 0 lets TCP have it, an errno refuses it. For
 * NODELAY and CORK told after that, and then it is 0.
 */
int smc_op_option(struct socket *sock, enum smc_option option);
/* SOL_SMC, SMC_LIMIT_HS. 0 or -errno. */
int smc_op_limit_handshakes(struct socket *sock, bool on);
/* What it is set to, or the namespace's switch if it was not. */
bool smc_op_limits_handshakes(struct socket *sock);
/*
 * SO_RCVLOWAT while the CLC exchange has its own at work. False: it has not, and the
 * sock's is the user's. With the sock's lock. getsockopt() reads the sock's: no socket
 * has a say in that.
 */
bool smc_op_keep_rcvlowat(struct socket *sock, int bytes);
/*
 * A fallen socket is about to leave: nothing of ours is put into its sock any more.
 * With the sock's lock; NULL is fine.
 */
void smc_op_stop_limiting(void *state);
/*
 * The state of a fallen socket lets go of the socket and of the sock, which may
 * be gone before smc_op_forget(). Process context; NULL is fine.
 */
void smc_op_leave(void *state);
/* After that: it is not needed any more. Process context; NULL is fine. */
void smc_op_forget(void *state);

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

/*
 * Makes it a TCP socket for good: every later call runs TCP's own code. The
 * reference on the module stays with the socket until it is released. Any
 * context, more than once.
 */
void smc_sock_fall(struct socket *sock);
/* The same for a socket that no one else has seen yet, in accept(). */
void smc_sock_make_plain(struct socket *new_sock);

/* ---- TCP's own calls ---------------------------------------------------- */

int smc_tcp_ops_release(struct socket *sock);
int smc_tcp_ops_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
/* The same with the sock's lock held, which it lets go of while it waits. */
int smc_tcp_connect_locked(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
u32 smc_tcp_ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int smc_tcp_ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int smc_tcp_ops_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern);
int smc_tcp_ops_listen(struct socket *sock, int backlog);
int smc_tcp_ops_shutdown(struct socket *sock, int how);
int smc_tcp_ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int smc_tcp_ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
long smc_tcp_ops_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe,
			     size_t len, unsigned int flags);

/* ---- The sock ------------------------------------------------------------ */

struct sock *smc_sock_sk(const struct socket *sock);
struct net *smc_sk_net(const struct sock *sk);
void smc_sk_hold(struct sock *sk);
void smc_sk_put(struct sock *sk);
void smc_sk_lock(struct sock *sk);
void smc_sk_unlock(struct sock *sk);
/*
 * For work items: a user may keep the lock for as long as he likes, by a call that
 * waits for memory of his own making. False if one has it, with @patient after a
 * moment (the length of a tick), in which most calls are through.
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
int smc_sk_take_error(struct sock *sk);
/* Sets it and wakes everybody. @err is positive. */
void smc_sk_report_error(struct sock *sk, int err);

/* In jiffies, as smc_sk_wait() takes them; 0 for a call that must not block. */
long smc_sk_sndtimeo(const struct sock *sk, bool nonblock);
long smc_sk_rcvtimeo(const struct sock *sk, bool nonblock);
/* Bytes that recv() waits for: SO_RCVLOWAT, or all of @len with MSG_WAITALL. */
size_t smc_sk_rcvlowat(const struct sock *sk, bool waitall, size_t len);
/* SO_LINGER: false if off, else its time in jiffies. */
bool smc_sk_linger(const struct sock *sk, long *timeout_jiffies);
bool smc_process_exiting(void);
/* Buffer sizes asked for with SO_SNDBUF and SO_RCVBUF; 0 if they were not. */
u32 smc_sk_asked_sndbuf_bytes(const struct sock *sk);
u32 smc_sk_asked_rcvbuf_bytes(const struct sock *sk);
/*
 * How large a receive buffer may grow by itself: as TCP's, by net.ipv4.tcp_moderate_rcvbuf
 * and tcp_rmem. 0: not at all, or its size was asked for.
 */
u32 smc_sk_rcvbuf_limit_bytes(const struct sock *sk);
/* TCP_NODELAY and TCP_CORK as set on the sock. */
bool smc_sk_nodelay(const struct sock *sk);
bool smc_sk_corked(const struct sock *sk);
/* SO_OOBINLINE. */
bool smc_sk_urgent_inline(const struct sock *sk);
/* SO_PEEK_OFF: where a peek begins, and that bytes were peeked at or read. */
u32 smc_sk_peek_offset(const struct sock *sk);
void smc_sk_move_peek_offset(struct sock *sk, u32 bytes, bool peeked);
/* Is there anything for MSG_ERRQUEUE? */
bool smc_sk_has_queued_error(const struct sock *sk);
u32 smc_sk_max_backlog(const struct sock *sk);

/*
 * Sleeps on the user's wait queue until it is woken, for whoever has found
 * nothing and looks again then; not if @ready says that something has come
 * meanwhile. Called and returning with the sock's lock held, asleep without
 * it. 0, -EAGAIN when *timeo_jiffies has run out, or the errno of an
 * interrupting signal.
 */
int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		 bool exclusive);
/* The same for a reader: as on TCP, what ends his sleep sends no SIGIO (O_ASYNC). */
int smc_sk_sleep_for_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
			  void *arg);
/*
 * Sleeps on the user's wait queue until @ready says so. Called and returning
 * with the sock's lock held, asleep without it. 0, -EAGAIN when *timeo_jiffies
 * has run out, or the errno of an interrupting signal.
 */
int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		bool exclusive);

/* Poll bits of include/uapi/linux/eventpoll.h. */
#define SMC_POLL_IN 0x0041u	/* EPOLLIN | EPOLLRDNORM */
#define SMC_POLL_PRI 0x0002u
#define SMC_POLL_OUT 0x0104u	/* EPOLLOUT | EPOLLWRNORM */
#define SMC_POLL_ERR 0x0008u
#define SMC_POLL_HUP 0x0010u
#define SMC_POLL_RDHUP 0x2000u
/*
 * Wakes pollers and sleepers, and SIGIO's owner. A poller may believe these bits
 * without looking; with ANY among them all look for themselves. Any context.
 */
#define SMC_POLL_ANY 0x80000000u
void smc_sk_wake(struct sock *sk, u32 events);
/* Remembers that somebody waits for room (SOCK_NOSPACE). */
void smc_sk_set_nospace(struct sock *sk);
/* Registers the poller, without asking TCP. */
void smc_poll_register(struct file *file, struct socket *sock, struct poll_table_struct *wait);
void smc_sk_sigurg(struct sock *sk);

/*
 * A function that runs at each wakeup of a socket's wait queue, in the context
 * of the waker (often softirq), under the queue's lock with interrupts off: it
 * must only note and queue, and take no lock. True: it is not to be called
 * again. Children of a listener inherit nothing from it.
 */
struct smc_wake_hook {
	unsigned long opaque[8];
};
void smc_wake_hook_init(struct smc_wake_hook *hook, struct socket *sock,
			bool (*fn)(struct smc_wake_hook *hook));
/* Does nothing if it is there already. Any context. */
void smc_wake_hook_add(struct smc_wake_hook *hook);
/* Afterwards fn does not run and will not. Whether it is there or not. Any context. */
void smc_wake_hook_remove(struct smc_wake_hook *hook);

/* ---- Messages of send and receive ---------------------------------------- */

#define SMC_MSG_OOB 0x1u
#define SMC_MSG_PEEK 0x2u
#define SMC_MSG_TRUNC 0x20u
#define SMC_MSG_DONTWAIT 0x40u
#define SMC_MSG_WAITALL 0x100u
#define SMC_MSG_MORE 0x8000u
#define SMC_MSG_ERRQUEUE 0x2000u
#define SMC_MSG_NOSIGNAL 0x4000u
#define SMC_MSG_FASTOPEN 0x20000000u
u32 smc_msg_flags(const struct msghdr *msg);
/* Bytes copied; fewer than @len means EFAULT. Sleeps. */
size_t smc_msg_copy_from(struct msghdr *msg, void *to, size_t len);
size_t smc_msg_copy_to(struct msghdr *msg, const void *from, size_t len);
/* Control data of a send: what TCP would refuse, or pass over. */
bool smc_msg_control_is_good(struct sock *sk, struct msghdr *msg);
void smc_msg_add_flags(struct msghdr *msg, u32 flags);
/* TCP_INQ: tells how much is left. */
bool smc_msg_wants_inq(const struct sock *sk, const struct msghdr *msg);
void smc_msg_put_inq(const struct sock *sk, struct msghdr *msg, u32 inq_bytes);
/*
 * A send with MSG_ZEROCOPY on a socket with SO_ZEROCOPY owes a notification on
 * the error queue. Begin before the send, sock lock held: 0 (@notice stays as it
 * was if none is owed) or -ENOBUFS. End sends it, or none if nothing was @sent.
 */
struct smc_zerocopy;
int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct smc_zerocopy **notice);
void smc_zerocopy_end(struct smc_zerocopy *notice, bool sent);
/* No address comes with a stream's bytes. */
void smc_msg_no_name(struct msghdr *msg);
/* SIGPIPE as TCP raises it for -EPIPE; returns what send() shall return. */
int smc_sk_stream_error(struct sock *sk, u32 flags, int err);
/* What TCP's recv() says of a sock in state CLOSE. Its lock is held. 0 or -errno. */
int smc_sk_receive_closed(struct sock *sk);

/* ioctl: writes an int answer to user space. */
int smc_put_user_int(int value, unsigned long arg);
#define SMC_SIOCINQ 0x541Bu
#define SMC_SIOCOUTQ 0x5411u
#define SMC_SIOCOUTQNSD 0x894Bu
#define SMC_SIOCATMARK 0x8905u

/* Splices through copies, for a socket whose bytes are not in TCP. */
long smc_splice_read_copy(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			  unsigned int flags);

SMC_ABI_END

#endif
