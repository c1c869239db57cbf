// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: dumps of RDMA devices.
 */
#include <net/net_namespace.h>
#include <net/sock.h>

#include <smc/genl.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/netlink.h"

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

static int smc_nl_put_dev(struct sk_buff *skb, const struct smc_dev_info *dev)
{
	int i;

	if (nla_put_u8(skb, SMC_NL_DEV_IS_CRIT, dev->critical) ||
	    smc_nl_put_pci(skb, dev) ||
	    nla_put_string(skb, SMC_NL_DEV_IB_NAME, dev->name))
		return -EMSGSIZE;
	for (i = 0; i < SMC_DEV_PORTS; i++) {
		if (dev->port[i].valid &&
		    smc_nl_put_port(skb, SMC_NL_DEV_PORT + i, &dev->port[i]))
			return -EMSGSIZE;
	}
	return 0;
}

int smc_nl_dump_dev_smcr(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_nl_dump_ctx *ctx = smc_nl_dump_ctx(cb);
	struct net *net = sock_net(skb->sk);
	u64 cursor = ctx->cursor;
	struct smc_nl_message message;
	struct smc_dev_info dev;

	while (smc_ctl_dev_next(net, &cursor, &dev) > 0) {
		if (smc_nl_message_begin(&message, skb, cb, SMC_NL_GET_DEV_SMCR,
					 SMC_NL_A_DEV_SMCR) ||
		    smc_nl_message_end(&message, smc_nl_put_dev(skb, &dev)))
			return smc_nl_full(skb);
		ctx->cursor = cursor;
	}
	return skb->len;
}
