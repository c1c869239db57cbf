// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection domains and memory regions: what a key opens, and to whom.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "sim.h"

/* By index, of all devices. Its lock is taken inside sim_fabric. */
static DEFINE_XARRAY_FLAGS(sim_regions, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
static u32 sim_region_last;
/* Those found last, by the low bits of the index; guarded by sim_fabric. */
static struct sim_region *sim_regions_found[SIM_FOUND];

int sim_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return sim_fault_happens(to_sim_device(ibpd->device), SIM_FAULT_ALLOC_PD) ? -ENOMEM : 0;
}

int sim_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static struct sim_region *sim_region_create(struct ib_pd *ibpd)
{
	/* One and two are not given: SIM_LOCAL_DMA_KEY. */
	const struct xa_limit limit = XA_LIMIT(16, 0xffffff);
	struct sim_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	int rc;

	if (!region)
		return ERR_PTR(-ENOMEM);
	rc = xa_alloc_cyclic_bh(&sim_regions, &region->index, region, limit, &sim_region_last,
				GFP_KERNEL);
	if (rc < 0) {
		kfree(region);
		return ERR_PTR(rc);
	}
	region->key = region->index << SIM_KEY_SHIFT;
	region->ibmr.lkey = region->key;
	region->ibmr.rkey = region->key;
	region->ibmr.pd = ibpd;
	return region;
}

int sim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct sim_region *region = to_sim_region(ibmr);

	spin_lock_bh(&sim_fabric);
	xa_erase(&sim_regions, region->index);
	if (sim_regions_found[region->index % SIM_FOUND] == region)
		sim_regions_found[region->index % SIM_FOUND] = NULL;
	spin_unlock_bh(&sim_fabric);
	kvfree(region->pages);
	kfree(region);
	return 0;
}

struct ib_mr *sim_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct sim_region *region = sim_region_create(ibpd);

	if (IS_ERR(region))
		return ERR_CAST(region);
	region->ibmr.device = ibpd->device;
	region->all = true;
	region->access = access;
	region->state = SIM_REGION_VALID;
	return &region->ibmr;
}

struct ib_mr *sim_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_sg)
{
	struct sim_region *region;

	if (type != IB_MR_TYPE_MEM_REG ||
	    max_sg > ibpd->device->attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	if (sim_fault_happens(to_sim_device(ibpd->device), SIM_FAULT_ALLOC_MR))
		return ERR_PTR(-ENOMEM);
	region = sim_region_create(ibpd);
	if (IS_ERR(region))
		return ERR_CAST(region);
	region->ibmr.device = ibpd->device;
	region->pages = kvcalloc(max_sg, sizeof(*region->pages), GFP_KERNEL);
	region->pages_max = max_sg;
	if (!region->pages) {
		sim_dereg_mr(&region->ibmr, NULL);
		return ERR_PTR(-ENOMEM);
	}
	return &region->ibmr;
}

/* There is no interface for programs, but the RDMA core requires the function. */
#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *sim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata)
#else
struct ib_mr *sim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_udata *udata)
#endif
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int sim_set_page(struct ib_mr *ibmr, u64 dma)
{
	struct sim_region *region = to_sim_region(ibmr);

	if (region->pages_count == region->pages_max)
		return -ENOMEM;
	region->pages[region->pages_count++] = dma;
	return 0;
}

int sim_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct sim_region *region = to_sim_region(ibmr);

	if (ibmr->page_size != PAGE_SIZE)
		return -EINVAL;
	if (sim_fault_happens(to_sim_device(ibmr->device), SIM_FAULT_MAP_MR))
		return -EINVAL;
	region->pages_count = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, sim_set_page);
}

static noinline struct sim_region *sim_region_search(u32 index)
{
	struct sim_region *region = xa_load(&sim_regions, index);

	if (region)
		sim_regions_found[index % SIM_FOUND] = region;
	return region;
}

static struct sim_region *sim_region_find(struct sim_device *dev, const struct ib_pd *pd, u32 key)
{
	u32 index = key >> SIM_KEY_SHIFT;
	struct sim_region *region = sim_regions_found[index % SIM_FOUND];

	if (unlikely(!region || region->index != index))
		region = sim_region_search(index);
	if (!region || region->ibmr.device != &dev->ibdev || region->ibmr.pd != pd ||
	    region->key != key)
		return NULL;
	return region;
}

static bool sim_region_allows(const struct sim_region *region, u64 addr, u32 length, int access)
{
	return region->state == SIM_REGION_VALID && (region->access & access) == access &&
	       (region->all ||
		(addr >= region->iova && length <= region->length &&
		 addr - region->iova <= region->length - length));
}

bool sim_region_open(struct sim_device *dev, const struct ib_pd *pd, u32 key, u64 addr, u32 length,
		     int access, struct sim_stretch *out)
{
	out->dev = dev;
	out->region = NULL;
	out->addr = addr;
	out->length = length;
	/* It is for ourselves alone. */
	if (key == SIM_LOCAL_DMA_KEY && !(access & ~IB_ACCESS_LOCAL_WRITE))
		return true;
	out->region = sim_region_find(dev, pd, key);
	if (likely(out->region && sim_region_allows(out->region, addr, length, access)))
		return true;
	sim_count(dev, SIM_ACCESS_ERRORS, 1);
	return false;
}

bool sim_region_register(const struct ib_pd *pd, struct sim_region *region, u32 key, int access)
{
	if (region->ibmr.pd != pd || key >> SIM_KEY_SHIFT != region->index || region->all ||
	    region->state == SIM_REGION_VALID)
		return false;
	region->key = key;
	region->access = access;
	region->iova = region->ibmr.iova;
	region->length = region->ibmr.length;
	region->state = SIM_REGION_VALID;
	return true;
}

bool sim_region_invalidate(struct sim_device *dev, const struct ib_pd *pd, u32 key)
{
	struct sim_region *region = sim_region_find(dev, pd, key);

	if (!region || region->all)
		return false;
	region->state = SIM_REGION_INVALID;
	return true;
}
