// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a TCP connection runs: device, VLAN, addresses and prefixes; and where it would run if it
 * were the host's.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/dst_ops.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_path.h"

static bool is_v4(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#endif
	return true;
}

static bool uses_ipsec(const struct sock *sk, const struct dst_entry *dst)
{
#ifdef CONFIG_XFRM
	return rcu_access_pointer(sk->sk_policy[0]) || rcu_access_pointer(sk->sk_policy[1]) ||
	       dst->xfrm;
#else
	return false;
#endif
}

/* A sock for both families has a route of the one by which its packets go. */
static bool leads_to_own(const struct dst_entry *dst)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (dst->ops->family == AF_INET6)
		return container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_LOCAL;
#endif
	return container_of(dst, struct rtable, dst)->rt_type == RTN_LOCAL;
}

static int vlan_below(struct net_device *lower, struct netdev_nested_priv *priv)
{
	u16 *vlan_id = priv->data;

	if (!is_vlan_dev(lower))
		return 0;
	*vlan_id = vlan_dev_vlan_id(lower);
	return 1;
}

/* The device's own VLAN, or that of the first VLAN below it, as for a bridge or a bond over one. */
static u16 vlan_of_rcu(struct net_device *dev)
{
	u16 vlan_id = 0;
	struct netdev_nested_priv priv = { .data = &vlan_id };

	if (!vlan_below(dev, &priv))
		netdev_walk_all_lower_dev_rcu(dev, vlan_below, &priv);
	return vlan_id;
}

static void add_prefix_of_v4(struct smc_tcp_path *path, __be32 prefix, u8 len)
{
	u8 i;

	for (i = 0; i < path->prefix4_count; i++) {
		if (path->prefix4_len[i] == len &&
		    !memcmp(path->prefix4[i], &prefix, sizeof(prefix)))
			return;
	}
	if (path->prefix4_count == SMC_PATH_PREFIXES)
		return;
	memcpy(path->prefix4[i], &prefix, sizeof(prefix));
	path->prefix4_len[i] = len;
	path->prefix4_count++;
}

/* The prefixes with @addr in them, or the other ones. */
static void prefixes_of_v4_with(const struct in_device *in_dev, struct smc_tcp_path *path,
				__be32 addr, bool inside)
{
	const struct in_ifaddr *ifa;

	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (inet_ifa_match(addr, ifa) == inside)
			add_prefix_of_v4(path, ifa->ifa_address & ifa->ifa_mask,
					 inet_mask_len(ifa->ifa_mask));
	}
}

static void prefixes_of_v4(const struct net_device *dev, struct smc_tcp_path *path, __be32 addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);

	if (!in_dev)
		return;
	prefixes_of_v4_with(in_dev, path, addr, true);
	path->prefix4_own = path->prefix4_count;
	prefixes_of_v4_with(in_dev, path, addr, false);
}

static void prefixes_of_v6(const struct net_device *dev, struct smc_tcp_path *path)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifa;

	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			continue;
		if (path->prefix6_count == SMC_PATH_PREFIXES)
			break;
		ipv6_addr_prefix((struct in6_addr *)path->prefix6[path->prefix6_count], &ifa->addr,
				 ifa->prefix_len);
		path->prefix6_len[path->prefix6_count] = ifa->prefix_len;
		path->prefix6_count++;
	}
#endif
}

bool smc_tcp_path(struct sock *sk, struct smc_tcp_path *path)
{
	struct dst_entry *dst = sk_dst_get(sk);
	const struct inet_sock *inet = inet_sk(sk);
	struct in6_addr addr;

	memset(path, 0, sizeof(*path));
	if (!dst)
		return false;
	path->ipsec = uses_ipsec(sk, dst);
	path->own = leads_to_own(dst);
	path->ipv4 = is_v4(sk);
	rcu_read_lock();
	path->ifindex = dst->dev->ifindex;
	path->vlan_id = vlan_of_rcu(dst->dev);
	if (path->ipv4) {
		ipv6_addr_set_v4mapped(inet->inet_saddr, &addr);
		memcpy(path->local, &addr, sizeof(addr));
		ipv6_addr_set_v4mapped(inet->inet_daddr, &addr);
		memcpy(path->peer, &addr, sizeof(addr));
		prefixes_of_v4(dst->dev, path, inet->inet_saddr);
	} else {
#if IS_ENABLED(CONFIG_IPV6)
		memcpy(path->local, &inet6_sk(sk)->saddr, sizeof(path->local));
		memcpy(path->peer, &sk->sk_v6_daddr, sizeof(path->peer));
#endif
		prefixes_of_v6(dst->dev, path);
	}
	rcu_read_unlock();
	dst_release(dst);
	return true;
}

static struct dst_entry *host_route_v4(const u8 peer[4], u8 source[4])
{
	struct flowi4 flow = {};
	struct rtable *route;

	memcpy(&flow.daddr, peer, sizeof(flow.daddr));
	route = ip_route_output_key(&init_net, &flow);
	if (IS_ERR(route))
		return NULL;
	if (route->rt_type != RTN_UNICAST) {
		ip_rt_put(route);
		return NULL;
	}
	memcpy(source, &flow.saddr, sizeof(flow.saddr));
	return &route->dst;
}

static struct dst_entry *host_route_v6(const u8 peer[16])
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 flow = {};
	struct dst_entry *dst;

	memcpy(&flow.daddr, peer, sizeof(flow.daddr));
	dst = ip6_dst_lookup_flow(&init_net, NULL, &flow, NULL);
	return IS_ERR(dst) ? NULL : dst;
#else
	return NULL;
#endif
}

bool smc_tcp_host_path(const struct smc_tcp_path *path, struct smc_host_path *host)
{
	struct dst_entry *dst;

	memset(host, 0, sizeof(*host));
	if (path->ipv4)
		dst = host_route_v4(path->peer + sizeof(path->peer) - sizeof(host->ipv4),
				    host->ipv4);
	else
		dst = host_route_v6(path->peer);
	if (!dst)
		return false;
	rcu_read_lock();
	host->ifindex = dst->dev->ifindex;
	host->vlan_id = vlan_of_rcu(dst->dev);
	rcu_read_unlock();
	dst_release(dst);
	return true;
}
