// SPDX-License-Identifier: GPL-2.0-only
/*
 * sk_uid() reads the user of a sock, and sock_i_uid() is gone.
 * In 7.2, not in 6.12.
 */
#include <net/sock.h>

kuid_t probe(const struct sock *sk);
kuid_t probe(const struct sock *sk)
{
	return sk_uid(sk);
}
