/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between kernel/ (C) and shell/ (C++). Both languages include it, so that the
 * compiler checks both sides. The functions of abi/callbacks/ are defined in C++ and called by C,
 * all others the other way round.
 */
#ifndef SMC_KERNEL_ABI_H
#define SMC_KERNEL_ABI_H

#include "kernel/abi/lock.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/types.h"

#endif
