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

static enum smc_ib_gid_rank smc_ib_gid_rank_rcu(const struct ib_gid_attr *attr,
						const struct smc_ib_gid_query *query,
						struct smc_ib_gid *out)
{
	struct net_device *netdev = rdma_read_gid_attr_ndev_rcu(attr);
	u16 vlan_id = 0xffff;
	__be32 wanted;
	__be32 own;

	if (IS_ERR(netdev) || (query->net && !net_eq(dev_net(netdev), query->net)))
		return SMC_IB_GID_UNFIT;
	if (rdma_read_gid_l2_fields(attr, &vlan_id, out->mac))
		return SMC_IB_GID_UNFIT;
	if (vlan_id == 0xffff)
		vlan_id = 0;
	if (vlan_id != query->vlan_id)
		return SMC_IB_GID_UNFIT;

	memcpy(out->raw, attr->gid.raw, sizeof(out->raw));
	out->vlan_id = vlan_id;
	out->index = attr->index;
	out->ifindex = netdev->ifindex;
	switch (query->type) {
	case SMC_IB_GID_ROCE_V1:
		return attr->gid_type == IB_GID_TYPE_ROCE ? SMC_IB_GID_FITS : SMC_IB_GID_UNFIT;
	case SMC_IB_GID_ROCE_V2:
		own = smc_ib_gid_ipv4(&attr->gid);
		if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP || !own)
			return SMC_IB_GID_UNFIT;
		memcpy(&wanted, query->ipv4, sizeof(wanted));
		return smc_ib_gid_rank_ipv4(netdev, own, wanted);
	}
	return SMC_IB_GID_UNFIT;
}

static int smc_ib_gid_search(struct ib_device *ibdev, u8 port,
			     const struct smc_ib_gid_query *query, struct smc_ib_gid *out)
{
	enum smc_ib_gid_rank best = SMC_IB_GID_UNFIT;
	enum smc_ib_gid_rank rank;
	const struct ib_gid_attr *attr;
	struct smc_ib_gid candidate;
	int entries;
	int i;

	if (!rdma_is_port_valid(ibdev, port) || !rdma_protocol_roce(ibdev, port))
		return -ENOENT;
	/* An address handle has 8 bits for the index. */
	entries = min(ibdev->port_data[port].immutable.gid_tbl_len, U8_MAX + 1);
	for (i = 0; i < entries; i++) {
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

struct net_device *smc_ib_gid_netdev(struct ib_device *ibdev, u8 port,
				     const struct smc_ib_gid *gid)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, gid->index);
	struct net_device *netdev = NULL;

	if (IS_ERR(attr))
		return NULL;
	rcu_read_lock();
	if (memcmp(attr->gid.raw, gid->raw, sizeof(gid->raw)) == 0)
		netdev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(netdev))
		netdev = NULL;
	dev_hold(netdev);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return netdev;
}
