// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a listener's SYN-ACK has the option: not when too many wait, nor against a rule.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/tcp_option.h"

static bool client_is_allowed(const struct sock *listener, const struct sk_buff *syn)
{
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

/* How many connections may be in the queues of @listener. */
static u32 room(const struct sock *listener, enum smc_answering answering)
{
	bool limited = answering == SMC_ANSWER_LIMITED;

	if (answering == SMC_ANSWER_BY_NET)
		limited = smc_sysctl_limit_smc_hs(sock_net(listener));
	return limited ? min_t(u32, SMC_TCP_QUEUE_MAX, READ_ONCE(listener->sk_max_ack_backlog))
		       : SMC_TCP_QUEUE_MAX;
}

bool smc_listener_answers(const struct sock *listener, const struct sk_buff *syn,
			  enum smc_answering answering)
{
	const u32 queued = READ_ONCE(listener->sk_ack_backlog) +
			   inet_csk_reqsk_queue_len(listener);

	if (answering == SMC_ANSWER_NOBODY || queued > room(listener, answering)) {
		smc_stat_inc(sock_net(listener), SMC_STAT_HS_LIMITED);
		return false;
	}
	return client_is_allowed(listener, syn);
}
