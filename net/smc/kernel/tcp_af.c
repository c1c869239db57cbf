// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "kernel/sock_ops.h"
#include "kernel/tcp_af.h"
#include "kernel/tcp_option.h"

/* MAPPED: an IPv6 sock that speaks IPv4. */
enum table_family { V4, V6, MAPPED, FAMILIES };

static const struct inet_connection_sock_af_ops *base[FAMILIES];
/* Those of the last one are made when such a sock is met; no reader sees them before base[]. */
static struct inet_connection_sock_af_ops copies[FAMILIES][SMC_AF_KINDS];

static bool is_copy(const struct inet_connection_sock_af_ops *ops)
{
	return (uintptr_t)ops - (uintptr_t)copies < sizeof(copies);
}

static enum table_family family_of_copy(const struct inet_connection_sock_af_ops *ops)
{
	return ((uintptr_t)ops - (uintptr_t)copies) / sizeof(copies[0]);
}

static enum smc_af_kind kind_of(const struct inet_connection_sock_af_ops *ops)
{
	return is_copy(ops) ? ops - copies[family_of_copy(ops)] : SMC_AF_NONE;
}

/* FAMILIES for a table that is neither TCP's nor a copy, or not known yet. */
static enum table_family family_of(const struct inet_connection_sock_af_ops *ops)
{
	enum table_family family;

	if (is_copy(ops))
		return family_of_copy(ops);
	for (family = V4; family < FAMILIES; family++)
		/* With the copies: see copy(). */
		if (smp_load_acquire(&base[family]) == ops)
			break;
	return family;
}

#ifdef SMC_OPTION_IS_OURS
enum smc_af_kind smc_af_kind(const struct sock *sk)
{
	return kind_of(READ_ONCE(inet_csk(sk)->icsk_af_ops));
}
#endif

const struct inet_connection_sock_af_ops *smc_af_base(const struct sock *sk)
{
	const struct inet_connection_sock_af_ops *ops = READ_ONCE(inet_csk(sk)->icsk_af_ops);

	return is_copy(ops) ? base[family_of_copy(ops)] : ops;
}

bool smc_af_change(struct sock *sk, enum smc_af_kind from, enum smc_af_kind to)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct inet_connection_sock_af_ops *ops = READ_ONCE(icsk->icsk_af_ops);
	const enum table_family family = family_of(ops);

	if (family == FAMILIES || kind_of(ops) != from)
		return false;
	return cmpxchg(&icsk->icsk_af_ops, ops,
		       to == SMC_AF_NONE ? base[family] : &copies[family][to]) == ops;
}

bool smc_af_is_ours(const struct sock *sk)
{
	return is_copy(READ_ONCE(inet_csk(sk)->icsk_af_ops));
}

void smc_tcp_give_back_af(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct inet_connection_sock_af_ops *ops = READ_ONCE(icsk->icsk_af_ops);

	/* Another thread may change one copy for another one. */
	while (is_copy(ops)) {
		const struct inet_connection_sock_af_ops *found =
			cmpxchg(&icsk->icsk_af_ops, ops, base[family_of_copy(ops)]);

		if (found == ops)
			break;
		ops = found;
	}
}

#if defined(CONFIG_TCP_MD5SIG) || defined(CONFIG_TCP_AO)
#define SIGNATURES
static const struct tcp_sock_af_ops *signatures[FAMILIES];
#endif

static void copy(enum table_family family, const struct sock *sk, smc_af_fill_t *fill)
{
	const struct inet_connection_sock_af_ops *ops = inet_csk(sk)->icsk_af_ops;
	enum smc_af_kind kind;

	for (kind = SMC_AF_OFFERING; kind < SMC_AF_KINDS; kind++) {
		struct inet_connection_sock_af_ops *into = &copies[family][kind];

		*into = *ops;
		fill(kind, into);
	}
#ifdef SIGNATURES
	signatures[family] = tcp_sk(sk)->af_specific;
#endif
	/* Behind the copies: whoever knows the table may use them. */
	smp_store_release(&base[family], ops);
}

void smc_af_learn(const struct sock *sk, smc_af_fill_t *fill)
{
	copy(sk->sk_family == AF_INET6 ? V6 : V4, sk, fill);
}

#if defined(SMC_OPTION_IS_OURS) && IS_ENABLED(CONFIG_IPV6)

bool smc_af_knows_mapped(void)
{
	/* With the copies: see copy(). */
	return smp_load_acquire(&base[MAPPED]);
}

/*
 * TCP has that table for itself. A sock that is being repaired connects without a packet, and
 * shows it.
 */
static void ask_tcp(struct sock *sk, smc_af_fill_t *fill)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(9) };

	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &to.sin6_addr);
	tcp_sk(sk)->repair = 1;
	if (sk->sk_prot->connect(sk, (void *)&to, sizeof(to)))
		return;
	copy(MAPPED, sk, fill);
	sk->sk_prot->disconnect(sk, 0);
}

void smc_af_learn_mapped(smc_af_fill_t *fill)
{
	static DEFINE_MUTEX(lock);
	struct socket *sock;

	mutex_lock(&lock);
	if (!base[MAPPED] && base[V6] &&
	    !sock_create_kern(&init_net, PF_INET6, SOCK_STREAM, IPPROTO_TCP, &sock)) {
		lock_sock(sock->sk);
		ask_tcp(sock->sk, fill);
		release_sock(sock->sk);
		sock_release(sock);
	}
	mutex_unlock(&lock);
}

static void offer_by(struct sock *sk, enum table_family family, const struct proto *prot)
{
	WRITE_ONCE(inet_csk(sk)->icsk_af_ops, &copies[family][SMC_AF_OFFERING]);
	sk->sk_backlog_rcv = prot->backlog_rcv;
#ifdef SIGNATURES
	tcp_sk(sk)->af_specific = signatures[family];
#endif
}

void smc_af_offer_mapped(struct sock *sk)
{
	offer_by(sk, MAPPED, &tcp_prot);
}

void smc_af_offer_v6(struct sock *sk)
{
	offer_by(sk, V6, &tcpv6_prot);
}

#endif
