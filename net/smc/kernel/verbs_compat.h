/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What newer kernels call it, for older ones: memory of devices, and polling. See kernel/compat.h.
 */
#ifndef SMC_KERNEL_VERBS_COMPAT_H
#define SMC_KERNEL_VERBS_COMPAT_H

#include <linux/netdevice.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#ifndef HAVE_SG_FROM_PAGES_SEGMENT
static inline int sg_alloc_table_from_pages_segment(struct sg_table *table, struct page **pages,
						    unsigned int count, unsigned int offset,
						    unsigned long size, unsigned int max_segment,
						    gfp_t gfp)
{
	return PTR_ERR_OR_ZERO(__sg_alloc_table_from_pages(table, pages, count, offset, size,
							   max_segment, NULL, 0, gfp));
}
#endif

#ifndef HAVE_IB_DMA_MAP_SGTABLE
static inline int ib_dma_map_sgtable_attrs(struct ib_device *ibdev, struct sg_table *table,
					   enum dma_data_direction direction, unsigned long attrs)
{
	int count = ib_dma_map_sg_attrs(ibdev, table->sgl, table->orig_nents, direction, attrs);

	if (count <= 0)
		return -EIO;
	table->nents = count;
	return 0;
}

static inline void ib_dma_unmap_sgtable_attrs(struct ib_device *ibdev, struct sg_table *table,
					      enum dma_data_direction direction,
					      unsigned long attrs)
{
	ib_dma_unmap_sg_attrs(ibdev, table->sgl, table->orig_nents, direction, attrs);
}
#endif

#ifndef HAVE_NAPI_ADD_WITHOUT_WEIGHT
#define netif_napi_add(dev, napi, poll) netif_napi_add(dev, napi, poll, NAPI_POLL_WEIGHT)
#endif

#endif
