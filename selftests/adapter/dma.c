// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory as the adapter reaches it: by DMA address, translated at each access.
 */
#include <linux/dma-direct.h>
#include <linux/highmem.h>
#include <linux/iommu.h>

#include "sim.h"

/* The page at a DMA address, or NULL if nothing is mapped there for the device. */
static struct page *sim_dma_page(struct sim_device *dev, u64 dma)
{
	struct device *device = dev->parent->device;
	struct iommu_domain *domain = iommu_get_domain_for_dev(device);
	phys_addr_t phys = domain ? iommu_iova_to_phys(domain, dma) : dma_to_phys(device, dma);

	if (!phys || !pfn_valid(PHYS_PFN(phys))) {
		sim_count(dev, SIM_DMA_FAULTS, 1);
		pr_warn_ratelimited("simrnic: %s: nothing is mapped at %llx\n",
				    dev_name(&dev->ibdev.dev), dma);
		return NULL;
	}
	return pfn_to_page(PHYS_PFN(phys));
}

static u64 sim_stretch_dma(const struct sim_stretch *stretch)
{
	const struct sim_region *region = stretch->region;
	u64 page;

	if (!region || region->all)
		return stretch->addr;
	page = (stretch->addr >> PAGE_SHIFT) - (region->iova >> PAGE_SHIFT);
	return region->pages[page] + offset_in_page(stretch->addr);
}

static u32 sim_stretch_piece(const struct sim_stretch *stretch)
{
	return min_t(u32, stretch->length, PAGE_SIZE - offset_in_page(stretch->addr));
}

static void sim_stretch_move(struct sim_stretch *stretch, u32 bytes)
{
	stretch->addr += bytes;
	stretch->length -= bytes;
}

bool sim_dma_copy_in(struct sim_stretch *to, const void *from, u32 bytes)
{
	while (bytes && to->length) {
		u32 piece = min(bytes, sim_stretch_piece(to));
		u64 dma = sim_stretch_dma(to);
		struct page *page = sim_dma_page(to->dev, dma);

		if (!page)
			return false;
		memcpy_to_page(page, offset_in_page(dma), from, piece);
		sim_stretch_move(to, piece);
		from += piece;
		bytes -= piece;
	}
	return true;
}

bool sim_dma_copy_out(void *to, struct sim_stretch *from, u32 bytes)
{
	while (bytes && from->length) {
		u32 piece = min(bytes, sim_stretch_piece(from));
		u64 dma = sim_stretch_dma(from);
		struct page *page = sim_dma_page(from->dev, dma);

		if (!page)
			return false;
		memcpy_from_page(to, page, offset_in_page(dma), piece);
		sim_stretch_move(from, piece);
		to += piece;
		bytes -= piece;
	}
	return true;
}

bool sim_dma_copy(struct sim_stretch *to, struct sim_stretch *from)
{
	while (to->length && from->length) {
		u32 piece = min(sim_stretch_piece(from), sim_stretch_piece(to));
		u64 dma = sim_stretch_dma(from);
		struct page *page = sim_dma_page(from->dev, dma);
		bool copied;
		void *bytes;

		if (!page)
			return false;
		bytes = kmap_local_page(page);
		copied = sim_dma_copy_in(to, bytes + offset_in_page(dma), piece);
		kunmap_local(bytes);
		if (!copied)
			return false;
		sim_stretch_move(from, piece);
	}
	return true;
}
