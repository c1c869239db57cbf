// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workqueue that is bound to processors says so; newer kernels warn about one that says nothing.
 * Since 6.18 (930c2ea566af, "workqueue: Add new WQ_PERCPU flag").
 */
#include <linux/workqueue.h>

unsigned int probe(void);
unsigned int probe(void)
{
	return WQ_PERCPU;
}
