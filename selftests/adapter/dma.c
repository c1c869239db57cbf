// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory as the adapter reaches it: by DMA address, translated at each access.
 */
#include <linux/dma-direct.h>
#include <linux/io.h>
#include <linux/iommu.h>

#include "sim.h"

static noinline void sim_dma_fault(struct sim_device *dev, u64 dma)
{
	sim_count(dev, SIM_DMA_FAULTS, 1);
	pr_warn_ratelimited("simrnic: %s: nothing is mapped at %llx\n", dev_name(&dev->ibdev.dev),
			    dma);
}

/* Where a DMA address is, or NULL if nothing is mapped there for the device. */
static __always_inline void *sim_dma_memory(struct sim_device *dev, u64 dma)
{
	const struct sim_parent *parent = dev->parent;
	phys_addr_t phys = unlikely(parent->domain) ? iommu_iova_to_phys(parent->domain, dma) :
						      dma_to_phys(parent->device, dma);

	/* 64 bits: all memory is mapped. */
	if (likely(phys && pfn_valid(PHYS_PFN(phys))))
		return phys_to_virt(phys);
	sim_dma_fault(dev, dma);
	return NULL;
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
		void *memory = sim_dma_memory(to->dev, dma);

		if (!memory)
			return false;
		memcpy(memory, from, piece);
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
		const void *memory = sim_dma_memory(from->dev, dma);

		if (!memory)
			return false;
		memcpy(to, memory, piece);
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
		const void *memory = sim_dma_memory(from->dev, dma);

		if (!memory || !sim_dma_copy_in(to, memory, piece))
			return false;
		sim_stretch_move(from, piece);
	}
	return true;
}
