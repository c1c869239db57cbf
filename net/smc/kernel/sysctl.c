// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.smc.*: names, defaults and ranges of the kernel's own module of 6.12, on
 * every kernel; smcd_loopback, plain_peer_time, inherit_eids, default_eid, host_ports,
 * end_by_reset, smcr_compact, smcr_growing_rings, smcr_rmb_elements, smcr_iwarp_port, tcp2smc and
 * tcp2smc_mark are this module's own.
 */
#include <linux/capability.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/time64.h>
#include <net/net_namespace.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/pernet.h"

#ifdef HAVE_CONST_CTL_TABLE
#define SMC_CTL_CONST const
#else
#define SMC_CTL_CONST
#endif

static int smc_buf_min = SZ_16K;
static int smc_buf_max = INT_MAX / 2;
static int smc_links_min = 1;
static int smc_links_max = 2;
static int smc_conns_min = 16;
static int smc_conns_max = 255;
static int smc_elements_max = 255;
static int smc_port_max = U16_MAX;
/* It has to fit into an int in milliseconds, too. */
static int smc_testlink_max = INT_MAX / MSEC_PER_SEC;
static int smc_peer_time_max = 86400;

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
	.plain_peer_time_s	= 600,
	.inherit_eids		= 1,
	.default_eid		= 1,
	.end_by_reset		= 1,
	.smcr_compact		= 1,
	.smcr_growing_rings	= 1,
	.smcr_rmb_elements	= 255,
};

/* For settings by which connections of one namespace may reach more peers. */
static int smc_proc_reach(struct smc_pernet *pn, SMC_CTL_CONST struct ctl_table *table, int write,
			  void *buffer, size_t *length, loff_t *position)
{
	const int *setting = table->data;
	int before = READ_ONCE(*setting);
	int ret = proc_dointvec_minmax(table, write, buffer, length, position);

	if (READ_ONCE(*setting) != before)
		smc_ctl_reach_changed(pn->net);
	return ret;
}

#define SMC_PROC_REACH(member)						\
static int smc_proc_ ## member(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer, \
			       size_t *length, loff_t *position)	\
{									\
	int *setting = table->data;					\
									\
	return smc_proc_reach(container_of(setting, struct smc_pernet, sysctl.member), table, \
			      write, buffer, length, position);		\
}

SMC_PROC_REACH(smcd_loopback)
SMC_PROC_REACH(inherit_eids)
SMC_PROC_REACH(default_eid)
SMC_PROC_REACH(host_ports)

/*
 * What a container may use of the host is the host's administrator's to say, not that of the user
 * namespace that owns the container's network.
 */
static int smc_proc_host(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			 size_t *length, loff_t *position)
{
	if (write && !capable(CAP_NET_ADMIN))
		return -EPERM;
	return smc_proc_host_ports(table, write, buffer, length, position);
}

