// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces: where the module's state in one is found.
 */
#include <net/net_namespace.h>

#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"

unsigned int smc_pernet_id __read_mostly;

void *smc_pernet_control(struct net *net)
{
	return smc_pernet(net)->control;
}

struct net *smc_init_net(void)
{
	return &init_net;
}

u64 smc_net_cookie(struct net *net)
{
#ifdef HAVE_NET_COOKIE_NUMBER
	return net->net_cookie;
#else
	return atomic64_read(&net->net_cookie);
#endif
}
