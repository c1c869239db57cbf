/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files that speak generic netlink: netlink.c has the family
 * SMC_GEN_NETLINK and its small commands, netlink_dump.c its larger dumps,
 * netlink_pnet.c the family SMC_PNETID.
 */
#ifndef SMC_KERNEL_NETLINK_H
#define SMC_KERNEL_NETLINK_H

#include <net/genetlink.h>

extern struct genl_family smc_gen_family;
extern struct genl_family smc_pnet_family;

/* Where a dump goes on; lives in the callback's zeroed context. */
struct smc_nl_dump_ctx {
	u64 cursor;
	u32 position;
	bool done;
};

static inline struct smc_nl_dump_ctx *smc_nl_dump_ctx(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct smc_nl_dump_ctx) > sizeof(cb->ctx));
	return (struct smc_nl_dump_ctx *)cb->ctx;
}

/* Starts one message of a dump; NULL if the buffer is full. */
static inline void *smc_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
				    struct genl_family *family, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, family,
			   NLM_F_MULTI, cmd);
}

int smc_nl_dump_lgr_smcr(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_link_smcr(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_lgr_smcd(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_dev_smcr(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_fback_stats(struct sk_buff *skb, struct netlink_callback *cb);

#endif
