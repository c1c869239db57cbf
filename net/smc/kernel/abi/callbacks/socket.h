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
/* True while TCP's stream belongs to the handshake, or is left for SMC. */
bool smc_op_keeps_tcp(struct socket *sock);
/* False during the handshake, and after the end of an SMC connection, whatever TCP's state is. */
bool smc_op_has_peer(struct socket *sock);
/* @state: smc_sock_state(). @flags: those of @msg. @has_control: it has control data. */
int smc_op_sendmsg(void *state, struct socket *sock, struct msghdr *msg, size_t len, u32 flags,
		   bool has_control);
/* @state: smc_sock_state(). @msg has no name: no address comes with a stream's bytes. */
int smc_op_recvmsg(void *state, struct socket *sock, struct msghdr *msg, size_t len, u32 flags);
/* For traces: what carries it, into SMC_IB_NAME_LEN bytes. False if it is not SMC. */
bool smc_op_device_name(struct socket *sock, char *name);
long smc_op_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			unsigned int flags);
/* Sends what MSG_MORE has held back. */
void smc_op_push(struct socket *sock);
/* An option that matters to SMC; C has decoded it. */
enum smc_option {
	SMC_OPTION_NODELAY,	/* TCP_NODELAY, on or off */
	SMC_OPTION_CORK,	/* TCP_CORK, on or off */
	SMC_OPTION_ULP,		/* another TCP upper layer is asked for */
	SMC_OPTION_ADDRFORM,	/* IPV6_ADDRFORM */
	SMC_OPTION_REPAIR,	/* TCP_REPAIR */
	SMC_OPTION_FASTOPEN,	/* TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, … */
};
/*
 * Called before TCP gets the option: 0 lets TCP have it, an errno refuses it. For NODELAY and CORK
 * called after TCP, and returns 0.
 */
int smc_op_option(struct socket *sock, enum smc_option option);
/* SOL_SMC, SMC_LIMIT_HS. 0 or -errno. */
int smc_op_limit_handshakes(struct socket *sock, bool on);
/* The socket's setting, or the namespace's if it has none. */
bool smc_op_limits_handshakes(struct socket *sock);
/*
 * Keeps SO_RCVLOWAT while the CLC exchange uses the sock's own. False if it does not: then the
 * sock's value is the user's. With the sock's lock. getsockopt() reads the sock's value directly.
 */
bool smc_op_keep_rcvlowat(struct socket *sock, int bytes);
/*
 * A fallen socket is about to become TCP's: nothing of ours is put into its sock any more. With the
 * sock's lock; NULL is fine.
 */
void smc_op_stop_limiting(void *state);
/*
 * The state of a fallen socket stops using the socket and the sock, which may be freed before
 * smc_op_forget(). Process context; NULL is fine.
 */
void smc_op_leave(void *state);
/* After that: frees the state. Process context; NULL is fine. */
void smc_op_forget(void *state);

SMC_ABI_END

#endif
