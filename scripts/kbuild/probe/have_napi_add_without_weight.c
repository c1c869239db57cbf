// SPDX-License-Identifier: GPL-2.0-only
/*
 * netif_napi_add() takes the usual weight, and none from its caller.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/netdevice.h>

void probe(struct net_device *device, struct napi_struct *napi,
	   int (*poll)(struct napi_struct *napi, int budget));
void probe(struct net_device *device, struct napi_struct *napi,
	   int (*poll)(struct napi_struct *napi, int budget))
{
	netif_napi_add(device, napi, poll);
}
