// SPDX-License-Identifier: GPL-2.0-only
/*
 * proto_ops has sendpage(): until 6.4. Later kernels use sendmsg() with MSG_SPLICE_PAGES
 * (dc97391e6610, "sock: Remove ->sendpage*() in favour of sendmsg(MSG_SPLICE_PAGES)").
 */
#include <linux/net.h>

ssize_t probe(struct socket *sock, struct page *page);
ssize_t probe(struct socket *sock, struct page *page)
{
	return sock->ops->sendpage(sock, page, 0, 1, 0);
}
