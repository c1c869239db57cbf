// SPDX-License-Identifier: GPL-2.0-only
/*
 * __sg_alloc_table_from_pages() has that limit, and can go on with a table: until 5.14.
 * In 5.10, not in 6.1.
 */
#include <linux/scatterlist.h>

struct scatterlist *probe(struct sg_table *table, struct page **pages);
struct scatterlist *probe(struct sg_table *table, struct page **pages)
{
	return __sg_alloc_table_from_pages(table, pages, 1, 0, 1, 1, NULL, 0, GFP_KERNEL);
}
