// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces: where the module's state in one is found.
 */
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"

unsigned int smc_pernet_id __read_mostly;

struct smc_pernet *smc_pernet(const struct net *net)
{
	struct smc_pernet *pn;

	/*
	 * As net_generic(), which calls into RCU twice; a short connection asks for it 60 times.
	 * The array is replaced, and freed by RCU, when more modules have come.
	 */
	preempt_disable();
	pn = rcu_dereference_sched(net->gen)->ptr[smc_pernet_id];
	preempt_enable();
	return pn;
}

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
