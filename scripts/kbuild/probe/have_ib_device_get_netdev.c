// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules may ask for the net device of an RDMA port: since 6.12, before that the function is
 * the core's own.
 * exported: ib_device_get_netdev
 */
#include <rdma/ib_verbs.h>

struct net_device *probe(struct ib_device *device);
struct net_device *probe(struct ib_device *device)
{
	return ib_device_get_netdev(device, 1);
}
