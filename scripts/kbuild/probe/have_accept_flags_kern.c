// SPDX-License-Identifier: GPL-2.0-only
/*
 * accept() takes flags and kern as two arguments: until 6.9, then see have_proto_accept_arg.c.
 * exported: inet_accept
 */
#include <linux/net.h>
#include <net/sock.h>
#include <net/inet_common.h>

int probe(struct socket *sock, struct socket *newsock, int flags);
int probe(struct socket *sock, struct socket *newsock, int flags)
{
	return inet_accept(sock, newsock, flags, false) ?:
	       sock->ops->accept(sock, newsock, flags, false);
}
