// SPDX-License-Identifier: GPL-2.0-only
/*
 * bind() and connect() take a struct sockaddr_unsized *.
 * In 7.2, not in 6.12.
 */
#include <linux/net.h>
#include <net/sock.h>

int probe(struct socket *sock, struct sockaddr_unsized *addr, int length);
int probe(struct socket *sock, struct sockaddr_unsized *addr, int length)
{
	return sock->ops->bind(sock, addr, length) ?:
	       sock->sk->sk_prot->connect(sock->sk, addr, length);
}
