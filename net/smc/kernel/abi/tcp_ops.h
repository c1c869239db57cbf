/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP's own calls, for sockets of ours.
 */
#ifndef SMC_KERNEL_ABI_TCP_OPS_H
#define SMC_KERNEL_ABI_TCP_OPS_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

int smc_tcp_ops_release(struct socket *sock);
int smc_tcp_ops_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
/* The same with the sock's lock held, which it lets go of while it waits. */
int smc_tcp_connect_locked(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
u32 smc_tcp_ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int smc_tcp_ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int smc_tcp_ops_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern);
int smc_tcp_ops_listen(struct socket *sock, int backlog);
int smc_tcp_ops_shutdown(struct socket *sock, int how);
int smc_tcp_ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int smc_tcp_ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
long smc_tcp_ops_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe,
			     size_t len, unsigned int flags);

SMC_ABI_END

#endif
