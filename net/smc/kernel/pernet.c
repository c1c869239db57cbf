// SPDX-License-Identifier: GPL-2.0-only
/* Network namespaces: what happens when one begins and ends. */
#include <linux/mutex.h>
#include <net/net_namespace.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"
#include "kernel/stages.h"

/* Held while a namespace ends, and while the module takes apart what that uses. */
static DEFINE_MUTEX(exit_mutex);

static void end_control(struct net *net, struct smc_pernet *pn)
{
	mutex_lock(&exit_mutex);
	smc_control_net_destroy(net, pn->control);
	mutex_unlock(&exit_mutex);
}

static int smc_pernet_net_init(struct net *net)
{
	struct smc_pernet *pn = smc_pernet(net);
	int ret;

	ret = smc_stats_net_init(pn);
	if (ret)
		return ret;

	/* It keeps the counters' address. */
	pn->control = smc_control_net_create(net);
	if (!pn->control) {
		ret = -ENOMEM;
		goto err_control;
	}

	ret = smc_stats_proc_init(net);
	if (ret)
		goto err_proc;

	ret = smc_sysctl_net_init(net, pn);
	if (ret)
		goto err_sysctl;

	return 0;

err_sysctl:
	smc_stats_proc_exit(net);
err_proc:
	end_control(net, pn);
err_control:
	smc_stats_net_exit(pn);
	return ret;
}

/*
 * Of namespaces that end together each one gets here before the first one gets to .exit, so that
 * the dead peers of all of them are waited for at the same time.
 */
static void smc_pernet_net_pre_exit(struct net *net)
{
	mutex_lock(&exit_mutex);
	smc_control_net_leave(net);
	mutex_unlock(&exit_mutex);
}

static void smc_pernet_net_exit(struct net *net)
{
	struct smc_pernet *pn = smc_pernet(net);

	smc_stats_proc_exit(net);
	/* Who writes a setting tells the namespace's objects. */
	smc_sysctl_net_exit(pn);
	/* These, which end here, still read settings and count. */
	end_control(net, pn);
	smc_stats_net_exit(pn);
}

static struct pernet_operations smc_pernet_ops = {
	.init = smc_pernet_net_init,
	.pre_exit = smc_pernet_net_pre_exit,
	.exit = smc_pernet_net_exit,
	.id = &smc_pernet_id,
	.size = sizeof(struct smc_pernet),
};

int smc_pernet_init(void)
{
	return register_pernet_subsys(&smc_pernet_ops);
}

void smc_pernet_exit(void)
{
	unregister_pernet_subsys(&smc_pernet_ops);
}

void smc_pernet_hold_exits(void)
{
	mutex_lock(&exit_mutex);
}

void smc_pernet_resume_exits(void)
{
	mutex_unlock(&exit_mutex);
}
