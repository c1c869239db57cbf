// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ops of sockets that are or may become SMC: most of their calls go to C++.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/sock.h>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/control.h"
#include "kernel/abi/sock_wait.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_af.h"
#include "kernel/tcp_option.h"
#include "kernel/tracepoints.h"

static int smc_bind(struct socket *sock, struct sockaddr_unsized *addr, int addr_len)
{
	return smc_base_ops(sock->sk)->bind(sock, addr, addr_len);
}

static int smc_connect(struct socket *sock, struct sockaddr_unsized *addr, int addr_len, int flags)
{
	return smc_op_connect(sock, (struct sockaddr *)addr, addr_len, flags);
}

#ifdef HAVE_PROTO_ACCEPT_ARG
static int smc_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	return smc_op_accept(sock, newsock, arg->flags, arg->kern);
}
#else
static int smc_accept(struct socket *sock, struct socket *newsock, int flags, bool kern)
{
	return smc_op_accept(sock, newsock, flags, kern);
}
#endif

static int smc_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	if (peer == 1 && !smc_op_has_peer(sock))
		return -ENOTCONN;
	return smc_base_ops(sock->sk)->getname(sock, addr, peer);
}

static __poll_t smc_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	return (__force __poll_t)smc_op_poll(file, sock, wait);
}

/* What TCP moves on a socket that has fallen is not SMC's. */
static noinline void trace_sent(struct socket *sock, size_t len)
{
	char device[SMC_IB_NAME_LEN];

	if (smc_op_device_name(sock, device))
		trace_smc_tx_sendmsg(sock->sk, len, device);
}

static noinline void trace_received(struct socket *sock, size_t len)
{
	char device[SMC_IB_NAME_LEN];

	if (smc_op_device_name(sock, device))
		trace_smc_rx_recvmsg(sock->sk, len, device);
}

static int smc_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	const int ret = smc_op_sendmsg(smc_state_of(sock), sock, msg, len, msg->msg_flags,
				       msg->msg_controllen != 0);

	if (trace_smc_tx_sendmsg_enabled() && ret > 0)
		trace_sent(sock, ret);
	return ret;
}

static int smc_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	int ret;

	msg->msg_namelen = 0;
	ret = smc_op_recvmsg(smc_state_of(sock), sock, msg, len, flags);
	if (trace_smc_rx_recvmsg_enabled() && ret > 0)
		trace_received(sock, ret);
	return ret;
}

static int smc_mmap(struct file *file, struct socket *sock, struct vm_area_struct *vma)
{
	/* TCP's zero-copy receive: bytes that come by RDMA are not in skbs. */
	return -ENODEV;
}

static ssize_t smc_splice_read(struct socket *sock, loff_t *pos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	return smc_op_splice_read(sock, pos, pipe, len, flags);
}

#ifdef HAVE_SOCK_SENDPAGE
static ssize_t smc_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
			    int flags)
{
	return sock_no_sendpage(sock, page, offset, size, flags);
}
#endif

static int smc_set_rcvlowat(struct sock *sk, int val)
{
	const int ret = smc_base_ops(sk)->set_rcvlowat(sk, val);

	if (!ret && smc_op_keep_rcvlowat(sk->sk_socket, sk->sk_rcvlowat)) {
		WRITE_ONCE(sk->sk_rcvlowat, 1);
		return 0;
	}
	/* What is there may be enough now; TCP looks only into its own queue. */
	if (!ret)
		smc_sk_wake(sk, SMC_POLL_ANY | SMC_POLL_IN);
	return ret;
}

#ifdef HAVE_SPLICE_EOF
/* Each piece of the file was sent with MSG_MORE; nothing follows, so nothing is to be held back. */
static void smc_splice_eof(struct socket *sock)
{
	smc_op_push(sock);
	if (!smc_op_keeps_tcp(sock))
		smc_base_ops(sock->sk)->splice_eof(sock);
}
#endif

#ifdef CONFIG_COMPAT
static int smc_compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	const struct proto_ops *ops = smc_base_ops(sock->sk);

	return ops->compat_ioctl ? ops->compat_ioctl(sock, cmd, arg) : -ENOIOCTLCMD;
}
#endif

/*
 * For the kernel's own users of a socket that was selected (nvme-tcp), which call it without a
 * look: what TCP has received is not the stream.
 */
static int smc_read_sock(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	return -EOPNOTSUPP;
}

static const struct proto_ops own_ops = {
	.owner = THIS_MODULE,
	.release = smc_op_release,
	.bind = smc_bind,
	.connect = smc_connect,
	.socketpair = sock_no_socketpair,
	.accept = smc_accept,
	.getname = smc_getname,
	.poll = smc_poll,
	.ioctl = smc_op_ioctl,
	.gettstamp = sock_gettstamp,
	.listen = smc_op_listen,
	.shutdown = smc_op_shutdown,
	.setsockopt = smc_setsockopt,
	.getsockopt = smc_getsockopt,
	.sendmsg = smc_sendmsg,
	.recvmsg = smc_recvmsg,
	.mmap = smc_mmap,
	.set_rcvlowat = smc_set_rcvlowat,
	.splice_read = smc_splice_read,
	.read_sock = smc_read_sock,
#ifdef HAVE_SPLICE_EOF
	.splice_eof = smc_splice_eof,
#endif
#ifdef HAVE_SOCK_SENDPAGE
	.sendpage = smc_sendpage,
#endif
#ifdef CONFIG_COMPAT
	.compat_ioctl = smc_compat_ioctl,
#endif
};

static void __init fill(struct proto_ops *ops, const struct proto_ops *base)
{
	*ops = own_ops;
	ops->family = base->family;
	/* Options that not every kernel's TCP has. */
	ops->set_peek_off = base->set_peek_off;
}

int __init smc_ops_setup(void)
{
	struct socket *probe;
	int ret;

	smc_fallen_setup();
	smc_mapped_setup();
	ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &probe);
	if (ret)
		return ret;
	fill(&smc_ops_v4, probe->ops);
	smc_fallen_learn(probe->ops);
	smc_af_learn(probe->sk, smc_tables_fill);
	sock_release(probe);
	if (sock_create_kern(&init_net, PF_INET6, SOCK_STREAM, IPPROTO_TCP, &probe) == 0) {
		smc_tables_learn_v6(probe->ops);
		fill(&smc_ops_v6, probe->ops);
		smc_fallen_learn(probe->ops);
		smc_af_learn(probe->sk, smc_tables_fill);
		sock_release(probe);
	}
	return 0;
}

void smc_ops_teardown(void)
{
	smc_fallen_teardown();
}
