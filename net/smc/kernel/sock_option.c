// SPDX-License-Identifier: GPL-2.0-only
/*
 * setsockopt() and getsockopt() of sockets that may be SMC: what an option means to
 * them, before TCP has it or afterwards.
 */
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/smc.h>
#include <linux/sockptr.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/sock_ops.h"
#include "kernel/compat.h"
#include "kernel/sock_ops.h"

static bool is_fastopen_option(int optname)
{
	return optname == TCP_FASTOPEN || optname == TCP_FASTOPEN_CONNECT ||
	       optname == TCP_FASTOPEN_KEY || optname == TCP_FASTOPEN_NO_COOKIE;
}

/* The kind of an option that matters to SMC; -1 for all others. */
static int option_kind(int level, int optname)
{
	if (level == SOL_TCP) {
		if (optname == TCP_ULP)
			return SMC_OPTION_ULP;
		if (optname == TCP_REPAIR)
			return SMC_OPTION_REPAIR;
		if (is_fastopen_option(optname))
			return SMC_OPTION_FASTOPEN;
		if (optname == TCP_NODELAY)
			return SMC_OPTION_NODELAY;
		if (optname == TCP_CORK)
			return SMC_OPTION_CORK;
	}
	if (level == SOL_IPV6 && optname == IPV6_ADDRFORM)
		return SMC_OPTION_ADDRFORM;
	return -1;
}

/* SOL_SMC's only one, of include/uapi/linux/smc.h. */
static int smc_set_limit_hs(struct socket *sock, sockptr_t optval, unsigned int optlen)
{
	int value;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	return smc_op_limit_handshakes(sock, value);
}

static int put_option(int value, char __user *optval, int __user *optlen)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(int, len, sizeof(value));
	if (put_user(len, optlen) || copy_to_user(optval, &value, len))
		return -EFAULT;
	return 0;
}

/* Read once, as TCP does: a second read might find another name. */
static int get_layer_name(char name[TCP_ULP_NAME_MAX], sockptr_t optval, unsigned int optlen)
{
	long len;

	if (optlen < 1)
		return -EINVAL;
	len = strncpy_from_sockptr(name, optval, min_t(long, TCP_ULP_NAME_MAX - 1, optlen));
	if (len < 0)
		return -EFAULT;
	name[len] = '\0';
	return 0;
}

int smc_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen)
{
	const int kind = option_kind(level, optname);
	const bool pushes = kind == SMC_OPTION_NODELAY || kind == SMC_OPTION_CORK;
	char layer[TCP_ULP_NAME_MAX];
	int ret;

	if (kind == SMC_OPTION_ULP) {
		ret = get_layer_name(layer, optval, optlen);
		if (ret)
			return ret;
		/* It has that layer already, however it got it: nothing changes. */
		if (!strcmp(layer, SMC_ULP_NAME) && READ_ONCE(sock->ops) == smc_ops_of(sock->sk))
			return -EEXIST;
		optval = KERNEL_SOCKPTR(layer);
		optlen = strlen(layer) + 1;
		/* By TCP_ULP the place is taken for good, and TCP says so: it stays ours. */
		if (smc_ulp_is_ours(sock->sk))
			return sock_common_setsockopt(sock, level, optname, optval, optlen);
	}

	if (level == SOL_SMC && optname == SMC_LIMIT_HS)
		return smc_set_limit_hs(sock, optval, optlen);
	if (kind >= 0 && !pushes) {
		ret = smc_op_option(sock, kind);
		if (ret)
			return ret;
		/*
		 * It is a TCP socket now; the thread that made it one may not have set its ops yet.
		 */
		smc_sock_fall(sock);
		return smc_fallen_setsockopt(sock, level, optname, optval, optlen);
	}
	ret = sock_common_setsockopt(sock, level, optname, optval, optlen);
	if (pushes && !ret)
		smc_op_option(sock, kind);
	return ret;
}

int smc_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen)
{
	int len;

	if (level == SOL_SMC && optname == SMC_LIMIT_HS)
		return put_option(smc_op_limits_handshakes(sock), optval, optlen);
	/*
	 * It would take bytes out of TCP that belong to the handshake, or are not there. What TCP
	 * finds wrong with the call comes first.
	 */
	if (level == SOL_TCP && optname == TCP_ZEROCOPY_RECEIVE && smc_op_keeps_tcp(sock)) {
		if (get_user(len, optlen))
			return -EFAULT;
		if (len < (int)offsetofend(struct tcp_zerocopy_receive, length))
			return -EINVAL;
		return -EOPNOTSUPP;
	}
	return sock_common_getsockopt(sock, level, optname, optval, optlen);
}
