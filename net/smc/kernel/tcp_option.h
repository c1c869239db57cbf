/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The option on SYN and SYN-ACK (RFC 7609 section 3.1), written and read in one of two ways:
 *
 *   tcp_option_tcps.c  TCP does it, and is only told (kernels with CONFIG_SMC)
 *   tcp_option_own.c   this module does it
 *
 * These are the functions in which the two differ, beside those of kernel/abi/tcp.h.
 */
#ifndef SMC_KERNEL_TCP_OPTION_H
#define SMC_KERNEL_TCP_OPTION_H

#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/request_sock.h>
#include <net/sock.h>

#include "kernel/abi/tcp_listener.h"
#include "kernel/tcp_af.h"

/* SMC_OWN_OPTION: told to `make`, so that both ways can be tried on one kernel. */
#if !defined(HAVE_TCP_SMC_OPTION) || defined(SMC_OWN_OPTION)
#define SMC_OPTION_IS_OURS
#endif

/* Puts the functions for a sock that offers into its table. */
void smc_option_fill_offering(struct inet_connection_sock_af_ops *ops);
/* conn_request of a listener's table: a SYN has come. Softirqs off, without the listener's lock. */
int smc_option_take_syn(struct sock *listener, struct sk_buff *syn);
/* Keeps in a listener whose SYNs it answers with the option. Any context. */
void smc_option_set_answering(struct sock *listener, enum smc_answering answering);
/* True if children inherit what the above has left in @listener. */
bool smc_option_is_left_in(const struct sock *listener);
/*
 * Takes it out of a child that nobody else has seen, and keeps in it what @req agreed on. @hashed:
 * @req has been where TCP keeps requests, so it is not one made from a SYN cookie.
 */
void smc_option_init_child(struct sock *child, const struct request_sock *req, bool hashed);
/* Takes it out of a sock that does not listen any more. */
void smc_option_clean(struct sock *sk);

/* ---- tcp_answer.c, tcp_listener.c, tcp_tables.c: for both ways --------------------- */

/* True if the option goes on the answer to @syn, which has it. Context as of take_syn. */
bool smc_listener_answers(const struct sock *listener, const struct sk_buff *syn,
			  enum smc_answering answering);
#ifdef HAVE_SYN_RECV_SOCK_CHILD_INIT
struct sock *smc_listener_make_child(const struct sock *listener, struct sk_buff *skb,
				     struct request_sock *req, struct dst_entry *dst,
				     struct request_sock *unhash, bool *own_req,
				     void (*complete)(struct sock *child,
						      const struct sock *listener));
#else
struct sock *smc_listener_make_child(const struct sock *listener, struct sk_buff *skb,
				     struct request_sock *req, struct dst_entry *dst,
				     struct request_sock *unhash, bool *own_req);
#endif

void smc_tables_fill(enum smc_af_kind kind, struct inet_connection_sock_af_ops *ops);

/* ---- tcp.c ------------------------------------------------------------------------ */

/* A sock that has connected to its own address and port. */
bool smc_tcp_is_own_peer(const struct sock *sk);

/* ---- tcp_synack.c, tcp_option_header.c, tcp_mapped.c: parts of tcp_option_own.c ------ */

/* The SYN that this CPU takes is to be answered with the option; NULL when that is over. */
void smc_synack_answer(const struct sk_buff *syn);
/* True if the last SYN-ACK that was sent for @req had the option. */
bool smc_synack_answered(const struct request_sock *req);
int smc_synack_setup(void);
void smc_synack_teardown(void);

/* True if the option is in a header that TCP has looked at. */
bool smc_option_is_in(const struct tcphdr *th);
/*
 * Puts the option behind those of a TCP header at skb->data. The checksum is the caller's. False if
 * there is no room, or the header is signed.
 */
bool smc_option_put(struct sk_buff *skb);

/*
 * An IPv6 sock that offers, and connects by IPv4, goes on offering. Around a call of
 * __inet_stream_connect(), with the sock's lock.
 */
#if defined(SMC_OPTION_IS_OURS) && IS_ENABLED(CONFIG_IPV6)
void smc_mapped_begin(struct sock *sk, const struct sockaddr *addr, int length);
void smc_mapped_end(struct sock *sk);
void smc_mapped_setup(void);
#else
static inline void smc_mapped_begin(struct sock *sk, const struct sockaddr *addr, int length)
{
}

static inline void smc_mapped_end(struct sock *sk)
{
}

static inline void smc_mapped_setup(void)
{
}
#endif

#endif
