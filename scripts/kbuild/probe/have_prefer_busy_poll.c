// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sock says how it is polled: SO_PREFER_BUSY_POLL and SO_BUSY_POLL_BUDGET.
 * In 6.1 and later, not in 5.10.
 */
#include <net/busy_poll.h>
#include <net/sock.h>

void probe(struct sock *sk, bool (*ends)(void *arg, unsigned long start));
void probe(struct sock *sk, bool (*ends)(void *arg, unsigned long start))
{
	napi_busy_loop(1, ends, sk, sk->sk_prefer_busy_poll, sk->sk_busy_poll_budget);
}
