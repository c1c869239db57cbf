// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listener: its accept queue, its offers of SMC, and the fields that TCP copies into its
 * children.
 */
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/request_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_option.h"

enum smc_accept_head smc_tcp_accept_head(struct sock *listener)
{
	const struct request_sock_queue *queue = &inet_csk(listener)->icsk_accept_queue;
	enum smc_accept_head head = SMC_ACCEPT_EMPTY;
	const struct request_sock *req;
	const struct sock *child;

	if (reqsk_queue_empty(queue))
		return head;
	/*
	 * Without the queue's lock: by the time of the answer another thread may have taken that
	 * child in any case. Its memory keeps its type until RCU readers have left, and so does the
	 * request's, which has no child any more if it is used for another one.
	 */
	rcu_read_lock();
	req = READ_ONCE(queue->rskq_accept_head);
	child = req ? READ_ONCE(req->sk) : NULL;
	if (child)
		head = smc_tcp_agreed(child) ? SMC_ACCEPT_SMC : SMC_ACCEPT_PLAIN;
	rcu_read_unlock();
	return head;
}

u32 smc_tcp_accept_up_to_smc(struct sock *listener)
{
	struct request_sock_queue *queue = &inet_csk(listener)->icsk_accept_queue;
	const struct request_sock *req;
	u32 place = 0, last = 0;

	if (reqsk_queue_empty(queue))
		return 0;
	spin_lock_bh(&queue->rskq_lock);
	for (req = queue->rskq_accept_head; req; req = req->dl_next) {
		place++;
		if (smc_tcp_agreed(req->sk))
			last = place;
	}
	spin_unlock_bh(&queue->rskq_lock);
	return last;
}

enum smc_accept_head smc_tcp_accept_hint(const struct sock *listener)
{
	const struct request_sock_queue *queue = &inet_csk(listener)->icsk_accept_queue;
	enum smc_accept_head youngest = SMC_ACCEPT_EMPTY;
	const struct request_sock *req;
	const struct sock *child = NULL;

	/* Both come from slabs whose memory keeps its type until RCU readers have left. */
	rcu_read_lock();
	req = READ_ONCE(queue->rskq_accept_tail);
	if (req)
		child = READ_ONCE(req->sk);
	if (child && smc_tcp_agreed(child))
		youngest = SMC_ACCEPT_SMC;
	else if (req && req != READ_ONCE(queue->rskq_accept_head))
		youngest = SMC_ACCEPT_PLAIN;
	rcu_read_unlock();
	return youngest;
}

void smc_tcp_limit_handshakes(struct sock *listener, bool full, enum smc_hs_limit limit)
{
	static const enum smc_answering answering[] = {
		[SMC_HS_LIMIT_NET] = SMC_ANSWER_BY_NET,
		[SMC_HS_LIMIT_OFF] = SMC_ANSWER_UNLIMITED,
		[SMC_HS_LIMIT_ON] = SMC_ANSWER_LIMITED,
	};

	smc_option_set_answering(listener, full ? SMC_ANSWER_NOBODY : answering[limit]);
}

/*
 * TCP copies a listener into each of its children. When a listener of ours ends, a child may be
 * given to a listener of TCP's own (net.ipv4.tcp_migrate_req), without a call of ours, and outlive
 * this module there. So each child is cleaned when it is made, before anything else can happen to
 * it.
 */
static struct sock *looked_after(struct sock *child, const struct request_sock *req, bool hashed)
{
	if (child) {
		smc_option_init_child(child, req, hashed);
		smc_tcp_give_back_af(child);
		/* The Accept acknowledges the Proposal: see smc_tcp_clc_begin(). */
		if (smc_tcp_agreed(child))
			inet_csk_enter_pingpong_mode(child);
	}
	return child;
}

#ifdef HAVE_SYN_RECV_SOCK_CHILD_INIT
struct sock *smc_listener_make_child(const struct sock *listener, struct sk_buff *skb,
				     struct request_sock *req, struct dst_entry *dst,
				     struct request_sock *unhash, bool *own_req,
				     void (*complete)(struct sock *child,
						      const struct sock *listener))
{
	return looked_after(smc_af_base(listener)->syn_recv_sock(listener, skb, req, dst, unhash,
								 own_req, complete),
			    req, unhash);
}
#else
struct sock *smc_listener_make_child(const struct sock *listener, struct sk_buff *skb,
				     struct request_sock *req, struct dst_entry *dst,
				     struct request_sock *unhash, bool *own_req)
{
	return looked_after(smc_af_base(listener)->syn_recv_sock(listener, skb, req, dst, unhash,
								 own_req),
			    req, unhash);
}
#endif

void smc_tcp_watch_children(struct sock *listener)
{
	smc_tcp_give_back_af(listener);
	smc_af_change(listener, SMC_AF_NONE, SMC_AF_LISTENING);
}

int smc_tcp_unlimit_handshakes(struct sock *sk)
{
	if (!smc_option_is_left_in(sk))
		return 0;
	if (sk->sk_state == TCP_LISTEN)
		return -EOPNOTSUPP;
	/* Until the last SYN that has found a listener has been handled. */
	synchronize_rcu();
	smc_option_clean(sk);
	smc_tcp_give_back_af(sk);
	return 0;
}
