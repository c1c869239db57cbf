// SPDX-License-Identifier: GPL-2.0-only
/*
 * accept() takes one struct proto_accept_arg *.
 * Since 6.10 (92ef0fd55ac8, "net: change proto and proto_ops accept type").
 * exported: inet_accept
 */
#include <linux/net.h>
#include <net/sock.h>
#include <net/inet_common.h>

int probe(struct socket *sock, struct socket *newsock, int flags);
int probe(struct socket *sock, struct socket *newsock, int flags)
{
	struct proto_accept_arg arg = {
		.flags = flags,
		.kern = false,
	};

	return inet_accept(sock, newsock, &arg) ?: sock->ops->accept(sock, newsock, &arg);
}
