// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_PEERS: with whom a network namespace does SMC, by its rules and by
 * what it remembers.
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/compat.h"
#include "kernel/netlink.h"
#include "kernel/stages.h"

#define SMC_NL_ADDRESS_BITS 128

static struct genl_family smc_peers_family;

static int smc_peers_put(struct sk_buff *skb, const struct smc_peer_info *info)
{
	const struct smc_peer *peer = &info->peer;

	if (nla_put_u8(skb, SMC_NL_PEER_A_IS_SERVER, info->is_server) ||
	    nla_put_u64_64bit(skb, SMC_NL_PEER_A_REST_MS, info->rest_ms, SMC_NL_PEER_A_PAD) ||
	    nla_put_u32(skb, SMC_NL_PEER_A_SCOPE_ID, peer->scope_id) ||
	    nla_put(skb, SMC_NL_PEER_A_ADDRESS, sizeof(peer->address), peer->address) ||
	    nla_put_u16(skb, SMC_NL_PEER_A_PORT, peer->port))
		return -EMSGSIZE;
	return 0;
}

static int smc_peers_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct smc_peer_info info;
	u64 cursor = ctx->cursor;
	void *hdr;

	while (smc_ctl_peer_next(sock_net(skb->sk), &cursor, &info) > 0) {
		hdr = smc_nl_dump_put(skb, cb, &smc_peers_family, SMC_NL_PEERS_GET);
		if (!hdr)
			break;
		if (smc_peers_put(skb, &info)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
		ctx->cursor = cursor;
	}
	return skb->len;
}

static int smc_peers_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_ctl_peers_flush(genl_info_net(info));
	return 0;
}

static int smc_rule_put(struct sk_buff *skb, const struct smc_peer_rule *rule)
{
	const u8 direction = (rule->out ? SMC_NL_OUT : 0) | (rule->in ? SMC_NL_IN : 0);

	if (nla_put(skb, SMC_NL_PEER_A_ADDRESS, sizeof(rule->address), rule->address) ||
	    nla_put_u16(skb, SMC_NL_PEER_A_PORT, rule->port_first) ||
	    nla_put_u16(skb, SMC_NL_PEER_A_PORT_LAST, rule->port_last) ||
	    nla_put_u8(skb, SMC_NL_PEER_A_PREFIX_BITS, rule->prefix_bits) ||
	    nla_put_u8(skb, SMC_NL_PEER_A_ALLOW, rule->allow) ||
	    nla_put_u8(skb, SMC_NL_PEER_A_DIRECTION, direction))
		return -EMSGSIZE;
	return 0;
}

static int smc_rules_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct smc_peer_rule rule;
	u64 cursor = ctx->cursor;
	void *hdr;

	while (smc_ctl_rule_next(sock_net(skb->sk), &cursor, &rule) > 0) {
		hdr = smc_nl_dump_put(skb, cb, &smc_peers_family, SMC_NL_RULES_GET);
		if (!hdr)
			break;
		if (smc_rule_put(skb, &rule)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
		ctx->cursor = cursor;
	}
	return skb->len;
}

/* Every part of a rule has to be there. */
static bool smc_rule_read(struct genl_info *info, struct smc_peer_rule *rule)
{
	struct nlattr **attrs = info->attrs;
	u8 direction;
	int i;

	for (i = SMC_NL_PEER_A_ADDRESS; i < SMC_NL_PEER_A_END; i++) {
		if (!attrs[i])
			return false;
	}
	direction = nla_get_u8(attrs[SMC_NL_PEER_A_DIRECTION]);
	*rule = (struct smc_peer_rule) {
		.allow		= nla_get_u8(attrs[SMC_NL_PEER_A_ALLOW]),
		.out		= direction & SMC_NL_OUT,
		.in		= direction & SMC_NL_IN,
		.prefix_bits	= nla_get_u8(attrs[SMC_NL_PEER_A_PREFIX_BITS]),
		.port_first	= nla_get_u16(attrs[SMC_NL_PEER_A_PORT]),
		.port_last	= nla_get_u16(attrs[SMC_NL_PEER_A_PORT_LAST]),
	};
	memcpy(rule->address, nla_data(attrs[SMC_NL_PEER_A_ADDRESS]), sizeof(rule->address));
	return true;
}

static int smc_rule_add(struct sk_buff *skb, struct genl_info *info)
{
	struct smc_peer_rule rule;

	return smc_rule_read(info, &rule) ? smc_ctl_rule_add(genl_info_net(info), &rule) : -EINVAL;
}

static int smc_rule_del(struct sk_buff *skb, struct genl_info *info)
{
	struct smc_peer_rule rule;

	return smc_rule_read(info, &rule) ? smc_ctl_rule_del(genl_info_net(info), &rule) : -EINVAL;
}

static int smc_rules_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_ctl_rules_flush(genl_info_net(info));
	return 0;
}

static const struct nla_policy smc_peers_policy[SMC_NL_PEER_A_END] = {
	[SMC_NL_PEER_A_ADDRESS]		= NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[SMC_NL_PEER_A_PORT]		= { .type = NLA_U16 },
	[SMC_NL_PEER_A_PORT_LAST]	= { .type = NLA_U16 },
	[SMC_NL_PEER_A_PREFIX_BITS]	= NLA_POLICY_MAX(NLA_U8, SMC_NL_ADDRESS_BITS),
	[SMC_NL_PEER_A_ALLOW]		= NLA_POLICY_MAX(NLA_U8, 1),
	[SMC_NL_PEER_A_DIRECTION]	= NLA_POLICY_RANGE(NLA_U8, SMC_NL_OUT,
							   SMC_NL_OUT | SMC_NL_IN),
};

static const struct genl_ops smc_peers_ops[] = {
	{ .cmd = SMC_NL_PEERS_GET, .start = smc_nl_dump_begin, .dumpit = smc_peers_dump },
	{ .cmd = SMC_NL_PEERS_FLUSH, .doit = smc_peers_flush, .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = SMC_NL_RULES_GET, .start = smc_nl_dump_begin, .dumpit = smc_rules_dump },
	{ .cmd = SMC_NL_RULE_ADD, .doit = smc_rule_add, .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = SMC_NL_RULE_DEL, .doit = smc_rule_del, .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = SMC_NL_RULES_FLUSH, .doit = smc_rules_flush, .flags = GENL_UNS_ADMIN_PERM },
};

static struct genl_family smc_peers_family = {
	.name		= SMC_NL_PEERS_FAMILY,
	.version	= SMC_NL_PEERS_VERSION,
	.maxattr	= SMC_NL_PEER_A_END - 1,
	.policy		= smc_peers_policy,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.ops		= smc_peers_ops,
	.n_ops		= ARRAY_SIZE(smc_peers_ops),
	SMC_NL_RESERVED_IS_ZERO_FROM(SMC_NL_RULES_FLUSH + 1)
};

int __init smc_netlink_peers_init(void)
{
	return genl_register_family(&smc_peers_family);
}

void smc_netlink_peers_exit(void)
{
	genl_unregister_family(&smc_peers_family);
}

MODULE_ALIAS_GENL_FAMILY(SMC_NL_PEERS_FAMILY);
