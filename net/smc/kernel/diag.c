// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock_diag for family AF_SMC: what smcss shows.
 *
 * Addresses, owner and inode come from the TCP sock, all that is SMC from the
 * snapshot in struct smc_sock_info.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/sock.h>

#include <smc/diag.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/compat.h"
#include "kernel/stages.h"

/* Position of a dump; lives in the callback's zeroed context. */
struct smc_diag_ctx {
	u64 cursor;
};

static void smc_diag_fill_id(struct inet_diag_sockid *id, struct sock *sk)
{
	sock_diag_save_cookie(sk, id->idiag_cookie);
	id->idiag_sport = htons(sk->sk_num);
	id->idiag_dport = sk->sk_dport;
	id->idiag_if = sk->sk_bound_dev_if;
	/* The rest of an IPv4 address is zero; user space recognises it by that. */
	if (sk->sk_family == AF_INET) {
		id->idiag_src[0] = sk->sk_rcv_saddr;
		id->idiag_dst[0] = sk->sk_daddr;
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	memcpy(id->idiag_src, &sk->sk_v6_rcv_saddr, sizeof(id->idiag_src));
	memcpy(id->idiag_dst, &sk->sk_v6_daddr, sizeof(id->idiag_dst));
#endif
}

static void smc_diag_fill_msg(struct smc_diag_msg *msg, const struct smc_sock_info *info,
			      struct user_namespace *user_ns)
{
	memset(msg, 0, sizeof(*msg));
	msg->diag_family = AF_SMC;
	msg->diag_state = info->state;
	msg->diag_mode = info->mode;
	smc_diag_fill_id(&msg->id, info->sk);
	msg->diag_uid = from_kuid_munged(user_ns, sk_uid(info->sk));
	msg->diag_inode = sock_i_ino(info->sk);
}

static struct smc_diag_cursor smc_diag_cursor(struct smc_cursor_info cursor)
{
	return (struct smc_diag_cursor){ .wrap = cursor.wrap, .count = cursor.count };
}

static int smc_diag_put_conn(struct sk_buff *skb, const struct smc_sock_info *info)
{
	struct smc_diag_conninfo conn;

	memset(&conn, 0, sizeof(conn));
	conn.token = info->token;
	conn.sndbuf_size = info->sndbuf_bytes;
	conn.rmbe_size = info->rmbe_bytes;
	conn.peer_rmbe_size = info->peer_rmbe_bytes;
	conn.rx_prod = smc_diag_cursor(info->rx_prod);
	conn.rx_cons = smc_diag_cursor(info->rx_cons);
	conn.tx_prod = smc_diag_cursor(info->tx_prod);
	conn.tx_cons = smc_diag_cursor(info->tx_cons);
	conn.rx_prod_flags = info->rx_prod_flags;
	conn.rx_conn_state_flags = info->rx_conn_flags;
	conn.tx_prod_flags = info->tx_prod_flags;
	conn.tx_conn_state_flags = info->tx_conn_flags;
	conn.tx_prep = smc_diag_cursor(info->tx_prep);
	conn.tx_sent = smc_diag_cursor(info->tx_sent);
	conn.tx_fin = smc_diag_cursor(info->tx_fin);
	return nla_put(skb, SMC_DIAG_CONNINFO, sizeof(conn), &conn);
}

static int smc_diag_put_lgr(struct sk_buff *skb, const struct smc_sock_info *info)
{
	const struct smc_link_info *link = &info->link;
	struct smc_diag_lgrinfo lgr;

	memset(&lgr, 0, sizeof(lgr));
	lgr.role = info->is_server;
	lgr.lnk[0].link_id = link->id;
	lgr.lnk[0].ibport = link->ib_port;
	strscpy(lgr.lnk[0].ibname, link->ib_name, sizeof(lgr.lnk[0].ibname));
	snprintf(lgr.lnk[0].gid, sizeof(lgr.lnk[0].gid), "%pI6", link->gid);
	snprintf(lgr.lnk[0].peer_gid, sizeof(lgr.lnk[0].peer_gid), "%pI6", link->peer_gid);
	return nla_put(skb, SMC_DIAG_LGRINFO, sizeof(lgr), &lgr);
}

static int smc_diag_put_dmb(struct sk_buff *skb, const struct smc_sock_info *info)
{
	struct smcd_diag_dmbinfo dmb;

	memset(&dmb, 0, sizeof(dmb));
	dmb.linkid = info->dmb.link_id;
	dmb.peer_gid = info->dmb.gid;
	dmb.my_gid = info->dmb.gid;
	dmb.token = info->dmb.token;
	dmb.peer_token = info->dmb.peer_token;
#ifdef HAVE_SMCD_DIAG_GID_EXT
	dmb.peer_gid_ext = info->dmb.gid_extension;
	dmb.my_gid_ext = info->dmb.gid_extension;
#endif
	return nla_put(skb, SMC_DIAG_DMBINFO, sizeof(dmb), &dmb);
}

static int smc_diag_put_traffic(struct sk_buff *skb, const struct smc_sock_info *info)
{
	struct smc_diag_traffic traffic = {
		.sent_bytes		= info->sent_bytes,
		.received_bytes		= info->received_bytes,
		.sent_messages		= info->sent_messages,
		.stale_messages		= info->stale_messages,
		.sends_without_room	= info->sends_without_room,
		.sends_without_window	= info->sends_without_window,
		.sends_behind_cork	= info->sends_behind_cork,
		.messages_without_room	= info->messages_without_room,
		.repeated_bytes		= info->repeated_bytes,
	};

	return nla_put(skb, SMC_DIAG_TRAFFIC, sizeof(traffic), &traffic);
}

static bool smc_diag_wants(const struct smc_diag_req *req, int ext)
{
	return req->diag_ext & (1 << (ext - 1));
}

static int smc_diag_put(struct sk_buff *skb, struct netlink_callback *cb,
			const struct smc_sock_info *info)
{
	const struct smc_diag_req *req = nlmsg_data(cb->nlh);
	struct smc_diag_fallback fallback = {
		.reason		= info->fallback_reason,
		.peer_diagnosis	= info->peer_diagnosis,
	};
	struct nlmsghdr *nlh;

	nlh = nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			cb->nlh->nlmsg_type, sizeof(struct smc_diag_msg), NLM_F_MULTI);
	if (!nlh)
		return -EMSGSIZE;
	smc_diag_fill_msg(nlmsg_data(nlh), info, sk_user_ns(NETLINK_CB(cb->skb).sk));

	if (nla_put_u8(skb, SMC_DIAG_SHUTDOWN, READ_ONCE(info->sk->sk_shutdown)) ||
	    nla_put(skb, SMC_DIAG_FALLBACK, sizeof(fallback), &fallback))
		goto full;
	if (info->has_conn && smc_diag_wants(req, SMC_DIAG_CONNINFO) &&
	    smc_diag_put_conn(skb, info))
		goto full;
	if (info->has_conn && smc_diag_put_traffic(skb, info))
		goto full;
	if (info->has_link && smc_diag_wants(req, SMC_DIAG_LGRINFO) &&
	    smc_diag_put_lgr(skb, info))
		goto full;
	if (info->has_dmb && smc_diag_wants(req, SMC_DIAG_DMBINFO) &&
	    smc_diag_put_dmb(skb, info))
		goto full;
	nlmsg_end(skb, nlh);
	return 0;

full:
	nlmsg_cancel(skb, nlh);
	return -EMSGSIZE;
}

