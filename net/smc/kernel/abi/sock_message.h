/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of send and receive.
 */
#ifndef SMC_KERNEL_ABI_SOCK_MESSAGE_H
#define SMC_KERNEL_ABI_SOCK_MESSAGE_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

#define SMC_MSG_OOB 0x1u
#define SMC_MSG_PEEK 0x2u
#define SMC_MSG_TRUNC 0x20u
#define SMC_MSG_DONTWAIT 0x40u
#define SMC_MSG_WAITALL 0x100u
#define SMC_MSG_MORE 0x8000u
#define SMC_MSG_ERRQUEUE 0x2000u
#define SMC_MSG_NOSIGNAL 0x4000u
#define SMC_MSG_ZEROCOPY 0x4000000u
#define SMC_MSG_FASTOPEN 0x20000000u
/* Bytes copied; fewer than @len means EFAULT. Sleeps. */
size_t smc_msg_copy_from(struct msghdr *msg, void *to, size_t len);
size_t smc_msg_copy_to(struct msghdr *msg, const void *from, size_t len);
/*
 * The same for all of @len and without sleeping, in a process, also under spinlocks. False: a page
 * of the user's is not there, or the bytes lie in something else than memory of a process or of the
 * kernel. Then nothing counts as copied, though some of it may have been.
 */
bool smc_msg_copy_from_at_once(struct msghdr *msg, void *to, size_t len);
bool smc_msg_copy_to_at_once(struct msghdr *msg, const void *from, size_t len);
/* Control data of a send: refused, or ignored, as TCP does. */
bool smc_msg_control_is_good(struct sock *sk, struct msghdr *msg);
void smc_msg_add_flags(struct msghdr *msg, u32 flags);
/* TCP_INQ: reports how many bytes are left, if smc_receive_options wants it. */
void smc_msg_put_inq(const struct sock *sk, struct msghdr *msg, u32 inq_bytes);
/*
 * For a send with MSG_ZEROCOPY alone: on a socket with SO_ZEROCOPY it owes a notification on
 * the error queue. Begin before the send, sock lock held: 0 (@notice stays as it
 * was if none is owed) or -ENOBUFS. End sends it, or none if nothing was @sent.
 */
struct smc_zerocopy;
int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct smc_zerocopy **notice);
void smc_zerocopy_end(struct smc_zerocopy *notice, bool sent);
/* Splices through copies, for a socket whose bytes are not in TCP. */
long smc_splice_read_copy(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			  unsigned int flags);

SMC_ABI_END

#endif
