// SPDX-License-Identifier: GPL-2.0-only
/*
 * ib_dma_map_sgtable_attrs() maps a table as dma_map_sgtable() does.
 * In 6.1 and later, not in 5.10.
 */
#include <rdma/ib_verbs.h>

int probe(struct ib_device *device, struct sg_table *table);
int probe(struct ib_device *device, struct sg_table *table)
{
	return ib_dma_map_sgtable_attrs(device, table, DMA_TO_DEVICE, 0);
}
