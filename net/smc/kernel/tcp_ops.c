// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of sockets that go on to TCP's own ops.
 */
#include <linux/net.h>
/* Before the next, which on 5.10 does not include what it needs. */
#include <net/sock.h>
#include <net/inet_common.h>

#include "kernel/abi/tcp_ops.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"
#include "kernel/tcp_option.h"

static const struct proto_ops *tcp_ops(const struct socket *sock)
{
	return smc_base_ops(sock->sk);
}

int smc_tcp_ops_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	int ret;

	if (!sk)
		return 0;
	/*
	 * TCP may last for minutes, and must not hold the module that long. Nobody else has this
	 * socket any more.
	 */
	smc_drop_ulp(sk);
	smc_drop_creator(sk);
	if (!smc_af_is_ours(sk))
		return tcp_ops(sock)->release(sock);
	sock_hold(sk);
	ret = tcp_ops(sock)->release(sock);
	/* Not earlier: a listener gets children until its end. */
	smc_tcp_give_back_af(sk);
	sock_put(sk);
	return ret;
}

int smc_tcp_ops_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags)
{
	smc_drop_creator(sock->sk);
	return tcp_ops(sock)->connect(sock, (struct sockaddr_unsized *)addr, addr_len, flags);
}

int smc_tcp_connect_locked(struct socket *sock, struct sockaddr *addr, int addr_len, int flags)
{
	struct sock *sk = sock->sk;
	int ret;

	smc_drop_creator(sk);
	smc_mapped_begin(sk, addr, addr_len);
	/* What both families' connect() does under the lock. */
	ret = __inet_stream_connect(sock, (struct sockaddr_unsized *)addr, addr_len, flags, 0);
	smc_mapped_end(sk);
	return ret;
}

u32 smc_tcp_ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	return (__force u32)tcp_ops(sock)->poll(file, sock, wait);
}

int smc_tcp_ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return tcp_ops(sock)->ioctl(sock, cmd, arg);
}

int smc_tcp_ops_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern)
{
#ifdef HAVE_PROTO_ACCEPT_ARG
	struct proto_accept_arg arg = {
		.flags = flags,
		.kern = kern,
	};

	return tcp_ops(sock)->accept(sock, new_sock, &arg);
#else
	return tcp_ops(sock)->accept(sock, new_sock, flags, kern);
#endif
}

int smc_tcp_ops_listen(struct socket *sock, int backlog)
{
	smc_drop_creator(sock->sk);
	return tcp_ops(sock)->listen(sock, backlog);
}

int smc_tcp_ops_shutdown(struct socket *sock, int how)
{
	return tcp_ops(sock)->shutdown(sock, how);
}

int smc_tcp_ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	return tcp_ops(sock)->sendmsg(sock, msg, len);
}

int smc_tcp_ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	return tcp_ops(sock)->recvmsg(sock, msg, len, flags);
}

long smc_tcp_ops_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe,
			     size_t len, unsigned int flags)
{
	return tcp_ops(sock)->splice_read(sock, pos, pipe, len, flags);
}
