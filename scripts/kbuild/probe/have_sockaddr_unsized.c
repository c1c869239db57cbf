// SPDX-License-Identifier: GPL-2.0-only
/*
 * bind() and connect() take a struct sockaddr_unsized *.
 * Since 6.19 (0e50474fa514, "net: Convert proto_ops bind() callbacks to use sockaddr_unsized").
 */
#include <linux/net.h>
#include <net/sock.h>

int probe(struct socket *sock, struct sockaddr_unsized *addr, int length);
int probe(struct socket *sock, struct sockaddr_unsized *addr, int length)
{
	return sock->ops->bind(sock, addr, length) ?:
	       sock->sk->sk_prot->connect(sock->sk, addr, length);
}
