// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules may call set_active_memcg(), which has a case for interrupts.
 * In 6.1 and later, not in 5.10.
 *
 * exported: int_active_memcg
 */
#include <linux/sched/mm.h>

struct mem_cgroup *probe(struct mem_cgroup *memcg);
struct mem_cgroup *probe(struct mem_cgroup *memcg)
{
	return set_active_memcg(memcg);
}
