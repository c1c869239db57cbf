/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What newer kernels call it, for older ones. Probes tell them apart, see
 * Documentation/adding-a-kernel-version.md.
 */
#ifndef SMC_KERNEL_COMPAT_H
#define SMC_KERNEL_COMPAT_H

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/sock.h>

/* An address with another one behind it: bind() and connect() of proto and proto_ops. */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

#ifndef HAVE_SK_UID
static inline kuid_t sk_uid(const struct sock *sk)
{
	return READ_ONCE(sk->sk_uid);
}
#endif

#ifndef HAVE_SK_ERROR_REPORT
static inline void sk_error_report(struct sock *sk)
{
	sk->sk_error_report(sk);
}
#endif

/* Of a netlink family: no request with garbage in reserved bytes from this command on. */
#ifdef HAVE_GENL_RESV_START_OP
#define SMC_NL_RESERVED_IS_ZERO_FROM(op) .resv_start_op = (op),
#else
#define SMC_NL_RESERVED_IS_ZERO_FROM(op)
#endif

/* A level of options that older kernels do not have, and its only one. */
#ifndef SOL_SMC
#define SOL_SMC 286
#define SMC_LIMIT_HS 1
#endif

/* ---- messages -------------------------------------------------------------------- */

/* io_uring's questions and answers in a message, which older kernels do not have. */
#ifdef HAVE_MSG_GET_INQ
static inline bool msg_wants_inq(const struct msghdr *msg)
{
	return msg->msg_get_inq;
}

static inline void msg_set_inq(struct msghdr *msg, int bytes)
{
	msg->msg_inq = bytes;
}
#else
static inline bool msg_wants_inq(const struct msghdr *msg)
{
	return false;
}

static inline void msg_set_inq(struct msghdr *msg, int bytes)
{
}
#endif

/* Before there were other kinds of iterators over a process's memory. */
#ifndef HAVE_USER_BACKED_ITER
#define user_backed_iter(iter) iter_is_iovec(iter)
#endif

#ifdef HAVE_MSG_UBUF
static inline bool msg_has_ubuf(const struct msghdr *msg)
{
	return msg->msg_ubuf;
}
#else
static inline bool msg_has_ubuf(const struct msghdr *msg)
{
	return false;
}
#endif

/* @devmem: the data are in the memory of a device. */
#ifndef HAVE_NET_ZCOPY_PUT
#define msg_zerocopy_realloc(sk, size, uarg, devmem) sock_zerocopy_realloc(sk, size, uarg)
#define net_zcopy_put(uarg) sock_zerocopy_put(uarg)
#define net_zcopy_put_abort(uarg, have_uref) sock_zerocopy_put_abort(uarg, have_uref)
#elif !defined(HAVE_ZEROCOPY_DEVMEM)
#define msg_zerocopy_realloc(sk, size, uarg, devmem) msg_zerocopy_realloc(sk, size, uarg)
#endif

#ifndef HAVE_UARG_TO_MSGZC
#define uarg_to_msgzc(uarg) (uarg)
#endif

/* That a socket takes MSG_ZEROCOPY. Older kernels look at its protocol. */
static inline void sock_allow_zerocopy(struct socket *sock)
{
#ifdef SOCK_SUPPORT_ZC
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
#endif
}

/* Bound to processors: what a workqueue used to be without a flag. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif
