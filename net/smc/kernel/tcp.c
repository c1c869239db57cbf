// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP connection under an SMC socket. Here TCP itself writes and reads the
 * SMC option (kernels built with CONFIG_SMC): it only has to be told.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#ifdef HAVE_NET_RPS_H
#include <net/rps.h>
#endif

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_charge.h"

#if !IS_ENABLED(CONFIG_SMC)
#error "this kernel's TCP does not know the SMC option: no variant for it yet"
#endif

int __init smc_tcp_setup(void)
{
	static_branch_enable(&tcp_have_smc);
	return 0;
}

void smc_tcp_teardown(void)
{
	static_branch_disable(&tcp_have_smc);
}

void smc_tcp_offer(struct sock *sk)
{
	tcp_sk(sk)->syn_smc = 1;
}

void smc_tcp_withdraw(struct sock *sk)
{
	WRITE_ONCE(tcp_sk(sk)->syn_smc, 0);
}

bool smc_tcp_fastopen_connect(const struct sock *sk)
{
	return tcp_sk(sk)->fastopen_connect;
}

bool smc_tcp_agreed(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

static bool is_own_peer(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (inet->inet_sport != inet->inet_dport)
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	/* IPv4 addresses are there, too, as mapped ones. */
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_equal(&sk->sk_v6_rcv_saddr, &sk->sk_v6_daddr);
#endif
	return inet->inet_rcv_saddr == inet->inet_daddr;
}

enum smc_tcp_opened smc_tcp_opened(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/*
	 * At a SYN-ACK without the option TCP forgets that we have shown it, at a SYN it
	 * does not.
	 */
	if (!READ_ONCE(tp->syn_smc) || !tp->rx_opt.smc_ok)
		return SMC_TCP_OPENED_PLAIN;
	if (is_own_peer(sk))
		return SMC_TCP_OPENED_SELF;
	/*
	 * tcp_finish_connect(), which a SYN-ACK leads to, takes the connection's beginning
	 * for the time when data came last. By way of SYN_RECV there is no such time until
	 * data come.
	 */
	if (!READ_ONCE(inet_csk(sk)->icsk_ack.lrcvtime))
		return SMC_TCP_OPENED_CROSSED;
	return SMC_TCP_OPENED;
}

bool smc_tcp_uses_ipsec(struct sock *sk)
{
	bool ipsec = false;
#ifdef CONFIG_XFRM
	struct dst_entry *dst = sk_dst_get(sk);

	ipsec = rcu_access_pointer(sk->sk_policy[0]) || rcu_access_pointer(sk->sk_policy[1]) ||
		(dst && dst->xfrm);
	dst_release(dst);
#endif
	return ipsec;
}

/* ---- Accepting ---------------------------------------------------------------- */

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

	/* Both are of slabs whose memory keeps its type until RCU readers left. */
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

/* TCP asks these at each SYN with the option, without the listener's lock. */
static bool always_congested(const struct sock *listener)
{
	smc_stat_inc(sock_net(listener), SMC_STAT_HS_LIMITED);
	return true;
}

static bool more_queued_than(const struct sock *listener, u32 most)
{
	const u32 queued = READ_ONCE(listener->sk_ack_backlog) +
			   inet_csk_reqsk_queue_len(listener);

	return queued > most && always_congested(listener);
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

	/* Not back to NULL while it listens: TCP looks at it twice. */
	WRITE_ONCE(tcp_sk(listener)->smc_hs_congested,
		   full ? always_congested : congested[limit]);
}

/*
 * TCP copies a listener into each of its children, with what stands above. A child may be given
 * to a listener of TCP's own (net.ipv4.tcp_migrate_req) when one of ours ends, by whatever way,
 * without a call of ours, and outlive this module there. So children are looked after when they
 * are made, before anything else can happen to them. What makes them is in a table of TCP's;
 * listeners have a copy of that, which differs in nothing else.
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

	/* Connecting an IPv6 socket to an IPv4 address puts another one there. */
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
	/* Until the last SYN is through that has still found a listener. */
	synchronize_rcu();
	WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
	smc_tcp_give_back_af(sk);
	return 0;
}

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

/* A child whose handshake still wants its last ACK goes on being known by its request. */
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
	if (!wanted)
		reqsk_put(req);
}

