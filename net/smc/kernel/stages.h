/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stages that module.c sets up when the module is loaded, and tears down when it is unloaded,
 * except the C++ half (kernel/abi/callbacks/module.h). Process context; 0 or -errno, and on error
 * nothing stays.
 */
#ifndef SMC_KERNEL_STAGES_H
#define SMC_KERNEL_STAGES_H

/* work.c */
int smc_work_setup(void);
void smc_work_teardown(void);

/*
 * pernet.c; before everything that makes sockets and groups. Torn down last, because counters are
 * used until the last group is gone.
 */
int smc_pernet_init(void);
void smc_pernet_exit(void);

/* verbs_completion.c; before all links. */
int smc_ib_completions_setup(void);
void smc_ib_completions_teardown(void);

/*
 * verbs_registry.c. Init delivers smc_ib_device_added() for every device that is already
 * there, exit smc_ib_device_removing() for every device that still is. Before exit C++
 * should have destroyed all links and buffers.
 */
int smc_ib_init(void);
void smc_ib_exit(void);

/* tcp_option_*.c: the option can be written and read (RFC 7609 section 3.1). */
int smc_tcp_setup(void);
void smc_tcp_teardown(void);

/*
 * netlink.c: the families SMC_PNETID and SMC_GEN_NETLINK. netlink_peers.c: the family SMC_PEERS.
 * User space can call these, so the objects that they show exist before. Dumps begin when the
 * module is loaded: see smc_nl_dump_begin().
 */
int smc_netlink_init(void);
void smc_netlink_exit(void);
int smc_netlink_peers_init(void);
void smc_netlink_peers_exit(void);

/* sock_family.c: PF_SMC and IPPROTO_SMC. Sockets can be made from here on. */
int smc_sock_setup(void);
void smc_sock_teardown(void);

/*
 * diag.c: sock_diag of AF_SMC. Does not fail; and after it nothing does, since loading that fails
 * does not wait for a dump.
 */
int smc_diag_init(void);
void smc_diag_exit(void);

/* sock_select.c: other sockets are made SMC sockets. Does not fail. */
int smc_select_setup(void);
void smc_select_teardown(void);

#endif
