/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP calls some functions of a sock by a table for its address family (icsk_af_ops). Socks of ours
 * have copies of these tables, with functions of ours in them. Which copy it is tells what the sock
 * does, so no field of it is needed for that.
 */
#ifndef SMC_KERNEL_TCP_AF_H
#define SMC_KERNEL_TCP_AF_H

#include <net/inet_connection_sock.h>
#include <net/sock.h>

/* What a listener's SYN-ACKs carry: see smc_tcp_limit_handshakes(). */
enum smc_answering {
	SMC_ANSWER_BY_NET,	/* enum smc_hs_limit, in its order */
	SMC_ANSWER_UNLIMITED,
	SMC_ANSWER_LIMITED,
	SMC_ANSWER_NOBODY,
	SMC_ANSWERS
};

enum smc_af_kind {
	SMC_AF_NONE,		/* TCP's own table, or one that somebody else has put there */
	SMC_AF_OFFERING,	/* connects: the option goes on its SYN */
	SMC_AF_CROSSED,		/* the same, and the peer's SYN has crossed its own */
	SMC_AF_LISTENING,	/* this one and the next: one for each enum smc_answering */
	SMC_AF_KINDS = SMC_AF_LISTENING + SMC_ANSWERS
};

/* Any context, without a lock. */
enum smc_af_kind smc_af_kind(const struct sock *sk);
/* TCP's own table of @sk, also while another thread gives it back. */
const struct inet_connection_sock_af_ops *smc_af_base(const struct sock *sk);
/* Gives @sk a copy, in place of @from. False if it has another table. Any context. */
bool smc_af_change(struct sock *sk, enum smc_af_kind from, enum smc_af_kind to);

/* Puts functions of ours into a copy. */
typedef void smc_af_fill_t(enum smc_af_kind kind, struct inet_connection_sock_af_ops *ops);
/* Stores TCP's table for the family of @sk, a fresh sock, and makes the copies. */
void smc_af_learn(const struct sock *sk, smc_af_fill_t *fill);
/*
 * The table by which an IPv6 sock speaks IPv4. It is known after smc_af_learn_mapped(), which
 * sleeps, takes the lock of a sock of the kernel, and finds it only while there is a route to
 * 127.0.0.1.
 */
bool smc_af_knows_mapped(void);
void smc_af_learn_mapped(smc_af_fill_t *fill);
/*
 * Gives a sock of IPv6 that is about to connect by IPv4 what TCP would give it, with the copy for
 * those that offer; and what TCP gives it back if connecting fails. With the sock's lock.
 */
void smc_af_offer_mapped(struct sock *sk);
void smc_af_offer_v6(struct sock *sk);

#endif
