// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: dumps of link groups, links, RDMA
 * devices and statistics.
 *
 * A dump that does not fit into one buffer goes on behind its cursor; what is
 * in one message is consistent.
 */
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/netlink.h"

/* An object that does not even fit into an empty buffer would loop for ever. */
static int smc_nl_full(const struct sk_buff *skb)
{
	return skb->len ? skb->len : -EMSGSIZE;
}

/* Not on every kernel: an unsigned integer of 4 bytes if these suffice, or 8. */
static int smc_nl_put_uint(struct sk_buff *skb, int attr, u64 value)
{
	if (value <= U32_MAX)
		return nla_put_u32(skb, attr, value);
	return nla_put(skb, attr, sizeof(value), &value);
}

/* A padded field as a string; @trim: without the padding. */
static int smc_nl_put_field(struct sk_buff *skb, int attr, const u8 *field, size_t len, bool trim)
{
	char text[SMC_EID_LEN + 1] = "";

	memcpy(text, field, len);
	while (trim && len && (text[len - 1] == ' ' || !text[len - 1]))
		text[--len] = '\0';
	return nla_put_string(skb, attr, text);
}

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

/* ---- Link groups and links ---- */

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
	struct nlattr *nest;
	void *hdr;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_LGR_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_LGR_SMCR);
	if (!nest || smc_nl_put_lgr_attrs(skb, net, lgr))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
}

static int smc_nl_put_link(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct smc_link_info *link)
{
	struct nlattr *nest;
	void *hdr;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_LINK_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_LINK_SMCR);
	if (!nest ||
	    nla_put_u8(skb, SMC_NL_LINK_ID, link->id) ||
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
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
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
	struct nlattr *nest;
	void *hdr;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_LGR_SMCD);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_LGR_SMCD);
	if (!nest || smc_nl_put_smcd_lgr_attrs(skb, lgr)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
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

/* ---- Devices ---- */

static int smc_nl_put_port(struct sk_buff *skb, int attr, const struct smc_dev_port_info *port)
{
	struct nlattr *nest;

	nest = nla_nest_start(skb, attr);
	if (!nest ||
	    nla_put_u8(skb, SMC_NL_PORT_PNET_USR, port->pnet_by_user) ||
	    smc_nl_put_field(skb, SMC_NL_PORT_PNETID, port->pnetid, sizeof(port->pnetid), true) ||
	    nla_put_u32(skb, SMC_NL_PORT_NETDEV, port->ifindex) ||
	    nla_put_u8(skb, SMC_NL_PORT_VALID, 1) ||
	    nla_put_u8(skb, SMC_NL_PORT_STATE, port->active) ||
	    nla_put_u32(skb, SMC_NL_PORT_LINKS, port->links))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int smc_nl_put_pci(struct sk_buff *skb, const struct smc_dev_info *dev)
{
	if (!dev->is_pci)
		return 0;
	if (nla_put_u32(skb, SMC_NL_DEV_PCI_FID, dev->pci_fid) ||
	    nla_put_u16(skb, SMC_NL_DEV_PCI_CHID, dev->pci_chid) ||
	    nla_put_u16(skb, SMC_NL_DEV_PCI_VENDOR, dev->pci_vendor) ||
	    nla_put_u16(skb, SMC_NL_DEV_PCI_DEVICE, dev->pci_device) ||
	    nla_put_string(skb, SMC_NL_DEV_PCI_ID, dev->parent))
		return -EMSGSIZE;
	return 0;
}

static int smc_nl_put_dev(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct smc_dev_info *dev)
{
	struct nlattr *nest;
	void *hdr;
	int i;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_DEV_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_DEV_SMCR);
	if (!nest ||
	    nla_put_u8(skb, SMC_NL_DEV_IS_CRIT, dev->critical) ||
	    smc_nl_put_pci(skb, dev) ||
	    nla_put_string(skb, SMC_NL_DEV_IB_NAME, dev->name))
		goto full;
	for (i = 0; i < SMC_DEV_PORTS; i++) {
		if (dev->port[i].valid &&
		    smc_nl_put_port(skb, SMC_NL_DEV_PORT + i, &dev->port[i]))
			goto full;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;

full:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
}

int smc_nl_dump_dev_smcr(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	u64 cursor = ctx->cursor;
	struct smc_dev_info dev;

	while (smc_ctl_dev_next(net, &cursor, &dev) > 0) {
		if (smc_nl_put_dev(skb, cb, &dev))
			return smc_nl_full(skb);
		ctx->cursor = cursor;
	}
	return skb->len;
}

/* ---- Statistics ---- */

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

int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	struct nlattr *nest;
	void *hdr;

	if (ctx->done)
		return skb->len;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_STATS);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_STATS);
	if (!nest ||
	    smc_nl_put_tech(skb, net, SMC_NL_STATS_SMCD, SMC_TECH_D) ||
	    smc_nl_put_tech(skb, net, SMC_NL_STATS_SMCR, SMC_TECH_R) ||
	    smc_nl_put_u64(skb, SMC_NL_STATS_CLNT_HS_ERR,
			   smc_stat_read(net, SMC_STAT_CLNT_HS_ERR)) ||
	    smc_nl_put_u64(skb, SMC_NL_STATS_SRV_HS_ERR,
			   smc_stat_read(net, SMC_STAT_SRV_HS_ERR))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	ctx->done = true;
	return skb->len;
}

/* How the counter of reasons without a slot of their own shows up. */
#define SMC_NL_REASON_OTHER U32_MAX

/* One reason of one role; @totals: the first message also has the sums. */
static int smc_nl_put_reason(struct sk_buff *skb, struct netlink_callback *cb, struct net *net,
			     bool server, u32 reason, u64 count, bool totals)
{
	struct nlattr *nest;
	void *hdr;

	hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, SMC_NL_GET_FBACK_STATS);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NL_A_FBACK_STATS);
	if (!nest || nla_put_u8(skb, SMC_NL_FBACK_TYPE, server))
		goto full;
	if (totals &&
	    (smc_nl_put_u64(skb, SMC_NL_FBACK_SRV_CNT,
			    smc_stat_read(net, SMC_STAT_FALLBACK_SRV)) ||
	     smc_nl_put_u64(skb, SMC_NL_FBACK_CLNT_CNT,
			    smc_stat_read(net, SMC_STAT_FALLBACK_CLNT))))
		goto full;
	if (nla_put_u32(skb, SMC_NL_FBACK_RSN_CODE, reason) ||
	    nla_put_u16(skb, SMC_NL_FBACK_RSN_CNT, min_t(u64, count, U16_MAX)) ||
	    smc_nl_put_u64(skb, SMC_NL_FBACK_RSN_CNT64, count))
		goto full;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;

full:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
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
	bool server;
	u32 reason;
	u64 count;

	for (; ctx->position < 2 * SMC_NL_REASON_SLOTS; ctx->position++) {
		if (!smc_nl_reason_at(net, ctx->position, &server, &reason, &count))
			continue;
		if (smc_nl_put_reason(skb, cb, net, server, reason, count, !ctx->done))
			return smc_nl_full(skb);
		ctx->done = true;
	}
	return skb->len;
}
