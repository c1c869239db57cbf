// SPDX-License-Identifier: GPL-2.0-only
/*
 * syn_recv_sock() also gets a function that completes a child before others can find it ("tcp: fix
 * potential race in tcp_v6_syn_recv_sock()"). Debian's 6.12 and 6.1 have it from stable kernels.
 */
#include <net/inet_connection_sock.h>

struct sock *probe(const struct inet_connection_sock_af_ops *ops, const struct sock *sk,
		   struct request_sock *req, bool *own_req);
struct sock *probe(const struct inet_connection_sock_af_ops *ops, const struct sock *sk,
		   struct request_sock *req, bool *own_req)
{
	return ops->syn_recv_sock(sk, NULL, req, NULL, req, own_req, NULL);
}
