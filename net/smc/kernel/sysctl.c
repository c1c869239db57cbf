// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.smc.*: names, defaults and ranges of the kernel's own module of 6.12, on
 * every kernel; smcd_loopback is this module's own.
 */
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/time64.h>
#include <net/net_namespace.h>

#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"

static int smc_buf_min = SZ_16K;
static int smc_buf_max = INT_MAX / 2;
static int smc_links_min = 1;
static int smc_links_max = 2;
static int smc_conns_min = 16;
static int smc_conns_max = 255;
/* It has to fit into an int in milliseconds, too. */
static int smc_testlink_max = INT_MAX / MSEC_PER_SEC;

static const struct smc_sysctl smc_sysctl_defaults = {
	.autocorking_size	= SZ_64K,
	.smcr_buf_type		= SMC_BUF_TYPE_PHYS,
	.smcr_testlink_time_s	= 30,
	.wmem			= SZ_64K,
	.rmem			= SZ_64K,
	.smcr_max_links_per_lgr	= 2,
	.smcr_max_conns_per_lgr	= 255,
	.limit_smc_hs		= 0,
	.smcd_loopback		= SMC_LOOPBACK_KERNEL,
};

/* .data is an offset here; each namespace's copy gets its address added. */
#define SMC_SYSCTL(name, member, handler, min, max)			\
	{								\
		.procname	= name,					\
		.data		= (void *)offsetof(struct smc_sysctl, member), \
		.maxlen		= sizeof_field(struct smc_sysctl, member), \
		.mode		= 0644,					\
		.proc_handler	= handler,				\
		.extra1		= min,					\
		.extra2		= max,					\
	}

static const struct ctl_table smc_sysctl_template[] = {
	SMC_SYSCTL("autocorking_size", autocorking_size, proc_douintvec, NULL, NULL),
	SMC_SYSCTL("smcr_buf_type", smcr_buf_type, proc_douintvec_minmax,
		   SYSCTL_ZERO, SYSCTL_TWO),
	SMC_SYSCTL("smcr_testlink_time", smcr_testlink_time_s, proc_dointvec_minmax,
		   SYSCTL_ZERO, &smc_testlink_max),
	SMC_SYSCTL("wmem", wmem, proc_dointvec_minmax, &smc_buf_min, &smc_buf_max),
	SMC_SYSCTL("rmem", rmem, proc_dointvec_minmax, &smc_buf_min, &smc_buf_max),
	SMC_SYSCTL("smcr_max_links_per_lgr", smcr_max_links_per_lgr, proc_dointvec_minmax,
		   &smc_links_min, &smc_links_max),
	SMC_SYSCTL("smcr_max_conns_per_lgr", smcr_max_conns_per_lgr, proc_dointvec_minmax,
		   &smc_conns_min, &smc_conns_max),
	SMC_SYSCTL("limit_smc_hs", limit_smc_hs, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	SMC_SYSCTL("smcd_loopback", smcd_loopback, proc_dointvec_minmax,
		   SYSCTL_ZERO, SYSCTL_TWO),
	{ }
};

#define SMC_SYSCTLS (ARRAY_SIZE(smc_sysctl_template) - 1)

static struct ctl_table_header *smc_sysctl_register(struct net *net, struct ctl_table *table)
{
#ifdef HAVE_REGISTER_NET_SYSCTL_SZ
	return register_net_sysctl_sz(net, "net/smc", table, SMC_SYSCTLS);
#else
	/* Older kernels look for the empty row at the end. */
	return register_net_sysctl(net, "net/smc", table);
#endif
}

int smc_sysctl_net_init(struct net *net, struct smc_pernet *pn)
{
	struct ctl_table *table;
	size_t i;

	pn->sysctl = smc_sysctl_defaults;
	/* Without sysctls the defaults apply. */
	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;

	table = kmemdup(smc_sysctl_template, sizeof(smc_sysctl_template), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < SMC_SYSCTLS; i++)
		table[i].data += (uintptr_t)&pn->sysctl;

	pn->sysctl_header = smc_sysctl_register(net, table);
	if (!pn->sysctl_header) {
		kfree(table);
		return -ENOMEM;
	}
	pn->sysctl_table = table;
	return 0;
}

void smc_sysctl_net_exit(struct smc_pernet *pn)
{
	if (!pn->sysctl_header)
		return;
	unregister_net_sysctl_table(pn->sysctl_header);
	kfree(pn->sysctl_table);
}

u32 smc_sysctl_autocorking_size(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.autocorking_size);
}

u32 smc_sysctl_smcr_buf_type(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_buf_type);
}

u32 smc_sysctl_smcr_testlink_time_s(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_testlink_time_s);
}

u32 smc_sysctl_wmem(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.wmem);
}

u32 smc_sysctl_rmem(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.rmem);
}

u32 smc_sysctl_smcr_max_conns_per_lgr(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_max_conns_per_lgr);
}

bool smc_sysctl_limit_smc_hs(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.limit_smc_hs);
}

u32 smc_sysctl_smcd_loopback(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcd_loopback);
}

void smc_sysctl_set_limit_smc_hs(struct net *net, bool on)
{
	WRITE_ONCE(smc_pernet(net)->sysctl.limit_smc_hs, on);
}