/* Those of a child's own accept queue, as accept() leaves them. */
static void init_locks(struct sock *child)
{
#ifdef HAVE_INET_INIT_CSK_LOCKS
	inet_init_csk_locks(child);
#else
	struct request_sock_queue *queue = &inet_csk(child)->icsk_accept_queue;

	/* There it is left to listen(), which does the same once more. */
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
	 * The queue has a lock of its own, by which TCP puts them in, and takes them out
	 * when it stops to listen; the sock's lock is for those that sleep until there is one.
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
	lock_sock(sk);
	sock_rps_record_flow(sk);
	/* As TCP says of every socket of its own. */
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	sock_graft(sk, sock);
	sock->state = SS_CONNECTED;
	release_sock(sk);
}

struct sock *smc_tcp_orphan(struct socket *sock)
{
	struct sock *sk = sock->sk;

	/* As tcp_close() does: TCP's softirq side looks at sk_socket more than once. */
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk_set_socket(sk, NULL);
	RCU_INIT_POINTER(sk->sk_wq, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	sock->sk = NULL;
	return sk;
}

struct socket *smc_tcp_wrap(struct sock *sk)
{
	struct socket *sock;

	if (sock_create_lite(sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &sock))
		return NULL;
	/* The user's, not that of who happens to work for him: rules and filters look at it. */
	SOCK_INODE(sock)->i_uid = sk->sk_uid;
	smc_tcp_adopt(sk, sock);
	return sock;
}

void smc_tcp_unwrap(struct socket *sock)
{
	struct sock *sk = sock->sk ? smc_tcp_orphan(sock) : NULL;

	sock_release(sock);
	if (sk)
		smc_tcp_close(sk);
}

struct socket *smc_tcp_keep(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct socket *kept;

	if (sock_create_lite(sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &kept))
		return NULL;
	/* It must not keep the module that long. */
	smc_drop_ulp(sk);
	smc_tcp_give_back_af(sk);
	lock_sock(sk);
	/* The user's close() has waited; ours, in a work item, is not to. */
	sock_reset_flag(sk, SOCK_LINGER);
	release_sock(sk);
	SOCK_INODE(kept)->i_uid = sk->sk_uid;
	smc_tcp_adopt(smc_tcp_orphan(sock), kept);
	kept->ops = smc_base_ops(sk);
	/* IPv6 may be a module; the socket's release puts it. */
	__module_get(kept->ops->owner);
	return kept;
}

void smc_tcp_let_go(struct socket *sock, bool reset)
{
	if (reset) {
		lock_sock(sock->sk);
		smc_tcp_reset(sock->sk, 0);
		release_sock(sock->sk);
	}
	sock_release(sock);
}

void smc_tcp_close(struct sock *sk)
{
	/* As TCP ends the children of a listener that goes: with a RST. */
	lock_sock(sk);
	READ_ONCE(sk->sk_prot)->disconnect(sk, O_NONBLOCK);
	release_sock(sk);
	READ_ONCE(sk->sk_prot)->close(sk, 0);
}

/* ---- Where it runs ------------------------------------------------------------------- */

static bool is_v4(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#endif
	return true;
}

static int vlan_below(struct net_device *lower, struct netdev_nested_priv *priv)
{
	u16 *vlan_id = priv->data;

	if (!is_vlan_dev(lower))
		return 0;
	*vlan_id = vlan_dev_vlan_id(lower);
	return 1;
}

/* Its own, or that of the first VLAN below it: it may be a bridge or a bond over one. */
static u16 vlan_of_rcu(struct net_device *dev)
{
	u16 vlan_id = 0;
	struct netdev_nested_priv priv = { .data = &vlan_id };

	if (!vlan_below(dev, &priv))
		netdev_walk_all_lower_dev_rcu(dev, vlan_below, &priv);
	return vlan_id;
}

static void add_prefix_of_v4(struct smc_tcp_path *path, __be32 prefix, u8 len)
{
	u8 i;

	for (i = 0; i < path->prefix4_count; i++) {
		if (path->prefix4_len[i] == len &&
		    !memcmp(path->prefix4[i], &prefix, sizeof(prefix)))
			return;
	}
	if (path->prefix4_count == SMC_PATH_PREFIXES)
		return;
	memcpy(path->prefix4[i], &prefix, sizeof(prefix));
	path->prefix4_len[i] = len;
	path->prefix4_count++;
}

/* Those with @addr in them, or the others. */
static void prefixes_of_v4_with(const struct in_device *in_dev, struct smc_tcp_path *path,
				__be32 addr, bool inside)
{
	const struct in_ifaddr *ifa;

	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (inet_ifa_match(addr, ifa) == inside)
			add_prefix_of_v4(path, ifa->ifa_address & ifa->ifa_mask,
					 inet_mask_len(ifa->ifa_mask));
	}
}

