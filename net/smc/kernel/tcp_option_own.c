// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option where TCP knows nothing of it. Only socks of ours are touched, by functions in copies
 * of TCP's tables (tcp_af.h):
 *
 *   connects   queue_xmit puts the option on the SYN, sk_rx_dst_set looks at the SYN-ACK and gives
 *              the table back; whether it is there stays in rx_opt.smc_ok, which TCP has left out
 *   listens    conn_request looks at the SYN, tcp_synack.c puts the option on the SYN-ACK, and
 *              syn_recv_sock sets smc_ok in the child
 */
#include <linux/compiler.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/callbacks/tcp.h"
#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"
#include "kernel/stages.h"
#include "kernel/tcp_option.h"

#ifdef SMC_OPTION_IS_OURS

/* ---- A sock that connects ----------------------------------------------------------- */

/*
 * TCP has put the sum over the pseudo header where the checksum goes: over a length that is longer
 * now.
 */
static void adjust_checksum(struct sk_buff *skb)
{
	struct tcphdr *th = tcp_hdr(skb);

	th->check = csum16_add(th->check, htons(SMC_TCP_OPTION_BYTES));
	skb->csum_start = skb_transport_header(skb) - skb->head;
}

static int send_offer(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	const struct tcphdr *th = tcp_hdr(skb);

	/*
	 * A SYN has come instead of a SYN-ACK, and this is the answer. TCP has just read the
	 * options, and tells whether there was one that it does not know.
	 */
	if (th->syn && th->ack)
		smc_af_change(sk, SMC_AF_OFFERING,
			      tcp_sk(sk)->rx_opt.saw_unknown ? SMC_AF_CROSSED : SMC_AF_NONE);
	if (th->syn && smc_af_kind(sk) != SMC_AF_NONE) {
		if (skb->ip_summed == CHECKSUM_PARTIAL && smc_option_put(skb))
			adjust_checksum(skb);
		else
			smc_tcp_withdraw(sk);
	}
	return smc_af_base(sk)->queue_xmit(sk, skb, fl);
}

/* TCP calls this with the SYN-ACK before it wakes anybody, and with later packets. */
static void see_answer(struct sock *sk, const struct sk_buff *skb)
{
	const struct tcphdr *th = tcp_hdr(skb);

	if (sk->sk_state == TCP_ESTABLISHED && th->syn && th->ack &&
	    smc_af_change(sk, SMC_AF_OFFERING, SMC_AF_NONE))
		tcp_sk(sk)->rx_opt.smc_ok = smc_option_is_in(th);
	smc_af_base(sk)->sk_rx_dst_set(sk, skb);
}

void smc_option_fill_offering(struct inet_connection_sock_af_ops *ops)
{
	ops->queue_xmit = send_offer;
	ops->sk_rx_dst_set = see_answer;
}

void smc_tcp_offer(struct sock *sk)
{
	/*
	 * A listener has its table already. TCP clears smc_ok when a sock is disconnected, and so
	 * before each connect() that can do anything.
	 */
	if (sk->sk_state != TCP_CLOSE || smc_af_kind(sk) >= SMC_AF_LISTENING)
		return;
	smc_tcp_give_back_af(sk);
	smc_af_change(sk, SMC_AF_NONE, SMC_AF_OFFERING);
}

void smc_tcp_withdraw(struct sock *sk)
{
	smc_tcp_give_back_af(sk);
}

bool smc_tcp_offers(const struct sock *sk)
{
	return smc_af_is_ours(sk);
}

bool smc_tcp_agreed(const struct sock *sk)
{
	return tcp_sk(sk)->rx_opt.smc_ok;
}

enum smc_tcp_opened smc_tcp_opened(const struct sock *sk)
{
	if (smc_tcp_agreed(sk))
		return SMC_TCP_OPENED;
	if (smc_af_kind(sk) != SMC_AF_CROSSED)
		return SMC_TCP_OPENED_PLAIN;
	return smc_tcp_is_own_peer(sk) ? SMC_TCP_OPENED_SELF : SMC_TCP_OPENED_CROSSED;
}

bool smc_tcp_sees_crossed_option(void)
{
	return false;
}

/* ---- A listener --------------------------------------------------------------------- */

int smc_option_take_syn(struct sock *listener, struct sk_buff *syn)
{
	const enum smc_af_kind kind = smc_af_kind(listener);
	const bool answer = kind >= SMC_AF_LISTENING && smc_option_is_in(tcp_hdr(syn)) &&
			    smc_listener_answers(listener, syn, kind - SMC_AF_LISTENING);
	int ret;

	if (answer)
		smc_synack_answer(syn);
	ret = smc_af_base(listener)->conn_request(listener, syn);
	if (answer)
		smc_synack_answer(NULL);
	return ret;
}

void smc_option_set_answering(struct sock *listener, enum smc_answering answering)
{
	enum smc_answering before;

	/* One of these, unless it does not listen any more. */
	for (before = SMC_ANSWER_BY_NET; before < SMC_ANSWERS; before++)
		if (smc_af_change(listener, SMC_AF_LISTENING + before,
				  SMC_AF_LISTENING + answering))
			break;
}

bool smc_option_is_left_in(const struct sock *listener)
{
	return smc_af_kind(listener) >= SMC_AF_LISTENING;
}

void smc_option_init_child(struct sock *child, const struct request_sock *req, bool hashed)
{
	/* What a request of a SYN cookie says is left over from another one. */
	tcp_sk(child)->rx_opt.smc_ok = hashed && smc_synack_answered(req);
}

/* The table is all there is. */
void smc_option_clean(struct sock *sk)
{
}

/* ---- Setup ---------------------------------------------------------------------------- */

int __init smc_tcp_setup(void)
{
	return smc_synack_setup();
}

void smc_tcp_teardown(void)
{
	smc_synack_teardown();
	/* A function of ours that TCP has found in a table may still run. */
	synchronize_rcu();
}

#endif
