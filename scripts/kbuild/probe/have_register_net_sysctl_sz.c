// SPDX-License-Identifier: GPL-2.0-only
/*
 * exported: register_net_sysctl_sz
 * sysctl tables are registered with their size and need no empty last row.
 * Since 6.6.
 */
#include <net/net_namespace.h>

struct ctl_table_header *probe(struct net *net, struct ctl_table *table);
struct ctl_table_header *probe(struct net *net, struct ctl_table *table)
{
	return register_net_sysctl_sz(net, "net/smc", table, 1);
}
