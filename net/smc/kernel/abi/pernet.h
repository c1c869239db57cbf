/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What belongs to one network namespace: its sysctls, its counters
 * (kernel/abi/stats.h) and the control plane's state (kernel/abi/control.h).
 *
 * A namespace's values may be read for as long as the namespace lives and
 * the module has not called smc_pernet_exit(). All accessors: any context.
 */
#ifndef SMC_KERNEL_ABI_PERNET_H
#define SMC_KERNEL_ABI_PERNET_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * Between the two no namespace ends, but for its sockets; one that was about to waits. Process
 * context.
 */
void smc_pernet_hold_exits(void);
void smc_pernet_resume_exits(void);

/* sysctl net.smc.*; the ranges are enforced when a value is written. */
u32 smc_sysctl_autocorking_size(struct net *net);	/* bytes, 0 = off */
u32 smc_sysctl_smcr_buf_type(struct net *net);		/* SMC_BUF_TYPE_* */
u32 smc_sysctl_smcr_testlink_time_s(struct net *net);	/* seconds, 0 = off */
u32 smc_sysctl_wmem(struct net *net);			/* bytes, 16 KiB .. 1 GiB - 1 */
u32 smc_sysctl_rmem(struct net *net);
u32 smc_sysctl_smcr_max_links_per_lgr(struct net *net);	/* 1 .. 2 */
u32 smc_sysctl_smcr_max_conns_per_lgr(struct net *net);	/* 16 .. 255 */
/* Which sockets may meet over the loopback device (SMC-D). */
u32 smc_sysctl_smcd_loopback(struct net *net);		/* SMC_LOOPBACK_* */
/* See shell/control/eid.hpp. */
bool smc_sysctl_inherit_eids(struct net *net);
bool smc_sysctl_default_eid(struct net *net);
/* Whether connections may go by RDMA ports of the initial namespace. */
u32 smc_sysctl_host_ports(struct net *net);	/* SMC_HOST_PORTS_* */
/*
 * Whether TCP's connection may end with a RST after both ends have closed, inside one host and in
 * new link groups, if the peer does so, too.
 */
bool smc_sysctl_end_by_reset(struct net *net);
/* Whether new link groups may use compact messages, if the peer can. */
bool smc_sysctl_smcr_compact(struct net *net);
/* The same of rings that grow with use. */
bool smc_sysctl_smcr_growing_rings(struct net *net);
/* Elements of one RMB, at most: the connections that one rkey serves. */
u32 smc_sysctl_smcr_rmb_elements(struct net *net);	/* 1 .. 255 */
/* Seconds for which a stranger is remembered, 0 = not at all. */
u32 smc_sysctl_plain_peer_time_s(struct net *net);
/*
 * Refuse new handshakes while too many are under way. Also switched by
 * netlink and, for one listener, by setsockopt(SOL_SMC, SMC_LIMIT_HS).
 */
bool smc_sysctl_limit_smc_hs(struct net *net);

enum {
	SMC_BUF_TYPE_PHYS,	/* physically contiguous */
	SMC_BUF_TYPE_VIRT,	/* vmalloc */
	SMC_BUF_TYPE_MIXED,	/* contiguous if it can be had, else vmalloc */
};

enum {
	SMC_LOOPBACK_OFF,
	SMC_LOOPBACK_NAMESPACE,	/* sockets of the same network namespace */
	SMC_LOOPBACK_KERNEL,	/* also of other namespaces with this value */
};

enum {
	SMC_HOST_PORTS_NONE,
	SMC_HOST_PORTS_PNET,	/* those with the PNET ID of the connection's network device */
	SMC_HOST_PORTS_ROUTE,	/* also the one on the host's route to the peer */
};

/* The host's name as it goes into CLC messages: blank padded, no NUL. */
#define SMC_HOSTNAME_LEN 32
void smc_hostname(u8 out[SMC_HOSTNAME_LEN]);
/*
 * The same for the calling process' container, whose name may differ: not every user of it is to
 * learn the host's. Process, in a user's call.
 */
void smc_hostname_of_caller(u8 out[SMC_HOSTNAME_LEN]);

/*
 * The namespace in which RDMA devices are configured: only there are their PNET IDs set and looked
 * up.
 */
struct net *smc_init_net(void);

/* For shell/control: what smc_control_net_create() returned for @net. */
void *smc_pernet_control(struct net *net);

SMC_ABI_END

#endif
