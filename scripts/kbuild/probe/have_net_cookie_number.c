// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cookie of a network namespace is a number, and not an atomic one.
 * In 6.1 and later, not in 5.10.
 */
#include <net/net_namespace.h>

u64 *probe(struct net *net);
u64 *probe(struct net *net)
{
	return &net->net_cookie;
}
