// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock_rps_record_flow() lives in <net/rps.h>, not in <net/sock.h>.
 * Since 6.9 (490a79faf95e, "net: introduce include/net/rps.h").
 */
#include <net/rps.h>
#include <net/sock.h>

void probe(const struct sock *sk);
void probe(const struct sock *sk)
{
	sock_rps_record_flow(sk);
}
