// SPDX-License-Identifier: GPL-2.0-only
/*
 * sk_uid() reads the user of a sock, and sock_i_uid() is gone.
 * Since 6.17 (e84a4927a404, "net: annotate races around sk->sk_uid").
 */
#include <net/sock.h>

kuid_t probe(const struct sock *sk);
kuid_t probe(const struct sock *sk)
{
	return sk_uid(sk);
}
