// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP's stream during the CLC exchange, and the ways to end its connection. With the sock's lock: a
 * work item cannot wait for a user's sock, so it takes the lock by smc_sk_try_lock() before.
 */
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/tcp.h"
#include "kernel/compat.h"
#include "kernel/tcp_charge.h"

/* TCP's own callback reports readable bytes, which io_uring trusts. */
static void clc_data_ready(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_all(&wq->wait);
	rcu_read_unlock();
}

/*
 * Put where a sockmap, or KCM, would put its own: these refuse a sock where something is. A sockmap
 * would take the messages, and would save our callback and put it back when the module may be gone.
 */
static const u64 clc_mark __aligned(8);

void smc_tcp_clc_begin(struct sock *sk, struct smc_tcp_clc *saved)
{
	saved->rcvlowat = READ_ONCE(sk->sk_rcvlowat);
	saved->sent = tcp_sk(sk)->snd_nxt;
	saved->received = tcp_sk(sk)->rcv_nxt;
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* Each message is answered by the next one. */
	inet_csk_enter_pingpong_mode(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (!sk->sk_user_data)
		__rcu_assign_sk_user_data_with_flags(sk, &clc_mark, SK_USER_DATA_NOCOPY);
	saved->data_ready = sk->sk_data_ready;
	WRITE_ONCE(sk->sk_data_ready, clc_data_ready);
	write_unlock_bh(&sk->sk_callback_lock);
}

void smc_tcp_clc_end(struct sock *sk, const struct smc_tcp_clc *saved)
{
	WRITE_ONCE(sk->sk_rcvlowat, saved->rcvlowat);
	/* What the user's data will be like, CLC does not tell. */
	inet_csk_exit_pingpong_mode(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_data_ready == clc_data_ready)
		WRITE_ONCE(sk->sk_data_ready, saved->data_ready);
	if (((uintptr_t)sk->sk_user_data & SK_USER_DATA_PTRMASK) == (uintptr_t)&clc_mark)
		rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* TCP asks for this mode just behind the wakeup, and then sends no ACK of its own. */
void smc_tcp_clc_follows(struct sock *sk)
{
	inet_csk_enter_pingpong_mode(sk);
}

bool smc_tcp_quiet(const struct sock *sk)
{
	return skb_queue_empty_lockless(&sk->sk_receive_queue) && !READ_ONCE(sk->sk_err) &&
	       !(READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) &&
	       inet_sk_state_load(sk) == TCP_ESTABLISHED;
}

/* How far an skb of the receive queue has been read. */
static u32 read_of(const struct sock *sk, const struct sk_buff *skb)
{
	const u32 seq = TCP_SKB_CB(skb)->seq + !!(TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN);
	const u32 next = tcp_sk(sk)->copied_seq;

	return before(seq, next) ? min(next - seq, skb->len) : 0;
}

/* An urgent byte counts as any other here: CLC has none. */
static int peek_bytes(struct sock *sk, u8 *buf, size_t len)
{
	const struct sk_buff *skb;
	size_t copied = 0;
	int ret;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		const u32 from = read_of(sk, skb);
		const size_t part = min_t(size_t, skb->len - from, len - copied);

		ret = skb_copy_bits(skb, from, buf + copied, part);
		if (ret)
			return ret;
		copied += part;
		if (copied == len)
			break;
	}
	return copied;
}

int smc_tcp_peek(struct sock *sk, void *buf, size_t len, bool *eof)
{
	int ret = peek_bytes(sk, buf, len);

	*eof = false;
	if (ret < 0)
		return ret;
	if (ret) {
		/* A FIN may follow these bytes. */
		*eof = ret < len && sk->sk_shutdown & RCV_SHUTDOWN;
		return ret;
	}
	if (sk->sk_err)
		return sock_error(sk);
	*eof = sk->sk_shutdown & RCV_SHUTDOWN || sock_flag(sk, SOCK_DONE);
	return *eof || sk->sk_state != TCP_CLOSE ? 0 : -ENOTCONN;
}

static int drop_bytes(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t len)
{
	const size_t part = min(len, desc->count);

	desc->count -= part;
	return part;
}

int smc_tcp_drop(struct sock *sk, size_t len)
{
	read_descriptor_t desc = { .count = len };
	struct tcp_sock *tp = tcp_sk(sk);
	int ret;

	/* The urgent byte is among them; one behind them is the user's. */
	if (tp->urg_data && before(tp->urg_seq, tp->copied_seq + len))
		WRITE_ONCE(tp->urg_data, 0);
	ret = tcp_read_sock(sk, &desc, drop_bytes);
	if (ret < 0)
		return ret;
	return ret < len ? -EPIPE : 0;
}

int smc_tcp_send(struct sock *sk, const void *buf, size_t len)
{
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int ret, nonagle;
	gfp_t allocation;
	u32 tsflags;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	nonagle = tcp_sk(sk)->nonagle;
	tcp_sk(sk)->nonagle = TCP_NAGLE_OFF | TCP_NAGLE_PUSH;
	/* SO_TIMESTAMPING is for the user's own data. */
	tsflags = sk->sk_tsflags;
	WRITE_ONCE(sk->sk_tsflags, 0);
	/* A work item sends, which serves all users. */
	allocation = smc_tcp_atomic_begin(sk);
	ret = tcp_sendmsg_locked(sk, &msg, len);
	smc_tcp_atomic_end(sk, allocation);
	WRITE_ONCE(sk->sk_tsflags, tsflags);
	tcp_sk(sk)->nonagle = nonagle;
	/* There is room: TCP would only wait for memory. */
	if (ret == -EAGAIN || (ret >= 0 && ret < len))
		ret = -ENOBUFS;
	return ret < 0 ? ret : 0;
}

/* ---- Its end -------------------------------------------------------------------- */

void smc_tcp_forget(struct sock *sk)
{
	READ_ONCE(sk->sk_prot)->disconnect(sk, 0);
	WRITE_ONCE(sk->sk_err, 0);
}

void smc_tcp_reset(struct sock *sk, int err)
{
	if (sk->sk_state != TCP_CLOSE)
		READ_ONCE(sk->sk_prot)->disconnect(sk, 0);
	/* Also if the peer reset it before: the CLC exchange has read that error. */
	WRITE_ONCE(sk->sk_err, err);
	sk_error_report(sk);
}

/* A RST leaves the local address in place, disconnect() does not. */
static void disconnect_keeping_name(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);
	const __be32 name = inet->inet_saddr, bound = inet->inet_rcv_saddr;
#if IS_ENABLED(CONFIG_IPV6)
	const bool v6 = sk->sk_family == AF_INET6;
	const struct in6_addr name6 = v6 ? inet6_sk(sk)->saddr : (struct in6_addr){};
	const struct in6_addr bound6 = sk->sk_v6_rcv_saddr;
#endif

	READ_ONCE(sk->sk_prot)->disconnect(sk, 0);
	/* A socket with a port of its own keeps its address. */
	if (inet->inet_num)
		return;
	inet->inet_saddr = name;
	inet->inet_rcv_saddr = bound;
#if IS_ENABLED(CONFIG_IPV6)
	if (v6)
		inet6_sk(sk)->saddr = name6;
	sk->sk_v6_rcv_saddr = bound6;
#endif
}

void smc_tcp_abort(struct sock *sk, int err)
{
	if (sk->sk_state != TCP_CLOSE)
		disconnect_keeping_name(sk);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	WRITE_ONCE(sk->sk_err, err);
	sk->sk_state_change(sk);
	sk_error_report(sk);
}
