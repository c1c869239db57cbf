// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: its commands, and those of them that are
 * small: system information, EIDs, handshake limitation. Attributes in and out,
 * nothing else; the state is in C++ (kernel/abi/control.h).
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/netlink.h"
#include "kernel/pernet.h"
#include "kernel/stages.h"

/* What SYS_INFO says we speak: SMCv2.1. */
#define SMC_NL_OUR_VERSION 2
#define SMC_NL_OUR_RELEASE 1

static int smc_nl_put_sys_info(struct sk_buff *skb, struct net *net)
{
	char host[SMC_HOSTNAME_LEN + 1] = "";
	u8 eid[SMC_EID_LEN];

	smc_hostname_of_caller(host);
	if (nla_put_u8(skb, SMC_NL_SYS_VER, SMC_NL_OUR_VERSION) ||
	    nla_put_u8(skb, SMC_NL_SYS_REL, SMC_NL_OUR_RELEASE) ||
	    nla_put_u8(skb, SMC_NL_SYS_IS_ISM_V2, 0) ||
	    nla_put_u8(skb, SMC_NL_SYS_IS_SMCR_V2, 1) ||
	    nla_put_string(skb, SMC_NL_SYS_LOCAL_HOST, host))
		return -EMSGSIZE;
	if (smc_ctl_default_eid(net, eid) &&
	    smc_nl_put_field(skb, SMC_NL_SYS_DEFAULT_EID, eid, sizeof(eid), false))
		return -EMSGSIZE;
	return 0;
}

static int smc_nl_dump_sys_info(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct smc_nl_message message;

	if (ctx->done)
		return skb->len;
	if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_SYS_INFO, SMC_NL_A_SYS_INFO) ||
	    smc_nl_message_end(&message, smc_nl_put_sys_info(skb, sock_net(skb->sk))))
		return -EMSGSIZE;
	ctx->done = true;
	return skb->len;
}

/*
 * Tools take each entry for an ISM device on the PCI bus: they print PCI
 * values and say that the host has such hardware. Upstream leaves its loopback
 * device out as well.
 */
static int smc_nl_dump_dev_smcd(struct sk_buff *skb, struct netlink_callback *cb)
{
	return skb->len;
}

static int smc_nl_dump_ueid(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	char eid[SMC_EID_LEN + 1] = "";
	u64 cursor = ctx->cursor;
	void *hdr;

	while (smc_ctl_ueid_next(net, &cursor, eid) > 0) {
		hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_DUMP_UEID);
		if (!hdr)
			break;
		if (nla_put_string(skb, SMC_NL_UEID_ENTRY, eid)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
		ctx->cursor = cursor;
	}
	return skb->len;
}

/* NULL unless it has exactly the length of an EID and its final NUL. */
static const u8 *smc_nl_ueid(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[SMC_NL_UEID_ENTRY];

	if (!attr || nla_len(attr) != SMC_EID_LEN + 1)
		return NULL;
	return nla_data(attr);
}

static int smc_nl_add_ueid(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *eid = smc_nl_ueid(info);

	return eid ? smc_ctl_ueid_add(genl_info_net(info), eid) : -EINVAL;
}

static int smc_nl_remove_ueid(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *eid = smc_nl_ueid(info);

	return eid ? smc_ctl_ueid_del(genl_info_net(info), eid) : -EINVAL;
}

static int smc_nl_flush_ueid(struct sk_buff *skb, struct genl_info *info)
{
	smc_ctl_ueid_flush(genl_info_net(info));
	return 0;
}

/* Only s390's ISM devices have a system EID: an empty message means none. */
static int smc_nl_dump_seid(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	void *hdr;

	if (ctx->done)
		return skb->len;
	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_DUMP_SEID);
	if (!hdr)
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	ctx->done = true;
	return skb->len;
}

static int smc_nl_no_seid(struct sk_buff *skb, struct genl_info *info)
{
	return -EOPNOTSUPP;
}

static int smc_nl_dump_hs_limit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	void *hdr;

	if (ctx->done)
		return skb->len;
	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_DUMP_HS_LIMIT);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u8(skb, SMC_NL_HS_LIMIT_ENABLED,
		       smc_sysctl_limit_smc_hs(sock_net(skb->sk)))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	ctx->done = true;
	return skb->len;
}

