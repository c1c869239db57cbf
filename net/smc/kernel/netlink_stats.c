// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: dumps of counters and fallback reasons.
 */
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/stats.h"
#include "kernel/netlink.h"
#include "kernel/pernet.h"

/* One counter of a technology and the attribute that carries it. */
struct smc_nl_stat_attr {
	int attr;
	u32 stat;
};

static const struct smc_nl_stat_attr smc_nl_size_nests[] = {
	{ SMC_NL_TECH_TX_BUF_SIZE, SMC_TS_TX_BUF_SIZE },
	{ SMC_NL_TECH_RX_BUF_SIZE, SMC_TS_RX_BUF_SIZE },
	{ SMC_NL_TECH_TX_PAYLOAD, SMC_TS_TX_PAYLOAD },
	{ SMC_NL_TECH_RX_PAYLOAD, SMC_TS_RX_PAYLOAD },
};

static const struct smc_nl_stat_attr smc_nl_buf_nests[] = {
	{ SMC_NL_TECH_TX_BUF, SMC_TS_TX_BUF },
	{ SMC_NL_TECH_RX_BUF, SMC_TS_RX_BUF },
};

static const struct smc_nl_stat_attr smc_nl_tech_u64[] = {
	{ SMC_NL_TECH_CLNT_V1, SMC_TS_CLNT_V1 },
	{ SMC_NL_TECH_CLNT_V2, SMC_TS_CLNT_V2 },
	{ SMC_NL_TECH_SRV_V1, SMC_TS_SRV_V1 },
	{ SMC_NL_TECH_SRV_V2, SMC_TS_SRV_V2 },
	{ SMC_NL_TECH_SPLICE, SMC_TS_SPLICE },
	{ SMC_NL_TECH_CORK, SMC_TS_CORK },
	{ SMC_NL_TECH_NODELAY, SMC_TS_NODELAY },
	{ SMC_NL_TECH_URGENT, SMC_TS_URGENT },
	{ SMC_NL_TECH_RX_BYTES, SMC_TS_RX_BYTES },
	{ SMC_NL_TECH_TX_BYTES, SMC_TS_TX_BYTES },
	{ SMC_NL_TECH_RX_CALLS, SMC_TS_RX_CALLS },
	{ SMC_NL_TECH_TX_CALLS, SMC_TS_TX_CALLS },
};

/* The PAD attribute is number 0 in each of the nests. */
static int smc_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	BUILD_BUG_ON(SMC_NL_TECH_PAD || SMC_NL_SIZE_PAD || SMC_NL_BUF_PAD ||
		     SMC_NL_STATS_PAD || SMC_NL_FBACK_PAD);
	return nla_put_u64_64bit(skb, attr, value, 0);
}

