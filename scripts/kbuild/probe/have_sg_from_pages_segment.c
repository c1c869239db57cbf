// SPDX-License-Identifier: GPL-2.0-only
/*
 * sg_alloc_table_from_pages_segment() makes a table whose entries are no longer than asked for.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/scatterlist.h>

int probe(struct sg_table *table, struct page **pages);
int probe(struct sg_table *table, struct page **pages)
{
	return sg_alloc_table_from_pages_segment(table, pages, 1, 0, 1, 1, GFP_KERNEL);
}