static int smc_nl_enable_hs_limit(struct sk_buff *skb, struct genl_info *info)
{
	smc_sysctl_set_limit_smc_hs(genl_info_net(info), true);
	return 0;
}

static int smc_nl_disable_hs_limit(struct sk_buff *skb, struct genl_info *info)
{
	smc_sysctl_set_limit_smc_hs(genl_info_net(info), false);
	return 0;
}

/* Attributes belong to the commands below that name a policy. */
static const struct nla_policy smc_nl_no_attrs[SMC_NL_UEID_END] = {
	[SMC_NL_UEID_ENTRY]	= { .type = NLA_REJECT },
};

static const struct nla_policy smc_nl_ueid_policy[SMC_NL_UEID_END] = {
	[SMC_NL_UEID_ENTRY]	= { .type = NLA_STRING, .len = SMC_EID_LEN },
};

#define SMC_NL_DUMP(command, function)					\
	{ .cmd = (command), .start = smc_nl_dump_begin, .dumpit = (function) }
#define SMC_NL_ADMIN_DO(command, function)				\
	{ .cmd = (command), .doit = (function), .flags = GENL_ADMIN_PERM }
#define SMC_NL_ADMIN_DO_UEID(command, function)				\
	{ .cmd = (command), .doit = (function), .flags = GENL_ADMIN_PERM, \
	  .policy = smc_nl_ueid_policy }

static const struct genl_ops smc_gen_ops[] = {
	SMC_NL_DUMP(SMC_NL_GET_SYS_INFO, smc_nl_dump_sys_info),
	SMC_NL_DUMP(SMC_NL_GET_LGR_SMCR, smc_nl_dump_lgr_smcr),
	SMC_NL_DUMP(SMC_NL_GET_LINK_SMCR, smc_nl_dump_link_smcr),
	SMC_NL_DUMP(SMC_NL_GET_LGR_SMCD, smc_nl_dump_lgr_smcd),
	SMC_NL_DUMP(SMC_NL_GET_DEV_SMCD, smc_nl_dump_dev_smcd),
	SMC_NL_DUMP(SMC_NL_GET_DEV_SMCR, smc_nl_dump_dev_smcr),
	SMC_NL_DUMP(SMC_NL_GET_STATS, smc_nl_dump_stats),
	SMC_NL_DUMP(SMC_NL_GET_FBACK_STATS, smc_nl_dump_fback_stats),
	SMC_NL_DUMP(SMC_NL_DUMP_UEID, smc_nl_dump_ueid),
	SMC_NL_ADMIN_DO_UEID(SMC_NL_ADD_UEID, smc_nl_add_ueid),
	SMC_NL_ADMIN_DO_UEID(SMC_NL_REMOVE_UEID, smc_nl_remove_ueid),
	SMC_NL_ADMIN_DO(SMC_NL_FLUSH_UEID, smc_nl_flush_ueid),
	SMC_NL_DUMP(SMC_NL_DUMP_SEID, smc_nl_dump_seid),
	SMC_NL_ADMIN_DO(SMC_NL_ENABLE_SEID, smc_nl_no_seid),
	SMC_NL_ADMIN_DO(SMC_NL_DISABLE_SEID, smc_nl_no_seid),
	SMC_NL_DUMP(SMC_NL_DUMP_HS_LIMIT, smc_nl_dump_hs_limit),
	SMC_NL_ADMIN_DO(SMC_NL_ENABLE_HS_LIMIT, smc_nl_enable_hs_limit),
	SMC_NL_ADMIN_DO(SMC_NL_DISABLE_HS_LIMIT, smc_nl_disable_hs_limit),
};

int smc_netlink_init(void)
{
	int ret;

	smc_gen_family.policy = smc_nl_no_attrs;
	smc_gen_family.ops = smc_gen_ops;
	smc_gen_family.n_ops = ARRAY_SIZE(smc_gen_ops);
	ret = genl_register_family(&smc_pnet_family);
	if (ret)
		return ret;
	ret = genl_register_family(&smc_gen_family);
	if (ret)
		genl_unregister_family(&smc_pnet_family);
	return ret;
}

void smc_netlink_exit(void)
{
	genl_unregister_family(&smc_gen_family);
	genl_unregister_family(&smc_pnet_family);
}

MODULE_ALIAS_GENL_FAMILY(SMC_NL_GEN_FAMILY);
MODULE_ALIAS_GENL_FAMILY(SMC_NL_PNET_FAMILY);
