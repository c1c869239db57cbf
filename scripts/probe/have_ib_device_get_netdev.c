// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netdev under an RDMA port, asked of the RDMA core, whatever way the driver told it.
 * Exported since 6.12 (8d159eb2117b, "RDMA/mlx5: Use IB set_netdev and get_netdev functions").
 * exported: ib_device_get_netdev
 */
#include <rdma/ib_verbs.h>

struct net_device *probe(struct ib_device *ibdev);
struct net_device *probe(struct ib_device *ibdev)
{
	return ib_device_get_netdev(ibdev, 1);
}
