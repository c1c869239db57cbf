/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life of the C++ half as a whole. Defined in shell/module.cc; process context.
 */
#ifndef SMC_KERNEL_ABI_CALLBACKS_MODULE_H
#define SMC_KERNEL_ABI_CALLBACKS_MODULE_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Before devices and sockets can appear. 0 or -errno. */
int smc_shell_setup(void);
/*
 * After the last socket and the last device have gone: waits for work under way, and frees the
 * rest.
 */
void smc_shell_teardown(void);

SMC_ABI_END

#endif
