// SPDX-License-Identifier: GPL-2.0-only
/*
 * sk_error_report() reports the error of a sock; before, it was only its callback.
 * In 6.1 and later, not in 5.10.
 */
#include <net/sock.h>

void probe(struct sock *sk);
void probe(struct sock *sk)
{
	sk_error_report(sk);
}
