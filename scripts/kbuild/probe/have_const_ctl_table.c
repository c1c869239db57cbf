// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers of sysctls get a const table.
 * Since 6.11 (78eb4ea25cd5, "sysctl: treewide: constify the ctl_table argument of proc_handlers").
 */
#include <linux/sysctl.h>

int handler(const struct ctl_table *table, int write, void *buffer, size_t *length,
	    loff_t *position);
proc_handler *probe(void);
proc_handler *probe(void)
{
	return handler;
}
