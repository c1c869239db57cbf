// SPDX-License-Identifier: GPL-2.0-only
/* syn_recv_sock() makes a child by itself; what it got later is in the other probe. */
#include <net/inet_connection_sock.h>

struct sock *probe(const struct inet_connection_sock_af_ops *ops, const struct sock *sk,
		   struct request_sock *req, bool *own_req);
struct sock *probe(const struct inet_connection_sock_af_ops *ops, const struct sock *sk,
		   struct request_sock *req, bool *own_req)
{
	return ops->syn_recv_sock(sk, NULL, req, NULL, req, own_req);
}