/* @num counters from @index on, as attributes 1, 2, ... of the nest @attr. */
static int smc_nl_put_run(struct sk_buff *skb, struct net *net, int attr, u32 index, u32 num)
{
	struct nlattr *nest;
	u32 i;

	nest = nla_nest_start(skb, attr);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < num; i++) {
		if (smc_nl_put_u64(skb, i + 1, smc_stat_read(net, index + i)))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int smc_nl_put_tech(struct sk_buff *skb, struct net *net, int attr, u32 tech)
{
	const struct smc_nl_stat_attr *row;
	struct nlattr *nest;
	int i;

	BUILD_BUG_ON(SMC_NL_SIZE_LAST != SMC_STAT_SIZES);
	BUILD_BUG_ON(SMC_BUF_SIZE_SMALL_PEER + 1 != SMC_NL_BUF_SIZE_SMALL_PEER);
	BUILD_BUG_ON(SMC_BUF_STATS + 1 != SMC_NL_BUF_END);

	nest = nla_nest_start(skb, attr);
	if (!nest)
		return -EMSGSIZE;

	for (i = 0; i < ARRAY_SIZE(smc_nl_buf_nests); i++) {
		row = &smc_nl_buf_nests[i];
		if (smc_nl_put_run(skb, net, row->attr, SMC_STAT_OF(tech, row->stat),
				   SMC_BUF_STATS))
			return -EMSGSIZE;
	}
	for (i = 0; i < ARRAY_SIZE(smc_nl_size_nests); i++) {
		row = &smc_nl_size_nests[i];
		if (smc_nl_put_run(skb, net, row->attr, SMC_STAT_OF(tech, row->stat),
				   SMC_STAT_SIZES))
			return -EMSGSIZE;
	}
	for (i = 0; i < ARRAY_SIZE(smc_nl_tech_u64); i++) {
		row = &smc_nl_tech_u64[i];
		if (smc_nl_put_u64(skb, row->attr,
				   smc_stat_read(net, SMC_STAT_OF(tech, row->stat))))
			return -EMSGSIZE;
	}
	/* sendfile() arrives as sendmsg(); there is no call of its own to count. */
	if (smc_nl_put_u64(skb, SMC_NL_TECH_SENDPAGE, 0) ||
	    smc_nl_put_uint(skb, SMC_NL_TECH_RX_BUF_USAGE,
			    smc_stat_read(net, SMC_STAT_OF(tech, SMC_TS_RX_BUF_USAGE))) ||
	    smc_nl_put_uint(skb, SMC_NL_TECH_TX_BUF_USAGE,
			    smc_stat_read(net, SMC_STAT_OF(tech, SMC_TS_TX_BUF_USAGE))))
		return -EMSGSIZE;

	nla_nest_end(skb, nest);
	return 0;
}

static int smc_nl_put_stats(struct sk_buff *skb, struct net *net)
{
	if (smc_nl_put_tech(skb, net, SMC_NL_STATS_SMCD, SMC_TECH_D) ||
	    smc_nl_put_tech(skb, net, SMC_NL_STATS_SMCR, SMC_TECH_R) ||
	    smc_nl_put_u64(skb, SMC_NL_STATS_CLNT_HS_ERR,
			   smc_stat_read(net, SMC_STAT_CLNT_HS_ERR)) ||
	    smc_nl_put_u64(skb, SMC_NL_STATS_SRV_HS_ERR,
			   smc_stat_read(net, SMC_STAT_SRV_HS_ERR)))
		return -EMSGSIZE;
	return 0;
}

int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct smc_nl_message message;

	if (ctx->done)
		return skb->len;
	if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_STATS, SMC_NL_A_STATS) ||
	    smc_nl_message_end(&message, smc_nl_put_stats(skb, sock_net(skb->sk))))
		return -EMSGSIZE;
	ctx->done = true;
	return skb->len;
}

/* How the counter of reasons without a slot of their own shows up. */
#define SMC_NL_REASON_OTHER U32_MAX

/* One reason of one role; @totals: with the sums, in the first message. */
static int smc_nl_put_reason(struct sk_buff *skb, struct net *net, bool server, u32 reason,
			     u64 count, bool totals)
{
	if (nla_put_u8(skb, SMC_NL_FBACK_TYPE, server))
		return -EMSGSIZE;
	if (totals &&
	    (smc_nl_put_u64(skb, SMC_NL_FBACK_SRV_CNT,
			    smc_stat_read(net, SMC_STAT_FALLBACK_SRV)) ||
	     smc_nl_put_u64(skb, SMC_NL_FBACK_CLNT_CNT,
			    smc_stat_read(net, SMC_STAT_FALLBACK_CLNT))))
		return -EMSGSIZE;
	if (nla_put_u32(skb, SMC_NL_FBACK_RSN_CODE, reason) ||
	    nla_put_u16(skb, SMC_NL_FBACK_RSN_CNT, min_t(u64, count, U16_MAX)) ||
	    smc_nl_put_u64(skb, SMC_NL_FBACK_RSN_CNT64, count))
		return -EMSGSIZE;
	return 0;
}

/* Every slot and "other" of the server, then of the client. */
#define SMC_NL_REASON_SLOTS (SMC_FALLBACK_REASONS + 1)

/* False: nothing in that slot. */
static bool smc_nl_reason_at(struct net *net, u32 position, bool *server, u32 *reason, u64 *count)
{
	u32 slot = position % SMC_NL_REASON_SLOTS;

	*server = position < SMC_NL_REASON_SLOTS;
	*count = smc_stat_read(net, (*server ? SMC_STAT_REASON_SRV : SMC_STAT_REASON_CLNT) + slot);
	if (slot == SMC_FALLBACK_REASONS) {
		*reason = SMC_NL_REASON_OTHER;
		return *count;
	}
	return smc_ctl_fallback_reason(net, *server, slot, reason);
}

int smc_nl_dump_fback_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	struct smc_nl_message message;
	bool server;
	u32 reason;
	u64 count;

	for (; ctx->position < 2 * SMC_NL_REASON_SLOTS; ctx->position++) {
		if (!smc_nl_reason_at(net, ctx->position, &server, &reason, &count))
			continue;
		if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_FBACK_STATS,
					 SMC_NL_A_FBACK_STATS) ||
		    smc_nl_message_end(&message, smc_nl_put_reason(skb, net, server, reason,
								   count, !ctx->done)))
			return smc_nl_full(skb);
		ctx->done = true;
	}
	return skb->len;
}
