/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One network namespace's part of the module, shared by the pernet*.c, sysctl.c
 * and the stats*.c. C++ sees it through kernel/abi/pernet.h and kernel/abi/stats.h.
 */
#ifndef SMC_KERNEL_PERNET_H
#define SMC_KERNEL_PERNET_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

struct ctl_table;
struct ctl_table_header;

/* Written by proc handlers without a lock, so read with READ_ONCE(). */
struct smc_sysctl {
	unsigned int autocorking_size;
	unsigned int smcr_buf_type;
	int smcr_testlink_time_s;
	int wmem;
	int rmem;
	int smcr_max_links_per_lgr;
	int smcr_max_conns_per_lgr;
	int limit_smc_hs;
	int smcd_loopback;
	int plain_peer_time_s;
	int inherit_eids;
	int default_eid;
	int host_ports;
	int end_by_reset;
	int smcr_compact;
	int smcr_growing_rings;
	int smcr_rmb_elements;
	int smcr_iwarp_port;
	u32 tcp2smc;
};

struct smc_pernet {
	struct net *net;
	struct smc_sysctl sysctl;
	struct ctl_table *sysctl_table;
	struct ctl_table_header *sysctl_header;
	/* Of the initial namespace only: what all others share. */
	struct ctl_table_header *sysctl_shared_header;
	u64 __percpu *stats;		/* SMC_STATS of them on each CPU */
	void *control;
	/* tcp_address.c: of ours in this namespace, and its place among those that have some. */
	unsigned int listeners;
	struct list_head listening;
};

/* pernet_state.c */
extern unsigned int smc_pernet_id;

/*
 * As net_generic(), which calls into RCU twice; a short connection asks for it 60 times. The array
 * is replaced, and freed by RCU, when more modules have come.
 */
static inline struct smc_pernet *smc_pernet(const struct net *net)
{
	struct smc_pernet *pn;

	preempt_disable();
	pn = rcu_dereference_sched(net->gen)->ptr[smc_pernet_id];
	preempt_enable();
	return pn;
}

/* Identifies a namespace to user space (NET_COOKIE of a link group). */
u64 smc_net_cookie(struct net *net);

/* sysctl.c */
int smc_sysctl_net_init(struct net *net, struct smc_pernet *pn);
void smc_sysctl_net_exit(struct smc_pernet *pn);
/* What smc_sysctl_limit_smc_hs() says from now on. Any context. */
void smc_sysctl_set_limit_smc_hs(struct net *net, bool on);

/* sock_select.c */
/*
 * Writes a setting by which sockets are selected: not 0 turns selection on. -EOPNOTSUPP: this
 * kernel cannot do it; or another errno of register_kprobe(). Then the setting stays. Process.
 */
int smc_select_set(u32 *setting, u32 value);
/* The setting for marked sockets, of all namespaces. */
u32 *smc_select_mark(void);

/* stats.c */
int smc_stats_net_init(struct smc_pernet *pn);
void smc_stats_net_exit(struct smc_pernet *pn);
/* Sum over all CPUs; 0 for an index out of range (kernel/abi/stats.h). Any context. */
u64 smc_stat_read(struct net *net, u32 index);

/* stats_proc.c */
int smc_stats_proc_init(struct net *net);
/* Afterwards nobody can read the counters. */
void smc_stats_proc_exit(struct net *net);

#endif
