// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option where TCP itself writes and reads it (kernels built with CONFIG_SMC), and only has to
 * be told.
 */
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/tcp.h"
#include "kernel/stages.h"
#include "kernel/tcp_option.h"

#ifndef SMC_OPTION_IS_OURS

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

bool smc_tcp_offers(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

bool smc_tcp_agreed(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

enum smc_tcp_opened smc_tcp_opened(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* A SYN-ACK without the option clears syn_smc; a SYN does not. */
	if (!READ_ONCE(tp->syn_smc) || !tp->rx_opt.smc_ok)
		return SMC_TCP_OPENED_PLAIN;
	if (smc_tcp_is_own_peer(sk))
		return SMC_TCP_OPENED_SELF;
	/*
	 * tcp_finish_connect(), which a SYN-ACK leads to, sets lrcvtime, as if data had come. By
	 * way of SYN_RECV it stays 0 until data come.
	 */
	if (!READ_ONCE(inet_csk(sk)->icsk_ack.lrcvtime))
		return SMC_TCP_OPENED_CROSSED;
	return SMC_TCP_OPENED;
}

bool smc_tcp_sees_crossed_option(void)
{
	return true;
}

void smc_tcp_hold_answers(void)
{
}

void smc_tcp_drop_answers(void)
{
}

/* No sock offers by its table. */
void smc_option_fill_offering(struct inet_connection_sock_af_ops *ops)
{
}

/*
 * The SYN that this CPU takes, for the calls below. SYNs are taken with softirqs off, one at a
 * time.
 */
static DEFINE_PER_CPU(const struct sk_buff *, smc_syn);

int smc_option_take_syn(struct sock *listener, struct sk_buff *syn)
{
	int ret;

	this_cpu_write(smc_syn, syn);
	ret = smc_af_base(listener)->conn_request(listener, syn);
	this_cpu_write(smc_syn, NULL);
	return ret;
}

/* TCP calls these at each SYN with the option, without the listener's lock. */
static bool congested_by_net(const struct sock *listener)
{
	return !smc_listener_answers(listener, this_cpu_read(smc_syn), SMC_ANSWER_BY_NET);
}

static bool congested_beyond_memory(const struct sock *listener)
{
	return !smc_listener_answers(listener, this_cpu_read(smc_syn), SMC_ANSWER_UNLIMITED);
}

static bool congested_beyond_backlog(const struct sock *listener)
{
	return !smc_listener_answers(listener, this_cpu_read(smc_syn), SMC_ANSWER_LIMITED);
}

static bool always_congested(const struct sock *listener)
{
	return !smc_listener_answers(listener, this_cpu_read(smc_syn), SMC_ANSWER_NOBODY);
}

void smc_option_set_answering(struct sock *listener, enum smc_answering answering)
{
	static bool (*const congested[])(const struct sock *listener) = {
		[SMC_ANSWER_BY_NET] = congested_by_net,
		[SMC_ANSWER_UNLIMITED] = congested_beyond_memory,
		[SMC_ANSWER_LIMITED] = congested_beyond_backlog,
		[SMC_ANSWER_NOBODY] = always_congested,
	};

	/* Not back to NULL while it listens: TCP reads it twice. */
	WRITE_ONCE(tcp_sk(listener)->smc_hs_congested, congested[answering]);
}

bool smc_option_is_left_in(const struct sock *listener)
{
	return READ_ONCE(tcp_sk(listener)->smc_hs_congested);
}

/* TCP has told it by syn_smc what was agreed. */
void smc_option_init_child(struct sock *child, const struct request_sock *req, bool hashed)
{
	smc_option_clean(child);
}

void smc_option_clean(struct sock *sk)
{
	WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
}

#endif
