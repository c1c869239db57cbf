// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of network devices under ports of iWARP devices, whose GID tables have none.
 */
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "kernel/verbs.h"

static int smc_ib_address_v4(struct net_device *netdev, const struct in6_addr *peer,
			     bool *uses_gateway, struct in6_addr *out)
{
	__be32 to = peer ? peer->s6_addr32[3] : 0;
	__be32 from = inet_select_addr(netdev, to, RT_SCOPE_UNIVERSE);
	struct flowi4 flow = {
		.flowi4_oif = netdev->ifindex,
		.flowi4_iif = LOOPBACK_IFINDEX,
		.saddr = from,
		.daddr = to,
	};
	struct fib_result result;
	int rc = 0;

	if (!from)
		return -EADDRNOTAVAIL;
	/* For a socket that connects, this host. */
	if (peer && ipv4_is_zeronet(to))
		return -ENETUNREACH;
	ipv6_addr_set_v4mapped(from, out);
	if (!peer)
		return 0;
	rcu_read_lock();
	rc = fib_lookup(dev_net(netdev), &flow, &result, 0);
	if (!rc && result.type != RTN_UNICAST)
		rc = -ENETUNREACH;
	if (!rc)
		*uses_gateway = result.nhc && result.nhc->nhc_gw_family;
	rcu_read_unlock();
	return rc;
}

#if IS_ENABLED(CONFIG_IPV6)

static bool smc_ib_address_is_of_use(const struct inet6_ifaddr *ifa)
{
	return !(ifa->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED)) &&
	       !(ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL);
}

static int smc_ib_address_of(struct net_device *netdev, struct in6_addr *out)
{
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;
	int rc = -EADDRNOTAVAIL;

	rcu_read_lock();
	in6_dev = __in6_dev_get(netdev);
	if (!in6_dev)
		goto out;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		if (!smc_ib_address_is_of_use(ifa))
			continue;
		*out = ifa->addr;
		rc = 0;
		break;
	}
out:
	rcu_read_unlock();
	return rc;
}

static int smc_ib_address_v6(struct net_device *netdev, const struct in6_addr *peer,
			     bool *uses_gateway, struct in6_addr *out)
{
	int rc = smc_ib_address_of(netdev, out);
	struct flowi6 flow = {};
	struct dst_entry *dst;

	if (rc || !peer)
		return rc;
	if (!(ipv6_addr_type(peer) & IPV6_ADDR_UNICAST))
		return -ENETUNREACH;
	flow.flowi6_oif = netdev->ifindex;
	flow.saddr = *out;
	flow.daddr = *peer;
	dst = ip6_route_output(dev_net(netdev), NULL, &flow);
	rc = dst->error;
	if (!rc && dst->dev != netdev)
		rc = -ENETUNREACH;
	if (!rc)
		*uses_gateway = !!(container_of(dst, struct rt6_info, dst)->rt6i_flags &
				   RTF_GATEWAY);
	dst_release(dst);
	return rc;
}

#else

static int smc_ib_address_v6(struct net_device *netdev, const struct in6_addr *peer,
			     bool *uses_gateway, struct in6_addr *out)
{
	return -EAFNOSUPPORT;
}

#endif

static int smc_ib_address_find(struct net_device *netdev, const u8 like[SMC_IB_GID_SIZE],
			       const u8 *peer, bool *uses_gateway, struct smc_ib_gid *out)
{
	struct in6_addr family, to, found;
	bool v4;
	int rc;

	memcpy(&family, like, sizeof(family));
	memcpy(&to, peer ?: like, sizeof(to));
	v4 = ipv6_addr_v4mapped(&family);
	if (ipv6_addr_v4mapped(&to) != v4)
		return -EAFNOSUPPORT;
	rc = v4 ? smc_ib_address_v4(netdev, peer ? &to : NULL, uses_gateway, &found) :
		  smc_ib_address_v6(netdev, peer ? &to : NULL, uses_gateway, &found);
	if (rc)
		return rc;
	memcpy(out->raw, &found, sizeof(out->raw));
	memcpy(out->mac, netdev->dev_addr, sizeof(out->mac));
	out->type = SMC_IB_GID_IWARP;
	out->ifindex = netdev->ifindex;
	return 0;
}

int smc_ib_port_address(struct smc_ib_device *dev, u8 port, struct net *net,
			const u8 like[SMC_IB_GID_SIZE], const u8 *peer, bool *uses_gateway,
			struct smc_ib_gid *out)
{
	struct ib_device *ibdev = smc_ib_device_use(dev);
	struct net_device *netdev;
	int rc = -EADDRNOTAVAIL;

	memset(out, 0, sizeof(*out));
	*uses_gateway = false;
	if (!ibdev)
		return -ENODEV;
	netdev = smc_ib_port_netdev(ibdev, port);
	smc_ib_device_release(dev);
	if (netdev && net_eq(dev_net(netdev), net))
		rc = smc_ib_address_find(netdev, like, peer, uses_gateway, out);
	dev_put(netdev);
	return rc;
}
