// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socks without a user's socket: children that were not accepted yet, and those whose socket has
 * been closed.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/request_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#ifdef HAVE_NET_RPS_H
#include <net/rps.h>
#endif

#include "kernel/abi/tcp_child.h"
#include "kernel/abi/tcp_clc.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_charge.h"

static struct sock *accept_child(struct sock *listener, bool kern, int *err)
{
#ifdef HAVE_PROTO_ACCEPT_ARG
	struct proto_accept_arg arg = {
		.flags = O_NONBLOCK,
		.kern = kern,
		.err = -EINVAL,
	};
	struct sock *sk;

	sk = READ_ONCE(listener->sk_prot)->accept(listener, &arg);
	*err = arg.err;
	return sk;
#else
	*err = -EINVAL;
	return READ_ONCE(listener->sk_prot)->accept(listener, O_NONBLOCK, err, kern);
#endif
}

struct sock *smc_tcp_accept(struct sock *listener, bool kern, int *err)
{
	struct sock *child = accept_child(listener, kern, err);

	if (child)
		smc_tcp_charge_child(child, listener);
	return child;
}

/* A child whose handshake still lacks its last ACK is known to TCP by its request. */
static void put_request(struct request_sock_queue *queue, struct request_sock *req)
{
	bool wanted = false;

	if (tcp_rsk(req)->tfo_listener) {
		spin_lock_bh(&queue->fastopenq.lock);
		wanted = tcp_rsk(req)->tfo_listener;
		if (wanted)
			req->sk = NULL;
		spin_unlock_bh(&queue->fastopenq.lock);
	}
	/* reqsk_put() calls what is not open to modules everywhere. */
	if (!wanted)
		sock_gen_put(req_to_sk(req));
}

/* The locks of a child's own accept queue, as accept() leaves them. */
static void init_locks(struct sock *child)
{
#ifdef HAVE_INET_INIT_CSK_LOCKS
	inet_init_csk_locks(child);
#else
	struct request_sock_queue *queue = &inet_csk(child)->icsk_accept_queue;

	/* In that case listen() does the same again. */
	spin_lock_init(&queue->rskq_lock);
	spin_lock_init(&queue->fastopenq.lock);
#endif
}

struct sock *smc_tcp_take_out(struct sock *listener)
{
	struct request_sock_queue *queue = &inet_csk(listener)->icsk_accept_queue;
	struct request_sock *req;
	struct sock *child;

	/*
	 * The queue has its own lock, under which TCP adds and removes entries; the sock's lock is
	 * for those that sleep until there is one.
	 */
	req = reqsk_queue_remove(queue, listener);
	if (!req)
		return NULL;
	child = req->sk;
	put_request(queue, req);
	init_locks(child);
	smc_tcp_charge_child(child, listener);
	return child;
}

void smc_tcp_adopt(struct sock *sk, struct socket *sock)
{
	/* Fast, see smc_tcp_charge_child(). */
	const bool slow = lock_sock_fast(sk);

	sock_rps_record_flow(sk);
	/* As TCP sets it for each socket of its own. */
	sock_allow_zerocopy(sock);
	sock_graft(sk, sock);
	sock->state = SS_CONNECTED;
	unlock_sock_fast(sk, slow);
}

/* With the sock's lock, as in tcp_close(): TCP's softirq side reads sk_socket more than once. */
static void leave_socket(struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk_set_socket(sk, NULL);
	RCU_INIT_POINTER(sk->sk_wq, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

struct sock *smc_tcp_orphan(struct socket *sock)
{
	struct sock *sk = sock->sk;
	const bool slow = lock_sock_fast(sk);

	leave_socket(sk);
	unlock_sock_fast(sk, slow);
	sock->sk = NULL;
	return sk;
}

/*
 * What the kernel calls through sk_socket while a child is in its handshake, which is for BPF
 * programs: it takes for granted that a socket has ops. A sockmap tries again later.
 */
static int refuse_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	return -EAGAIN;
}

static int refuse_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t len)
{
	return -EAGAIN;
}

/* TCP has to report each byte of a CLC message. */
static int refuse_rcvlowat(struct sock *sk, int val)
{
	return -EBUSY;
}

/* Without read_skb and read_sock: nobody else reads the CLC messages. */
static const struct proto_ops wrapper_ops = {
	.sendmsg = refuse_sendmsg,
	.sendmsg_locked = refuse_sendmsg_locked,
	.set_rcvlowat = refuse_rcvlowat,
};

struct socket *smc_tcp_wrap(struct sock *sk, struct socket *spare)
{
	struct socket *sock = spare;

	if (!sock && sock_create_lite(sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &sock))
		return NULL;
	/* The user's, not that of the work item: rules and filters look at it. */
	SOCK_INODE(sock)->i_uid = sk_uid(sk);
	sock->ops = &wrapper_ops;
	smc_tcp_adopt(sk, sock);
	return sock;
}

/* Without ops then: sock_release() is not to call them, nor to put a reference to their owner. */
static struct sock *take_out_of_wrapper(struct socket *sock)
{
	struct sock *sk = smc_tcp_orphan(sock);

	sock->ops = NULL;
	return sk;
}

struct sock *smc_tcp_empty(struct socket *sock)
{
	struct sock *sk = take_out_of_wrapper(sock);

	/* What the sock has left behind: what it lacked, and what it was asked for. */
	sock->flags = 0;
	sock->wq.flags = 0;
	return sk;
}

void smc_tcp_unwrap(struct socket *sock)
{
	struct sock *sk = sock->sk ? take_out_of_wrapper(sock) : NULL;

	sock_release(sock);
	if (sk)
		smc_tcp_close(sk);
}

void smc_tcp_keep(struct socket *sock)
{
	struct sock *sk = sock->sk;

	/* It must not keep the module that long. */
	smc_drop_ulp(sk);
	smc_tcp_give_back_af(sk);
	lock_sock(sk);
	/* The user's close() has lingered; ours, in a work item, must not. */
	sock_reset_flag(sk, SOCK_LINGER);
	leave_socket(sk);
	release_sock(sk);
	sock->sk = NULL;
}

/* Unread data makes it a RST, for which nobody pays. */
static void send_fin(struct sock *sk)
{
	gfp_t allocation;

	if (!skb_queue_empty(&sk->sk_receive_queue))
		return;
	allocation = smc_tcp_atomic_begin(sk);
	READ_ONCE(sk->sk_prot)->shutdown(sk, SEND_SHUTDOWN);
	smc_tcp_atomic_end(sk, allocation);
}

void smc_tcp_let_go(struct sock *sk, bool reset)
{
	/* All that TCP's release() knows of a socket is its sock. */
	struct socket rest = {
		.state = SS_CONNECTED,
		.type = SOCK_STREAM,
		.sk = sk,
		.ops = smc_base_ops(sk),
	};

	lock_sock(sk);
	if (reset)
		smc_tcp_reset(sk, 0);
	else
		send_fin(sk);
	release_sock(sk);
	rest.ops->release(&rest);
}

void smc_tcp_close(struct sock *sk)
{
	/* With a RST, as TCP ends the children of a listener that ends. */
	lock_sock(sk);
	READ_ONCE(sk->sk_prot)->disconnect(sk, O_NONBLOCK);
	release_sock(sk);
	READ_ONCE(sk->sk_prot)->close(sk, 0);
}
