// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: dumps of link groups and links.
 *
 * A dump that does not fit into one buffer goes on behind its cursor; what is
 * in one message is consistent.
 */
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/netlink.h"
#include "kernel/pernet.h"

static int smc_nl_put_wire32(struct sk_buff *skb, int attr, const u8 bytes[4])
{
	u32 value;

	memcpy(&value, bytes, sizeof(value));
	return nla_put_u32(skb, attr, value);
}

static int smc_nl_put_gid(struct sk_buff *skb, int attr, const u8 gid[16])
{
	char text[40];

	snprintf(text, sizeof(text), "%pI6", gid);
	return nla_put_string(skb, attr, text);
}

/* Of LGR_SMCR and LGR_SMCD, which number the nest differently. */
struct smc_nl_v2_common {
	u8 version;
	u8 release;
	u8 os;
	const u8 *eid;
	const u8 *peer_host;
};

static int smc_nl_put_v2_common(struct sk_buff *skb, int attr, const struct smc_nl_v2_common *v2)
{
	struct nlattr *nest;

	nest = nla_nest_start(skb, attr);
	if (!nest ||
	    nla_put_u8(skb, SMC_NL_LGR_V2_VER, v2->version) ||
	    nla_put_u8(skb, SMC_NL_LGR_V2_REL, v2->release) ||
	    nla_put_u8(skb, SMC_NL_LGR_V2_OS, v2->os) ||
	    smc_nl_put_field(skb, SMC_NL_LGR_V2_NEG_EID, v2->eid, SMC_EID_LEN, false) ||
	    smc_nl_put_field(skb, SMC_NL_LGR_V2_PEER_HOST, v2->peer_host, SMC_EID_LEN, false))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int smc_nl_put_lgr_v2(struct sk_buff *skb, const struct smc_lgr_info *lgr)
{
	const struct smc_nl_v2_common common = {
		.version	= lgr->version,
		.release	= lgr->peer_release,
		.os		= lgr->peer_os,
		.eid		= lgr->eid,
		.peer_host	= lgr->peer_host,
	};
	struct nlattr *nest;

	if (smc_nl_put_v2_common(skb, SMC_NL_LGR_V2_COMMON, &common))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_LGR_V2);
	if (!nest ||
	    nla_put_u8(skb, SMC_NL_LGR_R_V2_DIRECT, lgr->direct) ||
	    nla_put_u8(skb, SMC_NL_LGR_R_V2_MAX_CONNS, lgr->max_conns) ||
	    nla_put_u8(skb, SMC_NL_LGR_R_V2_MAX_LINKS, lgr->max_links))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int smc_nl_put_lgr_attrs(struct sk_buff *skb, struct net *net,
				const struct smc_lgr_info *lgr)
{
	if (smc_nl_put_wire32(skb, SMC_NL_LGR_ID, lgr->id) ||
	    nla_put_u32(skb, SMC_NL_LGR_CONNS, lgr->conns) ||
	    nla_put_u8(skb, SMC_NL_LGR_ROLE, lgr->is_server) ||
	    nla_put_u8(skb, SMC_NL_LGR_TYPE, lgr->type) ||
	    nla_put_u8(skb, SMC_NL_LGR_BUF_TYPE, lgr->buf_type) ||
	    /* 8 bits is what user space reads, although VLAN IDs have 12. */
	    nla_put_u8(skb, SMC_NL_LGR_VLAN_ID, lgr->vlan_id) ||
	    nla_put_u64_64bit(skb, SMC_NL_LGR_NET_COOKIE, smc_net_cookie(net),
			      SMC_NL_LGR_PAD) ||
	    smc_nl_put_field(skb, SMC_NL_LGR_PNETID, lgr->pnetid, sizeof(lgr->pnetid), true) ||
	    smc_nl_put_uint(skb, SMC_NL_LGR_SNDBUF_ALLOC, lgr->sndbuf_bytes) ||
	    smc_nl_put_uint(skb, SMC_NL_LGR_RMB_ALLOC, lgr->rmb_bytes))
		return -EMSGSIZE;
	return lgr->version > 1 ? smc_nl_put_lgr_v2(skb, lgr) : 0;
}

static int smc_nl_put_lgr(struct sk_buff *skb, struct netlink_callback *cb, struct net *net,
			  const struct smc_lgr_info *lgr)
{
	struct smc_nl_message message;

	if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_LGR_SMCR, SMC_NL_A_LGR_SMCR))
		return -EMSGSIZE;
	return smc_nl_message_end(&message, smc_nl_put_lgr_attrs(skb, net, lgr));
}

