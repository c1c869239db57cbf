// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_PNETID: the PNET table of a network namespace.
 */
#include <linux/if.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/callbacks/verbs.h"
#include "kernel/abi/control.h"
#include "kernel/compat.h"
#include "kernel/netlink.h"

/* In replies, for the part that an entry does not have. */
#define SMC_PNET_ABSENT "n/a"
#define SMC_PNET_ABSENT_PORT 0xff

static int smc_pnet_put_attrs(struct sk_buff *skb, const struct smc_pnet_entry *entry)
{
	const char *eth = entry->is_ib ? SMC_PNET_ABSENT : entry->dev_name;
	const char *ib = entry->is_ib ? entry->dev_name : SMC_PNET_ABSENT;
	u8 port = entry->is_ib ? entry->ib_port : SMC_PNET_ABSENT_PORT;

	if (nla_put_string(skb, SMC_NL_PNET_A_NAME, entry->pnetid) ||
	    nla_put_string(skb, SMC_NL_PNET_A_ETH, eth) ||
	    nla_put_string(skb, SMC_NL_PNET_A_IB, ib) ||
	    nla_put_u8(skb, SMC_NL_PNET_A_IB_PORT, port))
		return -EMSGSIZE;
	return 0;
}

/* All entries behind *@cursor, or those of @pnetid, as far as they fit. */
static int smc_pnet_put_entries(struct sk_buff *skb, u32 portid, u32 seq, struct net *net,
				const char *pnetid, u64 *cursor)
{
	struct smc_pnet_entry entry;
	u64 next = *cursor;
	void *hdr;

	while (smc_ctl_pnet_next(net, pnetid, &next, &entry) > 0) {
		hdr = genlmsg_put(skb, portid, seq, &smc_pnet_family, NLM_F_MULTI,
				  SMC_NL_PNET_GET);
		if (!hdr)
			return -EMSGSIZE;
		if (smc_pnet_put_attrs(skb, &entry)) {
			genlmsg_cancel(skb, hdr);
			return -EMSGSIZE;
		}
		genlmsg_end(skb, hdr);
		*cursor = next;
	}
	return 0;
}

static int smc_pnet_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	smc_pnet_put_entries(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			     sock_net(skb->sk), NULL, &smc_nl_dump_ctx(cb)->cursor);
	return skb->len;
}

/* The entries of one PNET ID, as one multipart answer with its end in it. */
static int smc_pnet_get(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[SMC_NL_PNET_A_NAME];
	size_t size = NLMSG_DEFAULT_SIZE;
	struct sk_buff *msg;
	u64 cursor;
	int ret;

	if (!name)
		return -EINVAL;

	/* The table is bounded, and so is this. */
	for (;; size *= 2) {
		msg = nlmsg_new(size, GFP_KERNEL);
		if (!msg)
			return -ENOMEM;
		cursor = 0;
		ret = smc_pnet_put_entries(msg, info->snd_portid, info->snd_seq,
					   genl_info_net(info), nla_data(name), &cursor);
		if (!ret && nlmsg_put(msg, info->snd_portid, info->snd_seq, NLMSG_DONE, 0,
				      NLM_F_MULTI))
			return genlmsg_reply(msg, info);
		nlmsg_free(msg);
		if (size > SZ_1M)
			return -EMSGSIZE;
	}
}

static const char *smc_pnet_string(struct nlattr *attr)
{
	return attr ? nla_data(attr) : NULL;
}

static int smc_pnet_add(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct smc_pnet_request request = {
		.pnetid		= smc_pnet_string(attrs[SMC_NL_PNET_A_NAME]),
		.eth_name	= smc_pnet_string(attrs[SMC_NL_PNET_A_ETH]),
		.ib_name	= smc_pnet_string(attrs[SMC_NL_PNET_A_IB]),
		.ib_port	= 1,
	};
	int ret;

	if (!request.pnetid)
		return -EINVAL;
	if (attrs[SMC_NL_PNET_A_IB_PORT])
		request.ib_port = nla_get_u8(attrs[SMC_NL_PNET_A_IB_PORT]);
	ret = smc_ctl_pnet_add(genl_info_net(info), &request);
	if (!ret)
		smc_ib_pnet_ids_changed();
	return ret;
}

static int smc_pnet_del(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[SMC_NL_PNET_A_NAME];

	if (!name)
		return -EINVAL;
	return smc_ctl_pnet_del(genl_info_net(info), nla_data(name));
}

static int smc_pnet_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_ctl_pnet_flush(genl_info_net(info));
	return 0;
}

static const struct nla_policy smc_pnet_policy[SMC_NL_PNET_A_END] = {
	[SMC_NL_PNET_A_NAME]	= { .type = NLA_NUL_STRING, .len = SMC_PNETID_LEN },
	[SMC_NL_PNET_A_ETH]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[SMC_NL_PNET_A_IB]	= { .type = NLA_NUL_STRING, .len = SMC_IB_NAME_LEN - 1 },
	[SMC_NL_PNET_A_IB_PORT]	= { .type = NLA_U8 },
};

/* User space of old leaves its attributes without flags and types. */
#define SMC_PNET_LAX (GENL_DONT_VALIDATE_STRICT | GENL_DONT_VALIDATE_DUMP)

static const struct genl_ops smc_pnet_ops[] = {
	{
		.cmd		= SMC_NL_PNET_GET,
		.validate	= SMC_PNET_LAX,
		.doit		= smc_pnet_get,
		.start		= smc_nl_dump_begin,
		.dumpit		= smc_pnet_dump,
	}, {
		.cmd		= SMC_NL_PNET_ADD,
		.validate	= SMC_PNET_LAX,
		.flags		= GENL_ADMIN_PERM,
		.doit		= smc_pnet_add,
	}, {
		.cmd		= SMC_NL_PNET_DEL,
		.validate	= SMC_PNET_LAX,
		.flags		= GENL_ADMIN_PERM,
		.doit		= smc_pnet_del,
	}, {
		.cmd		= SMC_NL_PNET_FLUSH,
		.validate	= SMC_PNET_LAX,
		.flags		= GENL_ADMIN_PERM,
		.doit		= smc_pnet_flush,
	},
};

struct genl_family smc_pnet_family = {
	.name		= SMC_NL_PNET_FAMILY,
	.version	= SMC_NL_PNET_VERSION,
	.maxattr	= SMC_NL_PNET_A_END - 1,
	.policy		= smc_pnet_policy,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.ops		= smc_pnet_ops,
	.n_ops		= ARRAY_SIZE(smc_pnet_ops),
	SMC_NL_RESERVED_IS_ZERO_FROM(SMC_NL_PNET_FLUSH + 1)
};
