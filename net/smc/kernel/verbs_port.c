// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports of RDMA devices and the netdevs they sit on.
 */
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "kernel/verbs.h"

static bool smc_ib_port_exists(const struct smc_ib_device *dev, u8 port)
{
	return port >= 1 && port <= dev->ports_count;
}

#ifdef HAVE_IB_DEVICE_GET_NETDEV
struct net_device *smc_ib_port_netdev(struct ib_device *ibdev, u8 port)
{
	return ib_device_get_netdev(ibdev, port);
}
#else
struct net_device *smc_ib_port_netdev(struct ib_device *ibdev, u8 port)
{
	struct net_device *netdev;

	if (!rdma_is_port_valid(ibdev, port))
		return NULL;
	if (ibdev->ops.get_netdev)
		return ibdev->ops.get_netdev(ibdev, port);
	rcu_read_lock();
	netdev = rcu_dereference(ibdev->port_data[port].netdev);
	dev_hold(netdev);
	rcu_read_unlock();
	return netdev;
}
#endif

void smc_ib_port_refresh(struct smc_ib_device *dev, struct ib_device *ibdev, u8 port)
{
	struct smc_ib_port *state = &dev->ports[port - 1];
	struct ib_port_attr attr = {};
	bool active = false;

	if (ib_query_port(ibdev, port, &attr) == 0) {
		active = attr.state == IB_PORT_ACTIVE;
		WRITE_ONCE(state->mtu_code, attr.active_mtu);
	}
	WRITE_ONCE(state->active, active);
}

u8 smc_ib_port_mtu(const struct smc_ib_device *dev, u8 port)
{
	return smc_ib_port_exists(dev, port) ? READ_ONCE(dev->ports[port - 1].mtu_code) : 0;
}

void smc_ib_port_update_mtu(struct smc_ib_device *dev, u8 port)
{
	struct ib_port_attr attr = {};
	struct ib_device *ibdev;

	if (!smc_ib_port_exists(dev, port))
		return;
	ibdev = smc_ib_device_use(dev);
	if (!ibdev)
		return;
	if (ib_query_port(ibdev, port, &attr) == 0)
		WRITE_ONCE(dev->ports[port - 1].mtu_code, attr.active_mtu);
	smc_ib_device_release(dev);
}

bool smc_ib_port_active(const struct smc_ib_device *dev, u8 port)
{
	return smc_ib_port_exists(dev, port) && READ_ONCE(dev->ports[port - 1].active) &&
	       smc_ib_device_present(dev);
}

int smc_ib_port_info(struct smc_ib_device *dev, u8 port, const struct net *net,
		     struct smc_ib_port_info *out)
{
	struct net_device *netdev;
	struct ib_device *ibdev;

	memset(out, 0, sizeof(*out));
	if (!smc_ib_port_exists(dev, port))
		return -ENODEV;
	ibdev = smc_ib_device_use(dev);
	if (!ibdev)
		return -ENODEV;
	out->active = READ_ONCE(dev->ports[port - 1].active);
	out->mtu_code = READ_ONCE(dev->ports[port - 1].mtu_code);
	netdev = smc_ib_port_netdev(ibdev, port);
	if (netdev && (!net || net_eq(dev_net(netdev), net))) {
		out->has_netdev = true;
		out->ifindex = netdev->ifindex;
		/* For display and first guesses: a rename under way may tear the name. */
		strscpy(out->netdev_name, netdev->name, sizeof(out->netdev_name));
		memcpy(out->mac, netdev->dev_addr, sizeof(out->mac));
	}
	dev_put(netdev);
	smc_ib_device_release(dev);
	return 0;
}

static int smc_ib_netdev_is(struct net_device *lower, struct netdev_nested_priv *priv)
{
	return lower == priv->data;
}

/* Is @port_netdev @netdev, or one of the devices that @netdev is made of? */
static bool smc_ib_netdev_carries(struct net_device *port_netdev, struct net_device *netdev)
{
	struct netdev_nested_priv priv = { .data = port_netdev };

	return netdev == port_netdev ||
	       netdev_walk_all_lower_dev_rcu(netdev, smc_ib_netdev_is, &priv) > 0;
}

bool smc_ib_port_carries(struct smc_ib_device *dev, u8 port, struct net *net, u32 ifindex)
{
	struct net_device *port_netdev;
	struct net_device *netdev;
	struct ib_device *ibdev;
	bool carries = false;

	if (!smc_ib_port_exists(dev, port))
		return false;
	ibdev = smc_ib_device_use(dev);
	if (!ibdev)
		return false;
	port_netdev = smc_ib_port_netdev(ibdev, port);
	if (port_netdev) {
		rcu_read_lock();
		netdev = dev_get_by_index_rcu(net, ifindex);
		carries = netdev && smc_ib_netdev_carries(port_netdev, netdev);
		rcu_read_unlock();
		dev_put(port_netdev);
	}
	smc_ib_device_release(dev);
	return carries;
}
