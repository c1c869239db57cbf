// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of send and receive: their bytes, flags and control data.
 */
#include <linux/fs.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/splice.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "kernel/abi/sock_message.h"
#include "kernel/compat.h"

static_assert(SMC_MSG_OOB == MSG_OOB && SMC_MSG_PEEK == MSG_PEEK);
static_assert(SMC_MSG_TRUNC == MSG_TRUNC && SMC_MSG_DONTWAIT == MSG_DONTWAIT);
static_assert(SMC_MSG_WAITALL == MSG_WAITALL && SMC_MSG_MORE == MSG_MORE);
static_assert(SMC_MSG_ERRQUEUE == MSG_ERRQUEUE && SMC_MSG_NOSIGNAL == MSG_NOSIGNAL);
static_assert(SMC_MSG_FASTOPEN == MSG_FASTOPEN && SMC_MSG_ZEROCOPY == MSG_ZEROCOPY);

size_t smc_msg_copy_from(struct msghdr *msg, void *to, size_t len)
{
	/*
	 * Without hardened usercopy, which would look up a vmalloc()ed ring under a lock each time.
	 */
	return _copy_from_iter(to, len, &msg->msg_iter);
}

size_t smc_msg_copy_to(struct msghdr *msg, const void *from, size_t len)
{
	return _copy_to_iter(from, len, &msg->msg_iter);
}

/* Pages (bvec) are those of sendfile() and splice(). A pipe allocates; other kinds are rare. */
static bool copies_at_once(const struct msghdr *msg)
{
	return user_backed_iter(&msg->msg_iter) || iov_iter_is_kvec(&msg->msg_iter) ||
	       iov_iter_is_bvec(&msg->msg_iter);
}

static bool copied_at_once(struct msghdr *msg, size_t copied, size_t len)
{
	if (likely(copied == len))
		return true;
	iov_iter_revert(&msg->msg_iter, copied);
	return false;
}

bool smc_msg_copy_from_at_once(struct msghdr *msg, void *to, size_t len)
{
	size_t copied;

	if (unlikely(!copies_at_once(msg)))
		return false;
	pagefault_disable();
	copied = smc_msg_copy_from(msg, to, len);
	pagefault_enable();
	return copied_at_once(msg, copied, len);
}

bool smc_msg_copy_to_at_once(struct msghdr *msg, const void *from, size_t len)
{
	size_t copied;

	if (unlikely(!copies_at_once(msg)))
		return false;
	pagefault_disable();
	copied = smc_msg_copy_to(msg, from, len);
	pagefault_enable();
	return copied_at_once(msg, copied, len);
}

bool smc_msg_control_is_good(struct sock *sk, struct msghdr *msg)
{
	struct sockcm_cookie sockc;

	sockcm_init(&sockc, sk);
	return !sock_cmsg_send(sk, msg, &sockc);
}

void smc_msg_add_flags(struct msghdr *msg, u32 flags)
{
	msg->msg_flags |= flags;
}

void smc_msg_put_inq(const struct sock *sk, struct msghdr *msg, u32 inq_bytes)
{
	int value = inq_bytes;

	msg_set_inq(msg, value);
	if (tcp_sk(sk)->recvmsg_inq)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(value), &value);
}

int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct smc_zerocopy **notice)
{
	struct ubuf_info *uarg;

	/* With a uarg of its own (io_uring) the caller notifies. */
	if (!len || msg_has_ubuf(msg) || !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	uarg = msg_zerocopy_realloc(sk, len, NULL, false);
	if (!uarg)
		return -ENOBUFS;
	uarg_to_msgzc(uarg)->zerocopy = 0;
	*notice = (struct smc_zerocopy *)uarg;
	return 0;
}

void smc_zerocopy_end(struct smc_zerocopy *notice, bool sent)
{
	struct ubuf_info *uarg = (struct ubuf_info *)notice;

	if (sent)
		net_zcopy_put(uarg);
	else
		net_zcopy_put_abort(uarg, true);
}

long smc_splice_read_copy(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			  unsigned int flags)
{
#ifdef HAVE_COPY_SPLICE_READ
	return copy_splice_read(sock->file, pos, pipe, len, flags);
#else
	return generic_file_splice_read(sock->file, pos, pipe, len, flags);
#endif
}
