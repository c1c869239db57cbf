// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a RoCE v2 packet: route and next hop.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <net/ip.h>
#include <net/ip_fib.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rdma/ib_cache.h>

#include "kernel/verbs.h"

/* Between two looks at a neighbour that is being resolved. */
#define SMC_IB_NEIGHBOUR_POLL_MS 2

static struct rtable *smc_ib_route_find(struct net_device *netdev, const struct smc_ib_gid *from,
					const u8 peer[4])
{
	struct flowi4 flow = {
		.flowi4_oif = netdev->ifindex,
		.flowi4_iif = LOOPBACK_IFINDEX,
	};
	struct fib_result result;
	struct rtable *route;
	int rc;

	if (!ipv6_addr_v4mapped((const struct in6_addr *)from->raw))
		return ERR_PTR(-EAFNOSUPPORT);
	memcpy(&flow.saddr, from->raw + SMC_IB_GID_SIZE - sizeof(flow.saddr), sizeof(flow.saddr));
	memcpy(&flow.daddr, peer, sizeof(flow.daddr));
	/*
	 * With a device given, the second lookup treats an address without a route as being on the
	 * link.
	 */
	rcu_read_lock();
	rc = fib_lookup(dev_net(netdev), &flow, &result, 0);
	rcu_read_unlock();
	if (rc)
		return ERR_PTR(rc);
	route = ip_route_output_key(dev_net(netdev), &flow);
	if (IS_ERR(route))
		return route;
	if (route->rt_type != RTN_UNICAST && route->rt_type != RTN_LOCAL) {
		ip_rt_put(route);
		return ERR_PTR(-ENETUNREACH);
	}
	return route;
}

/* An address of this host: the packet comes back in on the device that has it. */
static int smc_ib_route_local_mac(struct net *net, const u8 peer[4], u8 *mac)
{
	struct net_device *owner;
	__be32 address;

	memcpy(&address, peer, sizeof(address));
	owner = ip_dev_find(net, address);
	if (!owner)
		return -ENETUNREACH;
	ether_addr_copy(mac, owner->dev_addr);
	dev_put(owner);
	return 0;
}

static int smc_ib_route_neighbour_mac(struct rtable *route, const u8 peer[4], u32 timeout_ms,
				      u8 *mac)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	struct neighbour *neighbour;
	__be32 address;
	int rc = 0;

	/* Of the gateway, if the route has one. */
	memcpy(&address, peer, sizeof(address));
	neighbour = dst_neigh_lookup(&route->dst, &address);
	if (IS_ERR_OR_NULL(neighbour))
		return -EHOSTUNREACH;
	while (!(READ_ONCE(neighbour->nud_state) & NUD_VALID)) {
		if (time_after(jiffies, deadline)) {
			rc = -EHOSTUNREACH;
			goto out;
		}
		neigh_event_send(neighbour, NULL);
		msleep(SMC_IB_NEIGHBOUR_POLL_MS);
	}
	neigh_ha_snapshot(mac, neighbour, neighbour->dev);
	/* A neighbour without an address of its own (NOARP) leads nowhere by RoCE. */
	if (!is_valid_ether_addr(mac))
		rc = -EHOSTUNREACH;
out:
	neigh_release(neighbour);
	return rc;
}

/* The netdev that owns @from, with a reference, or an error. */
static struct net_device *smc_ib_route_netdev(struct smc_ib_device *dev, u8 port,
					      const struct smc_ib_gid *from)
{
	struct ib_device *ibdev = smc_ib_device_use(dev);
	struct net_device *netdev;

	if (!ibdev)
		return ERR_PTR(-ENODEV);
	netdev = smc_ib_gid_netdev(ibdev, port, from);
	smc_ib_device_release(dev);
	return netdev ?: ERR_PTR(-EADDRNOTAVAIL);
}

int smc_ib_route_lookup(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid *from,
			const u8 peer[4], bool *uses_gateway)
{
	struct net_device *netdev = smc_ib_route_netdev(dev, port, from);
	struct rtable *route;
	int rc = 0;

	*uses_gateway = false;
	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	route = smc_ib_route_find(netdev, from, peer);
	if (IS_ERR(route)) {
		rc = PTR_ERR(route);
	} else {
		*uses_gateway = route->rt_uses_gateway;
		ip_rt_put(route);
	}
	dev_put(netdev);
	return rc;
}

int smc_ib_route_resolve(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid *from,
			 const u8 peer[4], u32 timeout_ms, struct smc_ib_route *out)
{
	struct net_device *netdev = smc_ib_route_netdev(dev, port, from);
	struct rtable *route;
	int rc;

	memset(out, 0, sizeof(*out));
	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	route = smc_ib_route_find(netdev, from, peer);
	if (IS_ERR(route)) {
		rc = PTR_ERR(route);
		goto out_netdev;
	}
	out->uses_gateway = route->rt_uses_gateway;
	if (route->rt_type == RTN_LOCAL)
		rc = smc_ib_route_local_mac(dev_net(netdev), peer, out->next_hop_mac);
	else
		rc = smc_ib_route_neighbour_mac(route, peer, timeout_ms, out->next_hop_mac);
	ip_rt_put(route);
out_netdev:
	dev_put(netdev);
	return rc;
}
