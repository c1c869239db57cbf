/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between kernel/ (C) and shell/ (C++). Both languages include it,
 * so that the compiler checks both sides. Functions named smc_op_* and the
 * callbacks in verbs.h are defined in C++, all others in C.
 */
#ifndef SMC_KERNEL_ABI_H
#define SMC_KERNEL_ABI_H

#include "kernel/abi/lock.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/types.h"

#endif
