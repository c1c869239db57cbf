/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The option of SMC among those of a TCP header, for kernel/tcp_option_own.c. @options: what
 * follows the 20 bytes of the header, @length bytes of it, from anybody. Any context, also with
 * preemption off.
 */
#ifndef SMC_KERNEL_ABI_CALLBACKS_TCP_H
#define SMC_KERNEL_ABI_CALLBACKS_TCP_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

bool smc_op_tcp_option_is_there(const u8 *options, size_t length);
/* True if nothing may be changed, since the segment is signed. */
bool smc_op_tcp_options_are_signed(const u8 *options, size_t length);
/* What is written for the option, in bytes: whole words of TCP. */
#define SMC_TCP_OPTION_BYTES 8
void smc_op_tcp_option_write(u8 out[SMC_TCP_OPTION_BYTES]);

SMC_ABI_END

#endif
