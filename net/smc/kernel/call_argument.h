/* SPDX-License-Identifier: GPL-2.0-only */
/* What a function was called with, by the registers at its first instruction. */
#ifndef SMC_KERNEL_CALL_ARGUMENT_H
#define SMC_KERNEL_CALL_ARGUMENT_H

#include <linux/ptrace.h>

/* Without it there is no such handler. */
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API

/*
 * The nth argument, from 0, of those that fill a register or a word each. For handlers of kprobes.
 *
 * s390's regs_get_kernel_argument() needs functions that modules cannot call. Five arguments are in
 * registers there, the rest above the frame that the caller has made (its ELF ABI).
 */
static inline unsigned long smc_call_argument(struct pt_regs *regs, unsigned int n)
{
#ifdef CONFIG_S390
	const unsigned int in_registers = 5;
	const unsigned long *above = (const unsigned long *)(regs->gprs[15] + STACK_FRAME_OVERHEAD);

	return n < in_registers ? regs->gprs[2 + n] : above[n - in_registers];
#else
	return regs_get_kernel_argument(regs, n);
#endif
}

#endif /* CONFIG_HAVE_FUNCTION_ARG_ACCESS_API */

#endif
