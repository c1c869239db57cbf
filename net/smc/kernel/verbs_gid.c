// SPDX-License-Identifier: GPL-2.0-only
/*
 * GID tables of RoCE ports.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "kernel/verbs.h"

/* How well an entry fits; the first of the best ones is taken. */
enum smc_ib_gid_rank {
	SMC_IB_GID_UNFIT,
	SMC_IB_GID_FITS,
	SMC_IB_GID_SAME_SUBNET, /* its own address is in the subnet, not just the netdev's */
	SMC_IB_GID_SAME_ADDRESS,
};

/* 0 if the GID is not an IPv4-mapped one. */
static __be32 smc_ib_gid_ipv4(const union ib_gid *gid)
{
	const struct in6_addr *address = (const struct in6_addr *)gid->raw;

	return ipv6_addr_v4mapped(address) ? address->s6_addr32[3] : 0;
}

static enum smc_ib_gid_rank smc_ib_gid_rank_ipv4(struct net_device *netdev, __be32 own,
						 __be32 wanted)
{
	enum smc_ib_gid_rank rank = SMC_IB_GID_UNFIT;
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;

	if (!wanted)
		return SMC_IB_GID_FITS;
	in_dev = __in_dev_get_rcu(netdev);
	if (!in_dev)
		return SMC_IB_GID_UNFIT;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (!inet_ifa_match(wanted, ifa))
			continue;
		if (own == wanted)
			return SMC_IB_GID_SAME_ADDRESS;
		if (inet_ifa_match(own, ifa))
			rank = SMC_IB_GID_SAME_SUBNET;
		else
			rank = max(rank, SMC_IB_GID_FITS);
	}
	return rank;
}

/* The kind of a GID entry. 0, or -errno if it cannot be used. */
static int smc_ib_gid_read_rcu(const struct ib_gid_attr *attr, struct smc_ib_gid *out)
{
	struct net_device *netdev = rdma_read_gid_attr_ndev_rcu(attr);
	u16 vlan_id = 0xffff;
	int rc;

	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	rc = rdma_read_gid_l2_fields(attr, &vlan_id, out->mac);
	if (rc)
		return rc;
	memcpy(out->raw, attr->gid.raw, sizeof(out->raw));
	out->vlan_id = vlan_id == 0xffff ? 0 : vlan_id;
	out->ifindex = netdev->ifindex;
	switch (attr->gid_type) {
	case IB_GID_TYPE_ROCE:
		out->type = SMC_IB_GID_ROCE_V1;
		return 0;
	case IB_GID_TYPE_ROCE_UDP_ENCAP:
		out->type = SMC_IB_GID_ROCE_V2;
		return smc_ib_gid_ipv4(&attr->gid) ? 0 : -EAFNOSUPPORT;
	default:
		return -EOPNOTSUPP;
	}
}

static enum smc_ib_gid_rank smc_ib_gid_rank_rcu(const struct ib_gid_attr *attr,
						const struct smc_ib_gid_query *query,
						struct smc_ib_gid *out)
{
	struct net_device *netdev;
	__be32 wanted;

	if (smc_ib_gid_read_rcu(attr, out) || out->type != query->type ||
	    out->vlan_id != query->vlan_id)
		return SMC_IB_GID_UNFIT;
	netdev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(netdev) || (query->net && !net_eq(dev_net(netdev), query->net)))
		return SMC_IB_GID_UNFIT;
	if (query->type == SMC_IB_GID_ROCE_V1)
		return SMC_IB_GID_FITS;
	memcpy(&wanted, query->ipv4, sizeof(wanted));
	return smc_ib_gid_rank_ipv4(netdev, smc_ib_gid_ipv4(&attr->gid), wanted);
}

/* An address handle has 8 bits for the index. */
static int smc_ib_gid_entries(struct ib_device *ibdev, u8 port)
{
	if (!rdma_is_port_valid(ibdev, port) || !rdma_protocol_roce(ibdev, port))
		return 0;
	return min(ibdev->port_data[port].immutable.gid_tbl_len, U8_MAX + 1);
}

/* The best that an entry can be. Nobody looks behind it: tables are long, and nearly empty. */
static enum smc_ib_gid_rank smc_ib_gid_rank_best(const struct smc_ib_gid_query *query)
{
	if (query->type == SMC_IB_GID_ROCE_V1 ||
	    !memchr_inv(query->ipv4, 0, sizeof(query->ipv4)))
		return SMC_IB_GID_FITS;
	return SMC_IB_GID_SAME_ADDRESS;
}

static int smc_ib_gid_search(struct ib_device *ibdev, u8 port,
			     const struct smc_ib_gid_query *query, struct smc_ib_gid *out)
{
	const enum smc_ib_gid_rank enough = smc_ib_gid_rank_best(query);
	enum smc_ib_gid_rank best = SMC_IB_GID_UNFIT;
	enum smc_ib_gid_rank rank;
	const struct ib_gid_attr *attr;
	const int entries = smc_ib_gid_entries(ibdev, port);
	struct smc_ib_gid candidate;
	int i;

	for (i = 0; i < entries && best < enough; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		rank = smc_ib_gid_rank_rcu(attr, query, &candidate);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
		if (rank > best) {
			best = rank;
			*out = candidate;
		}
	}
	return best == SMC_IB_GID_UNFIT ? -ENOENT : 0;
}

int smc_ib_gid_find(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid_query *query,
		    struct smc_ib_gid *out)
{
	struct ib_device *ibdev = smc_ib_device_use(dev);
	int rc;

	memset(out, 0, sizeof(*out));
	if (!ibdev)
		return -ENODEV;
	rc = smc_ib_gid_search(ibdev, port, query, out);
	smc_ib_device_release(dev);
	return rc;
}

static bool smc_ib_gid_is_rcu(const struct ib_gid_attr *attr, const struct smc_ib_gid *gid)
{
	struct smc_ib_gid entry;

	return smc_ib_gid_read_rcu(attr, &entry) == 0 && entry.type == gid->type &&
	       entry.vlan_id == gid->vlan_id && entry.ifindex == gid->ifindex &&
	       memcmp(entry.mac, gid->mac, sizeof(entry.mac)) == 0 &&
	       memcmp(entry.raw, gid->raw, sizeof(entry.raw)) == 0;
}

const struct ib_gid_attr *smc_ib_gid_hold(struct ib_device *ibdev, u8 port,
					  const struct smc_ib_gid *gid)
{
	const int entries = smc_ib_gid_entries(ibdev, port);
	const struct ib_gid_attr *attr;
	bool found;
	int i;

	for (i = 0; i < entries; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		found = smc_ib_gid_is_rcu(attr, gid);
		rcu_read_unlock();
		if (found)
			return attr;
		rdma_put_gid_attr(attr);
	}
	return NULL;
}

struct net_device *smc_ib_gid_netdev(struct ib_device *ibdev, u8 port,
				     const struct smc_ib_gid *gid)
{
	const struct ib_gid_attr *attr = smc_ib_gid_hold(ibdev, port, gid);
	struct net_device *netdev;

	if (!attr)
		return NULL;
	rcu_read_lock();
	netdev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(netdev))
		netdev = NULL;
	dev_hold(netdev);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return netdev;
}
