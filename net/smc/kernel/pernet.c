// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces: state of the module in each of them.
 */
#include <linux/mutex.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"

static unsigned int smc_pernet_id __read_mostly;
/* Held while a namespace ends, and while what that would tell is taken apart. */
static DEFINE_MUTEX(exit_mutex);

struct smc_pernet *smc_pernet(const struct net *net)
{
	return net_generic(net, smc_pernet_id);
}

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

	pn->control = smc_control_net_create(net);
	if (!pn->control)
		return -ENOMEM;

	ret = smc_stats_net_init(pn);
	if (ret)
		goto err_stats;

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
	smc_stats_net_exit(pn);
err_stats:
	end_control(net, pn);
	return ret;
}

/*
 * Of those that end together each comes here before the first one comes to .exit, so
 * that dead peers of all of them are waited for at the same time.
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
	/* What ends now still reads sysctls and counts. */
	end_control(net, pn);
	smc_sysctl_net_exit(pn);
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
	return net->net_cookie;
}

/* No lock; who renames the host right now gets a mixture once. */
static void put_nodename(const struct new_utsname *uts, u8 out[SMC_HOSTNAME_LEN])
{
	size_t len = strnlen(uts->nodename, SMC_HOSTNAME_LEN);

	memset(out, ' ', SMC_HOSTNAME_LEN);
	memcpy(out, uts->nodename, len);
}

void smc_hostname(u8 out[SMC_HOSTNAME_LEN])
{
	/* The host's name, not a container's: groups may serve several of these. */
	put_nodename(init_utsname(), out);
}

void smc_hostname_of_caller(u8 out[SMC_HOSTNAME_LEN])
{
	put_nodename(utsname(), out);
}