/* Writes by smc_select_set(), whose errno a writer gets. */
static int smc_proc_select(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			   size_t *length, loff_t *position)
{
	u32 value = READ_ONCE(*(u32 *)table->data);
	struct ctl_table copy = *table;
	int ret;

	copy.data = &value;
	ret = proc_douintvec_minmax(&copy, write, buffer, length, position);
	if (ret || !write)
		return ret;
	return smc_select_set(table->data, value);
}

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
	SMC_SYSCTL("smcd_loopback", smcd_loopback, smc_proc_smcd_loopback, SYSCTL_ZERO, SYSCTL_TWO),
	SMC_SYSCTL("plain_peer_time", plain_peer_time_s, proc_dointvec_minmax,
		   SYSCTL_ZERO, &smc_peer_time_max),
	SMC_SYSCTL("inherit_eids", inherit_eids, smc_proc_inherit_eids, SYSCTL_ZERO, SYSCTL_ONE),
	SMC_SYSCTL("default_eid", default_eid, smc_proc_default_eid, SYSCTL_ZERO, SYSCTL_ONE),
	SMC_SYSCTL("host_ports", host_ports, smc_proc_host, SYSCTL_ZERO, SYSCTL_TWO),
	SMC_SYSCTL("end_by_reset", end_by_reset, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	SMC_SYSCTL("smcr_compact", smcr_compact, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	SMC_SYSCTL("smcr_growing_rings", smcr_growing_rings, proc_dointvec_minmax, SYSCTL_ZERO,
		   SYSCTL_ONE),
	SMC_SYSCTL("smcr_rmb_elements", smcr_rmb_elements, proc_dointvec_minmax,
		   SYSCTL_ONE, &smc_elements_max),
	SMC_SYSCTL("smcr_iwarp_port", smcr_iwarp_port, proc_dointvec_minmax,
		   SYSCTL_ZERO, &smc_port_max),
	SMC_SYSCTL("tcp2smc", tcp2smc, smc_proc_select, SYSCTL_ZERO, SYSCTL_ONE),
	{ }
};

/* Not a namespace's own; its data is set when it is registered. */
static struct ctl_table smc_sysctl_shared[] = {
	{
		.procname	= "tcp2smc_mark",
		.maxlen		= sizeof(u32),
		.mode		= 0644,
		.proc_handler	= smc_proc_select,
	},
	{ }
};

static struct ctl_table_header *smc_sysctl_register(struct net *net, struct ctl_table *table,
						    size_t rows)
{
#ifdef HAVE_REGISTER_NET_SYSCTL_SZ
	return register_net_sysctl_sz(net, "net/smc", table, rows - 1);
#else
	/* Older kernels look for the empty row at the end. */
	return register_net_sysctl(net, "net/smc", table);
#endif
}

int smc_sysctl_net_init(struct net *net, struct smc_pernet *pn)
{
	struct ctl_table *table;
	size_t i;

	pn->net = net;
	pn->sysctl = smc_sysctl_defaults;
	if (!net_eq(net, &init_net))
		pn->sysctl.host_ports = smc_sysctl_host_ports(&init_net);
	/* Without sysctls the defaults apply. */
	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;

	table = kmemdup(smc_sysctl_template, sizeof(smc_sysctl_template), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(smc_sysctl_template) - 1; i++)
		table[i].data += (uintptr_t)&pn->sysctl;

	pn->sysctl_header = smc_sysctl_register(net, table, ARRAY_SIZE(smc_sysctl_template));
	if (!pn->sysctl_header)
		goto err_table;
	if (net_eq(net, &init_net)) {
		smc_sysctl_shared[0].data = smc_select_mark();
		pn->sysctl_shared_header = smc_sysctl_register(net, smc_sysctl_shared,
							       ARRAY_SIZE(smc_sysctl_shared));
		if (!pn->sysctl_shared_header)
			goto err_shared;
	}
	pn->sysctl_table = table;
	return 0;

err_shared:
	unregister_net_sysctl_table(pn->sysctl_header);
	pn->sysctl_header = NULL;
err_table:
	kfree(table);
	return -ENOMEM;
}

void smc_sysctl_net_exit(struct smc_pernet *pn)
{
	if (!pn->sysctl_header)
		return;
	if (pn->sysctl_shared_header) {
		unregister_net_sysctl_table(pn->sysctl_shared_header);
		(void)smc_select_set(smc_select_mark(), 0);
	}
	unregister_net_sysctl_table(pn->sysctl_header);
	kfree(pn->sysctl_table);
	/* Nobody can write it any more. */
	(void)smc_select_set(&pn->sysctl.tcp2smc, 0);
}

u32 smc_sysctl_autocorking_size(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.autocorking_size);
}

u32 smc_sysctl_smcr_buf_type(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_buf_type);
}

u32 smc_sysctl_smcr_rmb_elements(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_rmb_elements);
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

u32 smc_sysctl_smcr_max_links_per_lgr(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_max_links_per_lgr);
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

bool smc_sysctl_inherit_eids(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.inherit_eids);
}

bool smc_sysctl_default_eid(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.default_eid);
}

u32 smc_sysctl_host_ports(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.host_ports);
}

bool smc_sysctl_end_by_reset(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.end_by_reset);
}

bool smc_sysctl_smcr_compact(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_compact);
}

bool smc_sysctl_smcr_growing_rings(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.smcr_growing_rings);
}

u32 smc_sysctl_plain_peer_time_s(struct net *net)
{
	return READ_ONCE(smc_pernet(net)->sysctl.plain_peer_time_s);
}

void smc_sysctl_set_limit_smc_hs(struct net *net, bool on)
{
	WRITE_ONCE(smc_pernet(net)->sysctl.limit_smc_hs, on);
}