static void prefixes_of_v4(const struct net_device *dev, struct smc_tcp_path *path, __be32 addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);

	if (!in_dev)
		return;
	prefixes_of_v4_with(in_dev, path, addr, true);
	path->prefix4_own = path->prefix4_count;
	prefixes_of_v4_with(in_dev, path, addr, false);
}

static void prefixes_of_v6(const struct net_device *dev, struct smc_tcp_path *path)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifa;

	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			continue;
		if (path->prefix6_count == SMC_PATH_PREFIXES)
			break;
		ipv6_addr_prefix((struct in6_addr *)path->prefix6[path->prefix6_count], &ifa->addr,
				 ifa->prefix_len);
		path->prefix6_len[path->prefix6_count] = ifa->prefix_len;
		path->prefix6_count++;
	}
#endif
}

static bool addr4_is_of(struct net *net, __be32 addr)
{
	return inet_addr_type(net, addr) == RTN_LOCAL;
}

static bool addr6_is_of(struct net *net, const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return addr4_is_of(net, addr->s6_addr32[3]);
#if IS_ENABLED(CONFIG_IPV6)
	/* A kernel that was booted without IPv6 has no addresses to look among. */
	return ipv6_mod_enabled() &&
	       (ipv6_addr_loopback(addr) || ipv6_chk_addr(net, addr, NULL, 0));
#else
	return false;
#endif
}

static bool addr_is_here(const struct sock *sk, const struct in6_addr *addr)
{
	struct net *own = sock_net(sk);
	bool found = addr6_is_of(own, addr);
	struct net *net;

	if (found || smc_sysctl_smcd_loopback(own) != SMC_LOOPBACK_KERNEL)
		return found;
	rcu_read_lock();
	for_each_net_rcu(net) {
		/* Loopback addresses are each namespace's own; some keep to themselves. */
		found = net != own && smc_sysctl_smcd_loopback(net) == SMC_LOOPBACK_KERNEL &&
			addr6_is_of(net, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

bool smc_tcp_addr_is_here(const struct sock *sk, const struct sockaddr *addr, int addr_len)
{
	struct in6_addr addr6;

	/* TCP refuses an address of another family than the sock's. */
	if (addr_len < (int)sizeof(struct sockaddr_in) || addr->sa_family != sk->sk_family)
		return false;
	if (addr->sa_family == AF_INET) {
		__be32 addr4 = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

		/* To connect to any address is to connect to oneself. */
		if (!addr4)
			return true;
		ipv6_addr_set_v4mapped(addr4, &addr6);
	} else if (addr->sa_family == AF_INET6 && addr_len >= SIN6_LEN_RFC2133) {
		addr6 = ((const struct sockaddr_in6 *)addr)->sin6_addr;
		if (ipv6_addr_any(&addr6))
			return true;
	} else {
		return false;
	}
	return addr_is_here(sk, &addr6);
}

bool smc_tcp_path(struct sock *sk, struct smc_tcp_path *path)
{
	struct dst_entry *dst = sk_dst_get(sk);
	const struct inet_sock *inet = inet_sk(sk);
	struct in6_addr addr;

	memset(path, 0, sizeof(*path));
	if (!dst)
		return false;
	path->ipsec = smc_tcp_uses_ipsec(sk);
	path->ipv4 = is_v4(sk);
	rcu_read_lock();
	path->ifindex = dst->dev->ifindex;
	path->vlan_id = vlan_of_rcu(dst->dev);
	if (path->ipv4) {
		ipv6_addr_set_v4mapped(inet->inet_saddr, &addr);
		memcpy(path->local, &addr, sizeof(addr));
		ipv6_addr_set_v4mapped(inet->inet_daddr, &addr);
		memcpy(path->peer, &addr, sizeof(addr));
		prefixes_of_v4(dst->dev, path, inet->inet_saddr);
	} else {
#if IS_ENABLED(CONFIG_IPV6)
		memcpy(path->local, &inet6_sk(sk)->saddr, sizeof(path->local));
		memcpy(path->peer, &sk->sk_v6_daddr, sizeof(path->peer));
#endif
		prefixes_of_v6(dst->dev, path);
	}
	rcu_read_unlock();
	dst_release(dst);
	return true;
}

bool smc_tcp_peer_is_here(const struct sock *sk, const struct smc_tcp_path *path)
{
	struct in6_addr addr;

	memcpy(&addr, path->peer, sizeof(addr));
	return addr_is_here(sk, &addr);
}
