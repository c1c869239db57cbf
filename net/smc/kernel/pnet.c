// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a network device to its PNET ID.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"

/* Stops the walk at the first device with nothing under it. */
static int smc_pnet_is_base(struct net_device *dev, struct netdev_nested_priv *priv)
{
	priv->data = dev;
	return list_empty(&dev->adj_list.lower);
}

/* Of several devices side by side, as in a bond, the first one counts. */
static struct net_device *smc_pnet_base_rcu(struct net_device *dev)
{
	struct netdev_nested_priv priv = { .data = dev };

	netdev_walk_all_lower_dev_rcu(dev, smc_pnet_is_base, &priv);
	return priv.data;
}

bool smc_pnet_of_netdev(struct net *net, u32 ifindex, u8 out[SMC_PNETID_LEN])
{
	struct net_device *dev, *base;
	bool found = false;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, ifindex);
	if (dev) {
		/* The owner of a container's device names the fabric under it. */
		base = smc_pnet_base_rcu(dev);
		found = smc_ctl_pnet_of_eth(dev_net(base), base->name, out) ||
			(dev != base && smc_ctl_pnet_of_eth(net, dev->name, out));
	}
	rcu_read_unlock();
	return found;
}
