/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integer types and calling convention shared by both languages of the
 * contract between kernel/ (C) and shell/ (C++).
 */
#ifndef SMC_KERNEL_ABI_TYPES_H
#define SMC_KERNEL_ABI_TYPES_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
/* The kernel's u64 is unsigned long long on every architecture. */
using u64 = unsigned long long;
using s32 = std::int32_t;
using s64 = long long;
using std::size_t;

#define SMC_ABI_BEGIN extern "C" {
#define SMC_ABI_END }
#else
#include <linux/types.h>

#define SMC_ABI_BEGIN
#define SMC_ABI_END
#endif

/* Kernel objects that C++ only ever sees as handles. */
struct file;
struct msghdr;
struct net;
struct pipe_inode_info;
struct poll_table_struct;
struct sock;
struct sockaddr;
struct socket;

#endif
