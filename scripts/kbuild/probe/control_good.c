// SPDX-License-Identifier: GPL-2.0-only
/* Control: has to compile, or the headers or flags are broken. */
#include <linux/module.h>
#include <linux/net.h>

int probe(struct socket *sock);
int probe(struct socket *sock)
{
	return sock->ops->family;
}