static int smc_diag_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_diag_ctx *ctx = (struct smc_diag_ctx *)cb->ctx;
	struct net *net = sock_net(skb->sk);
	u64 cursor = ctx->cursor;
	struct smc_sock_info info;
	int ret;

	BUILD_BUG_ON(sizeof(*ctx) > sizeof(cb->ctx));

	while (smc_ctl_sock_next(net, &cursor, &info) > 0) {
		ret = smc_diag_put(skb, cb, &info);
		sock_put(info.sk);
		if (ret)
			return skb->len ? skb->len : ret;
		ctx->cursor = cursor;
	}
	return skb->len;
}

static int smc_diag_handle(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct netlink_dump_control control = {
		.dump		= smc_diag_dump,
		.min_dump_alloc	= SKB_WITH_OVERHEAD(32768),
	};

	if (nlmsg_len(nlh) < sizeof(struct smc_diag_req))
		return -EINVAL;
	/* There is no look-up of a single socket. */
	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY || !(nlh->nlmsg_flags & NLM_F_DUMP))
		return 0;
	return netlink_dump_start(sock_net(skb->sk)->diag_nlsk, skb, nlh, &control);
}

static const struct sock_diag_handler smc_diag_handler = {
#ifdef HAVE_SOCK_DIAG_OWNER
	.owner	= THIS_MODULE,
#endif
	.family	= AF_SMC,
	.dump	= smc_diag_handle,
};

static bool registered;

int __init smc_diag_init(void)
{
	const int ret = sock_diag_register(&smc_diag_handler);

	/* Sockets can be there by now, so the module stays, and is only not shown. */
	registered = !ret;
	if (ret)
		pr_err("smc: no sock_diag: error %d\n", ret);
	return 0;
}

void smc_diag_exit(void)
{
	if (registered)
		sock_diag_unregister(&smc_diag_handler);
}

/* NETLINK_SOCK_DIAG, family 43 (AF_SMC) */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_NETLINK, NETLINK_SOCK_DIAG, 43);
