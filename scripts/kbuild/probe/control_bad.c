// SPDX-License-Identifier: GPL-2.0-only
/* Control: must not compile, or a probe could never say no. */
#include <linux/module.h>
#include <linux/net.h>

int probe(struct socket *sock);
int probe(struct socket *sock)
{
	return a_function_that_no_kernel_has(sock);
}
