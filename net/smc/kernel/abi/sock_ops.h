/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How SMC sockets become TCP sockets again.
 */
#ifndef SMC_KERNEL_ABI_SOCK_OPS_H
#define SMC_KERNEL_ABI_SOCK_OPS_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * Makes it a TCP socket for good: every later call runs TCP's own code. The
 * reference on the module stays with the socket until it is released. Any
 * context, more than once.
 */
void smc_sock_fall(struct socket *sock);
/* The same for a socket that accept() has not shown to anybody yet. */
void smc_sock_make_plain(struct socket *new_sock);

SMC_ABI_END

#endif
