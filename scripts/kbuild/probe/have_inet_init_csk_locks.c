// SPDX-License-Identifier: GPL-2.0-only
/*
 * The locks of an accept queue are set up when the socket is made or accepted, not by listen().
 * Since 6.8 (198bc90e0e73, "tcp: make sure init the accept_queue's spinlocks once"), which stable
 * kernels have, too: 6.1 since 6.1.76.
 */
#include <net/inet_connection_sock.h>

void probe(struct sock *sk);
void probe(struct sock *sk)
{
	inet_init_csk_locks(sk);
}
