// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workqueue that is bound to processors says so; newer kernels warn about one that says nothing.
 * In 7.2, not in 6.12.
 */
#include <linux/workqueue.h>

unsigned int probe(void);
unsigned int probe(void)
{
	return WQ_PERCPU;
}
