// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of which CPU and device have different views: bounce buffers (swiotlb), and devices that
 * do not snoop the CPU's caches.
 *
 * A region's table lists its pieces of memory, each physically contiguous. The device may see
 * several of them as one segment, if an IOMMU maps them one behind the other: so DMA addresses and
 * lengths are walked beside the pieces.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>

#include "kernel/verbs.h"

/* A piece, and its address for the device. */
struct smc_ib_piece {
	struct scatterlist *memory;
	struct scatterlist *segment;
	u64 dma;
	u32 segment_left; /* of segment, from dma on */
	u32 offset_bytes; /* in the region */
};

static void smc_ib_piece_enter_segment(struct smc_ib_piece *piece, struct scatterlist *segment)
{
	piece->segment = segment;
	piece->dma = sg_dma_address(segment);
	piece->segment_left = sg_dma_len(segment);
}

static struct smc_ib_piece smc_ib_piece_first(const struct smc_ib_region *region)
{
	struct smc_ib_piece piece = { .memory = region->sgt.sgl };

	smc_ib_piece_enter_segment(&piece, region->sgt.sgl);
	return piece;
}

/* There must be another one. */
static void smc_ib_piece_next(struct smc_ib_piece *piece)
{
	u32 bytes = piece->memory->length;

	piece->offset_bytes += bytes;
	piece->dma += bytes;
	piece->segment_left -= min(bytes, piece->segment_left);
	piece->memory = sg_next(piece->memory);
	if (!piece->segment_left)
		smc_ib_piece_enter_segment(piece, sg_next(piece->segment));
}

size_t smc_ib_sync_segment_bytes(struct ib_device *ibdev)
{
	size_t bytes = ib_dma_max_seg_size(ibdev);

	if (!ib_uses_virt_dma(ibdev))
		bytes = min(bytes, dma_max_mapping_size(ibdev->dma_device));
	/* A piece's length is an unsigned int. */
	return min_t(size_t, bytes, SZ_1G) & PAGE_MASK;
}

bool smc_ib_sync_is_needed(const struct smc_ib_region *region)
{
	struct ib_device *ibdev = region->domain->ibdev;
	struct iommu_domain *iommu;
	struct smc_ib_piece piece;
	unsigned int left;

	if (ib_uses_virt_dma(ibdev))
		return false;
	if (!dev_is_dma_coherent(ibdev->dma_device))
		return true;
	iommu = iommu_get_domain_for_dev(ibdev->dma_device);
	piece = smc_ib_piece_first(region);
	for (left = region->sgt.orig_nents; left; left--) {
		/*
		 * Before 6.10 that is true of every device behind an IOMMU. There the device sees
		 * other memory than this only if it bounces.
		 */
		if (dma_need_sync(ibdev->dma_device, piece.dma) &&
		    (!iommu || iommu_iova_to_phys(iommu, piece.dma) != sg_phys(piece.memory)))
			return true;
		if (left > 1)
			smc_ib_piece_next(&piece);
	}
	return false;
}

/*
 * Piece by piece: bytes of one segment may be in several pieces, which are contiguous for the
 * device only.
 */
static void smc_ib_region_sync(const struct smc_ib_region *region, u32 offset_bytes,
			       u32 length_bytes, bool for_device)
{
	struct device *device = region->domain->ibdev->dma_device;
	u32 end_bytes = offset_bytes + length_bytes;
	struct smc_ib_piece piece;

	if (!region->must_sync)
		return;
	piece = smc_ib_piece_first(region);
	while (offset_bytes < end_bytes) {
		u32 piece_end = piece.offset_bytes + piece.memory->length;

		if (offset_bytes < piece_end) {
			u64 dma = piece.dma + (offset_bytes - piece.offset_bytes);
			u32 bytes = min(end_bytes, piece_end) - offset_bytes;

			if (for_device)
				dma_sync_single_for_device(device, dma, bytes, region->direction);
			else
				dma_sync_single_for_cpu(device, dma, bytes, region->direction);
			offset_bytes += bytes;
		}
		if (offset_bytes < end_bytes)
			smc_ib_piece_next(&piece);
	}
}

void smc_ib_region_sync_for_cpu(const struct smc_ib_region *region, u32 offset_bytes,
				u32 length_bytes)
{
	smc_ib_region_sync(region, offset_bytes, length_bytes, false);
}

void smc_ib_region_sync_for_device(const struct smc_ib_region *region, u32 offset_bytes,
				   u32 length_bytes)
{
	smc_ib_region_sync(region, offset_bytes, length_bytes, true);
}
