// SPDX-License-Identifier: GPL-2.0-only
/*
 * proto_ops has splice_eof(), by which a socket learns that sendfile() has come to the end
 * of its file: since 6.5 (2bfc66850952, "splice, net: Add a splice_eof op to file-ops and
 * socket-ops").
 */
#include <linux/net.h>

void probe(struct socket *sock);
void probe(struct socket *sock)
{
	sock->ops->splice_eof(sock);
}
