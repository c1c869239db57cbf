// SPDX-License-Identifier: GPL-2.0-only
/*
 * alloc_netdev_dummy() makes the network device that nobody registers; before, its user did.
 * Since 6.10 (f8c4c8b3bfc4, "net: create a dummy net_device allocator").
 * exported: alloc_netdev_dummy
 */
#include <linux/netdevice.h>

struct net_device *probe(void);
struct net_device *probe(void)
{
	return alloc_netdev_dummy(0);
}
