/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink families SMC_PNETID and SMC_GEN_NETLINK and the
 * sock_diag handler of family AF_SMC: what smc_pnet, smcr, smcd and smcss
 * talk to. kernel/abi/pernet.h gives the place of these calls in the order
 * of the module's init and exit.
 */
#ifndef SMC_KERNEL_ABI_NETLINK_H
#define SMC_KERNEL_ABI_NETLINK_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Process context. 0 or a negative errno; on error nothing stays registered. */
int smc_netlink_init(void);
void smc_netlink_exit(void);

int smc_diag_init(void);
void smc_diag_exit(void);

SMC_ABI_END

#endif
