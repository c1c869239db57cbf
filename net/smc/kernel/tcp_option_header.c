// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option in a TCP header, where TCP does not write it.
 */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>

#include "kernel/abi/callbacks/tcp.h"
#include "kernel/tcp_option.h"

#ifdef SMC_OPTION_IS_OURS

#define HEADER_BYTES_MAX 60

static const u8 *options_of(const struct tcphdr *th)
{
	return (const u8 *)(th + 1);
}

/* TCP has looked at doff, and at the length of the packet. */
static size_t options_bytes(const struct tcphdr *th)
{
	return th->doff * 4 - sizeof(*th);
}

bool smc_option_is_in(const struct tcphdr *th)
{
	return smc_op_tcp_option_is_there(options_of(th), options_bytes(th));
}

bool smc_option_put(struct sk_buff *skb)
{
	const struct tcphdr *th = (const struct tcphdr *)skb->data;
	const unsigned int header_bytes = th->doff * 4;
	u8 *header;

	/* What comes below TCP takes its headroom without asking; MAX_TCP_HEADER has enough. */
	if (header_bytes + SMC_TCP_OPTION_BYTES > HEADER_BYTES_MAX ||
	    skb_headroom(skb) < MAX_HEADER + SMC_TCP_OPTION_BYTES ||
	    smc_op_tcp_options_are_signed(options_of(th), options_bytes(th)))
		return false;
	header = skb_push(skb, SMC_TCP_OPTION_BYTES);
	memmove(header, header + SMC_TCP_OPTION_BYTES, header_bytes);
	skb_reset_transport_header(skb);
	tcp_hdr(skb)->doff += SMC_TCP_OPTION_BYTES / 4;
	smc_op_tcp_option_write(header + header_bytes);
	return true;
}

#endif