static int smc_nl_put_link_attrs(struct sk_buff *skb, const struct smc_link_info *link)
{
	if (nla_put_u8(skb, SMC_NL_LINK_ID, link->id) ||
	    nla_put_u32(skb, SMC_NL_LINK_STATE, link->state) ||
	    nla_put_u32(skb, SMC_NL_LINK_CONNS, link->conns) ||
	    nla_put_u8(skb, SMC_NL_LINK_IB_PORT, link->ib_port) ||
	    nla_put_u32(skb, SMC_NL_LINK_NET_DEV, link->ifindex) ||
	    nla_put_string(skb, SMC_NL_LINK_IB_DEV, link->ib_name) ||
	    smc_nl_put_wire32(skb, SMC_NL_LINK_UID, link->uid) ||
	    smc_nl_put_wire32(skb, SMC_NL_LINK_PEER_UID, link->peer_uid) ||
	    smc_nl_put_gid(skb, SMC_NL_LINK_GID, link->gid) ||
	    smc_nl_put_gid(skb, SMC_NL_LINK_PEER_GID, link->peer_gid))
		return -EMSGSIZE;
	return 0;
}

static int smc_nl_put_link(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct smc_link_info *link)
{
	struct smc_nl_message message;

	if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_LINK_SMCR, SMC_NL_A_LINK_SMCR))
		return -EMSGSIZE;
	return smc_nl_message_end(&message, smc_nl_put_link_attrs(skb, link));
}

/* A group and, if asked for, its links behind it: all of that or nothing. */
static int smc_nl_put_group(struct sk_buff *skb, struct netlink_callback *cb, struct net *net,
			    const struct smc_lgr_info *lgr, bool with_links)
{
	void *start = skb_tail_pointer(skb);
	u32 i;

	if (smc_nl_put_lgr(skb, cb, net, lgr))
		goto full;
	for (i = 0; with_links && i < lgr->links; i++) {
		if (lgr->link[i].state != SMC_LINK_STATE_UNUSED &&
		    smc_nl_put_link(skb, cb, &lgr->link[i]))
			goto full;
	}
	return 0;

full:
	nlmsg_trim(skb, start);
	return -EMSGSIZE;
}

static int smc_nl_dump_groups(struct sk_buff *skb, struct netlink_callback *cb, bool with_links)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	struct smc_lgr_info lgr;
	u64 cursor = ctx->cursor;

	while (smc_ctl_lgr_next(net, &cursor, &lgr) > 0) {
		if (smc_nl_put_group(skb, cb, net, &lgr, with_links))
			return smc_nl_full(skb);
		ctx->cursor = cursor;
	}
	return skb->len;
}

int smc_nl_dump_lgr_smcr(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_groups(skb, cb, false);
}

int smc_nl_dump_link_smcr(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_groups(skb, cb, true);
}

/* ---- The link group of SMC-D ---- */

static int smc_nl_put_smcd_lgr_attrs(struct sk_buff *skb, const struct smc_smcd_lgr_info *lgr)
{
	static const u8 no_eid[SMC_EID_LEN];
	const struct smc_nl_v2_common common = {
		.version	= lgr->version,
		.release	= lgr->peer_release,
		.os		= lgr->peer_os,
		.eid		= no_eid,
		.peer_host	= lgr->peer_host,
	};

	if (nla_put_u32(skb, SMC_NL_LGR_D_ID, lgr->id) ||
	    nla_put_u64_64bit(skb, SMC_NL_LGR_D_GID, lgr->gid, SMC_NL_LGR_D_PAD) ||
	    nla_put_u64_64bit(skb, SMC_NL_LGR_D_EXT_GID, lgr->gid_extension, SMC_NL_LGR_D_PAD) ||
	    nla_put_u64_64bit(skb, SMC_NL_LGR_D_PEER_GID, lgr->gid, SMC_NL_LGR_D_PAD) ||
	    nla_put_u64_64bit(skb, SMC_NL_LGR_D_PEER_EXT_GID, lgr->gid_extension,
			      SMC_NL_LGR_D_PAD) ||
	    nla_put_u8(skb, SMC_NL_LGR_D_VLAN_ID, 0) ||
	    nla_put_u32(skb, SMC_NL_LGR_D_CONNS, lgr->conns) ||
	    nla_put_u32(skb, SMC_NL_LGR_D_CHID, lgr->chid) ||
	    nla_put_string(skb, SMC_NL_LGR_D_PNETID, "") ||
	    /* The sender writes into the peer's DMB. */
	    smc_nl_put_uint(skb, SMC_NL_LGR_D_SNDBUF_ALLOC, 0) ||
	    smc_nl_put_uint(skb, SMC_NL_LGR_D_DMB_ALLOC, lgr->dmb_bytes))
		return -EMSGSIZE;
	return smc_nl_put_v2_common(skb, SMC_NL_LGR_D_V2_COMMON, &common);
}

static int smc_nl_put_smcd_lgr(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct smc_smcd_lgr_info *lgr)
{
	struct smc_nl_message message;

	if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_LGR_SMCD, SMC_NL_A_LGR_SMCD))
		return -EMSGSIZE;
	return smc_nl_message_end(&message, smc_nl_put_smcd_lgr_attrs(skb, lgr));
}

int smc_nl_dump_lgr_smcd(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	struct smc_smcd_lgr_info lgr;
	u64 cursor = ctx->cursor;

	while (smc_ctl_smcd_lgr_next(net, &cursor, &lgr) > 0) {
		if (smc_nl_put_smcd_lgr(skb, cb, &lgr))
			return smc_nl_full(skb);
		ctx->cursor = cursor;
	}
	return skb->len;
}
