// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listener: its accept queue, its offers of SMC, and the fields that TCP copies into its
 * children.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/request_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp_listener.h"
#include "kernel/sock_ops.h"

enum smc_accept_head smc_tcp_accept_head(struct sock *listener)
{
	struct request_sock_queue *queue = &inet_csk(listener)->icsk_accept_queue;
	enum smc_accept_head head = SMC_ACCEPT_EMPTY;

	if (reqsk_queue_empty(queue))
		return head;
	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head)
		head = tcp_sk(queue->rskq_accept_head->sk)->syn_smc ? SMC_ACCEPT_SMC
								     : SMC_ACCEPT_PLAIN;
	spin_unlock_bh(&queue->rskq_lock);
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
		if (tcp_sk(req->sk)->syn_smc)
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
	if (child && READ_ONCE(tcp_sk(child)->syn_smc))
		youngest = SMC_ACCEPT_SMC;
	else if (req && req != READ_ONCE(queue->rskq_accept_head))
		youngest = SMC_ACCEPT_PLAIN;
	rcu_read_unlock();
	return youngest;
}

/*
 * The SYN that this CPU takes, for the calls below. SYNs are taken with softirqs off, one at a
 * time.
 */
static DEFINE_PER_CPU(const struct sk_buff *, smc_syn);

static bool client_is_allowed(const struct sock *listener)
{
	const struct sk_buff *syn = this_cpu_read(smc_syn);
	struct in6_addr address;

	/* A listener whose table of functions is TCP's has no rules. */
	if (!syn)
		return true;
	if (syn->protocol == htons(ETH_P_IP))
		ipv6_addr_set_v4mapped(ip_hdr(syn)->saddr, &address);
	else
		address = ipv6_hdr(syn)->saddr;
	return smc_ctl_client_allowed(sock_net(listener), address.s6_addr,
				      inet_sk(listener)->inet_num);
}

/* TCP calls these at each SYN with the option, without the listener's lock. */
static bool always_congested(const struct sock *listener)
{
	smc_stat_inc(sock_net(listener), SMC_STAT_HS_LIMITED);
	return true;
}

static bool more_queued_than(const struct sock *listener, u32 most)
{
	const u32 queued = READ_ONCE(listener->sk_ack_backlog) +
			   inet_csk_reqsk_queue_len(listener);

	if (queued > most)
		return always_congested(listener);
	return !client_is_allowed(listener);
}

static bool congested_beyond_backlog(const struct sock *listener)
{
	return more_queued_than(listener, min_t(u32, SMC_TCP_QUEUE_MAX,
						READ_ONCE(listener->sk_max_ack_backlog)));
}

static bool congested_beyond_memory(const struct sock *listener)
{
	return more_queued_than(listener, SMC_TCP_QUEUE_MAX);
}

static bool congested_by_net(const struct sock *listener)
{
	return smc_sysctl_limit_smc_hs(sock_net(listener)) ? congested_beyond_backlog(listener)
							    : congested_beyond_memory(listener);
}

void smc_tcp_limit_handshakes(struct sock *listener, bool full, enum smc_hs_limit limit)
{
	static bool (*const congested[])(const struct sock *listener) = {
		[SMC_HS_LIMIT_NET] = congested_by_net,
		[SMC_HS_LIMIT_OFF] = congested_beyond_memory,
		[SMC_HS_LIMIT_ON] = congested_beyond_backlog,
	};

	/* Not back to NULL while it listens: TCP reads it twice. */
	WRITE_ONCE(tcp_sk(listener)->smc_hs_congested,
		   full ? always_congested : congested[limit]);
}

/*
 * TCP copies a listener into each of its children, with the fields above. When a listener of ours
 * ends, a child may be given to a listener of TCP's own (net.ipv4.tcp_migrate_req), without a call
 * of ours, and outlive this module there. So each child is cleaned when it is made, before anything
 * else can happen to it. The function that makes children is in a table of TCP's; our listeners
 * have a copy of that table, which differs in that function and in the one that takes SYNs.
 */
struct listening_af {
	struct inet_connection_sock_af_ops ops;
	const struct inet_connection_sock_af_ops *base;
};

static struct listening_af listening_v4 __ro_after_init;
static struct listening_af listening_v6 __ro_after_init;

static struct listening_af *listening_af_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &listening_v6 : &listening_v4;
}

void smc_tcp_give_back_af(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct listening_af *af = listening_af_of(sk);

	/* Connecting an IPv6 socket to an IPv4 address puts another table there. */
	if (icsk->icsk_af_ops == &af->ops)
		WRITE_ONCE(icsk->icsk_af_ops, af->base);
}

static struct sock *looked_after(struct sock *child)
{
	if (child) {
		tcp_sk(child)->smc_hs_congested = NULL;
		smc_tcp_give_back_af(child);
	}
	return child;
}

static int take_syn(struct sock *listener, struct sk_buff *skb)
{
	int ret;

	this_cpu_write(smc_syn, skb);
	ret = listening_af_of(listener)->base->conn_request(listener, skb);
	this_cpu_write(smc_syn, NULL);
	return ret;
}

#ifdef HAVE_SYN_RECV_SOCK_CHILD_INIT
static struct sock *make_child(const struct sock *listener, struct sk_buff *skb,
			       struct request_sock *req, struct dst_entry *dst,
			       struct request_sock *unhash, bool *own_req,
			       void (*complete)(struct sock *child, const struct sock *listener))
{
	const struct inet_connection_sock_af_ops *base = listening_af_of(listener)->base;

	return looked_after(base->syn_recv_sock(listener, skb, req, dst, unhash, own_req,
						complete));
}
#else
static struct sock *make_child(const struct sock *listener, struct sk_buff *skb,
			       struct request_sock *req, struct dst_entry *dst,
			       struct request_sock *unhash, bool *own_req)
{
	const struct inet_connection_sock_af_ops *base = listening_af_of(listener)->base;

	return looked_after(base->syn_recv_sock(listener, skb, req, dst, unhash, own_req));
}
#endif

void __init smc_tcp_learn_af(const struct sock *sk)
{
	struct listening_af *af = listening_af_of(sk);

	af->base = inet_csk(sk)->icsk_af_ops;
	af->ops = *af->base;
	af->ops.syn_recv_sock = make_child;
	af->ops.conn_request = take_syn;
}

void smc_tcp_watch_children(struct sock *listener)
{
	WRITE_ONCE(inet_csk(listener)->icsk_af_ops, &listening_af_of(listener)->ops);
}

int smc_tcp_unlimit_handshakes(struct sock *sk)
{
	if (!READ_ONCE(tcp_sk(sk)->smc_hs_congested))
		return 0;
	if (sk->sk_state == TCP_LISTEN)
		return -EOPNOTSUPP;
	/* Until the last SYN that has found a listener has been handled. */
	synchronize_rcu();
	WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
	smc_tcp_give_back_af(sk);
	return 0;
}
