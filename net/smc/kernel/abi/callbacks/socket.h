/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls that user space makes on SMC sockets. Defined in shell/socket/ops*.cc; process
 * context. Return values are those of struct proto_ops.
 */
#ifndef SMC_KERNEL_ABI_CALLBACKS_SOCKET_H
#define SMC_KERNEL_ABI_CALLBACKS_SOCKET_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

int smc_op_release(struct socket *sock);
int smc_op_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags);
/* @new_sock has no sock yet; on success it has one, and its final ops. */
int smc_op_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern);
u32 smc_op_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int smc_op_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int smc_op_listen(struct socket *sock, int backlog);
int smc_op_shutdown(struct socket *sock, int how);
/* Is TCP's stream the handshake's, or has it been left for SMC? */
bool smc_op_keeps_tcp(struct socket *sock);
/* False in the handshake, and for an SMC connection that is over, whatever TCP underneath says. */
bool smc_op_has_peer(struct socket *sock);
/* @flags: those of @msg. @has_control: it has control data. */
int smc_op_sendmsg(struct socket *sock, struct msghdr *msg, size_t len, u32 flags,
		   bool has_control);
/* @msg has no name: no address comes with a stream's bytes. */
int smc_op_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, u32 flags);
long smc_op_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			unsigned int flags);
/* Nothing follows what was sent with MSG_MORE. */
void smc_op_push(struct socket *sock);
/* An option that C has already decoded as one that matters to us. */
enum smc_option {
	SMC_OPTION_NODELAY,	/* TCP_NODELAY, on or off */
	SMC_OPTION_CORK,	/* TCP_CORK, on or off */
	SMC_OPTION_ULP,		/* another TCP upper layer is asked for */
	SMC_OPTION_ADDRFORM,	/* IPV6_ADDRFORM */
	SMC_OPTION_REPAIR,	/* TCP_REPAIR */
	SMC_OPTION_FASTOPEN,	/* TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, … */
};
/*
 * Asked before TCP sees the option: 0 lets TCP have it, an errno refuses it. For
 * NODELAY and CORK told after that, and then it is 0.
 */
int smc_op_option(struct socket *sock, enum smc_option option);
/* SOL_SMC, SMC_LIMIT_HS. 0 or -errno. */
int smc_op_limit_handshakes(struct socket *sock, bool on);
/* What it is set to, or the namespace's switch if it was not. */
bool smc_op_limits_handshakes(struct socket *sock);
/*
 * SO_RCVLOWAT while the CLC exchange has its own at work. False: it has not, and the
 * sock's is the user's. With the sock's lock. getsockopt() reads the sock's: no socket
 * has a say in that.
 */
bool smc_op_keep_rcvlowat(struct socket *sock, int bytes);
/*
 * A fallen socket is about to leave: nothing of ours is put into its sock any more.
 * With the sock's lock; NULL is fine.
 */
void smc_op_stop_limiting(void *state);
/*
 * The state of a fallen socket lets go of the socket and of the sock, which may
 * be gone before smc_op_forget(). Process context; NULL is fine.
 */
void smc_op_leave(void *state);
/* After that: it is not needed any more. Process context; NULL is fine. */
void smc_op_forget(void *state);

SMC_ABI_END

#endif
