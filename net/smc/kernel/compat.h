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

/* @devmem: the data are in the memory of a device. */
#ifndef HAVE_ZEROCOPY_DEVMEM
#define msg_zerocopy_realloc(sk, size, uarg, devmem) msg_zerocopy_realloc(sk, size, uarg)
#endif

/* Bound to processors: what a workqueue used to be without a flag. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif
