/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of generic netlink: netlink_pnet.c has the family SMC_PNETID, the others have
 * SMC_GEN_NETLINK.
 */
#ifndef SMC_KERNEL_NETLINK_H
#define SMC_KERNEL_NETLINK_H

#include <net/genetlink.h>

/* netlink_pnet.c */
extern struct genl_family smc_pnet_family;
/* netlink_put.c */
extern struct genl_family smc_gen_family;

/* Position of a dump; lives in the callback's zeroed context. */
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

/* netlink_put.c */
/* The first step of each dump. */
int smc_nl_dump_begin(struct netlink_callback *cb);
/* One message of a dump of SMC_GEN_NETLINK, with all its attributes in one nest. */
struct smc_nl_message {
	struct sk_buff *skb;
	void *hdr;
	struct nlattr *nest;
};

/* -EMSGSIZE: the buffer is full, and nothing was put there. */
int smc_nl_message_begin(struct smc_nl_message *message, struct sk_buff *skb,
			 struct netlink_callback *cb, u8 cmd, int attr);
/* @err: the result of filling it; unless 0 the message is removed. Returns @err. */
int smc_nl_message_end(struct smc_nl_message *message, int err);
/*
 * The result of a dump when an object did not fit. If it does not fit into an empty buffer either,
 * repeating the dump would loop for ever.
 */
int smc_nl_full(const struct sk_buff *skb);
/* Not on every kernel: an unsigned integer of 4 bytes if these suffice, or 8. */
int smc_nl_put_uint(struct sk_buff *skb, int attr, u64 value);
/* A padded field as a string; @trim: without the padding. */
int smc_nl_put_field(struct sk_buff *skb, int attr, const u8 *field, size_t len, bool trim);

/* netlink_group.c */
int smc_nl_dump_lgr_smcr(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_link_smcr(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_lgr_smcd(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_device.c */
int smc_nl_dump_dev_smcr(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_stats.c */
int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb);
int smc_nl_dump_fback_stats(struct sk_buff *skb, struct netlink_callback *cb);

#endif
