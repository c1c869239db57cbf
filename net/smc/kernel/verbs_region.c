// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: a buffer as the hardware of one link sees it.
 */
#include <linux/slab.h>

#include "kernel/ring_memory.h"
#include "kernel/verbs.h"
#include "kernel/verbs_compat.h"

/*
 * A buffer is mapped for the device of each link. To unmap one of them must not copy what that
 * device saw over what came by another link since. All syncs are our own.
 */
#define SMC_IB_MAP_ATTRS DMA_ATTR_SKIP_CPU_SYNC

static void smc_ib_region_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_ib_region *region = container_of(wc->wr_cqe, struct smc_ib_region, cqe);
	struct smc_ib_link *link = cq->cq_context;
	bool ready = wc->status == IB_WC_SUCCESS;
	u32 wr_end = region->wr_end;
	u64 seq = region->seq;

	/* The last access to the region: it may be freed by whoever sees this. */
	smp_store_release(&region->state, ready ? SMC_IB_REGION_READY : SMC_IB_REGION_FAILED);
	atomic_dec(&link->registrations);
	if (ready)
		smc_ib_queue_retire(link, wr_end, seq);
	else
		smc_ib_link_break(link, wc->status);
}

static int smc_ib_region_create_mr(struct smc_ib_region *region, enum smc_ib_buffer_kind kind,
				   size_t size_bytes)
{
	struct smc_ib_domain *domain = region->domain;
	u32 pages = smc_ring_pages(size_bytes);
	struct ib_mr *mr;
	int mapped;

	if (pages > domain->ibdev->attrs.max_fast_reg_page_list_len)
		return -E2BIG;
	mr = ib_alloc_mr(domain->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mapped = ib_map_mr_sg(mr, region->sgt.sgl, region->sgt.nents, NULL, PAGE_SIZE);
	if (mapped != region->sgt.nents || mr->length != size_bytes) {
		ib_dereg_mr(mr);
		return mapped < 0 ? mapped : -EINVAL;
	}
	region->mr = mr;
	region->address = mr->iova;
	region->local_key = mr->lkey;
	region->wr.mr = mr;
	region->wr.key = mr->rkey;
	/* No peer may access a send buffer. */
	region->wr.access = IB_ACCESS_LOCAL_WRITE;
	if (kind == SMC_IB_BUFFER_RMB) {
		region->wr.access |= IB_ACCESS_REMOTE_WRITE;
		region->remote_key = mr->rkey;
	} else {
		/* The local key and the key that REG_MR sets are one number. */
		region->wr.key = mr->lkey;
	}
	region->wr.wr.opcode = IB_WR_REG_MR;
	region->wr.wr.send_flags = IB_SEND_SIGNALED;
	region->wr.wr.wr_cqe = &region->cqe;
	region->cqe.done = smc_ib_region_done;
	atomic_inc(&domain->dev->memory_regions);
	return 0;
}

int smc_ib_region_create(struct smc_ib_link *link, struct smc_ib_buffer *buffer,
			 struct smc_ib_region **out)
{
	struct smc_ib_domain *domain = link->domain;
	struct ib_device *ibdev = domain->ibdev;
	struct smc_ib_region *region;
	int rc;

	region = kzalloc(sizeof(*region), GFP_KERNEL);
	if (!region)
		return -ENOMEM;
	region->link = link;
	region->domain = domain;
	/*
	 * The device only writes to an RMB, but bytes that we zero in it have to reach the device's
	 * copy.
	 */
	region->direction = buffer->kind == SMC_IB_BUFFER_RMB ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	rc = smc_ib_buffer_table(buffer, smc_ib_sync_segment_bytes(ibdev), &region->sgt);
	if (rc)
		goto err_region;
	rc = ib_dma_map_sgtable_attrs(ibdev, &region->sgt, region->direction, SMC_IB_MAP_ATTRS);
	if (rc)
		goto err_table;
	region->must_sync = smc_ib_sync_is_needed(region);
	smc_ib_region_sync_for_device(region, 0, buffer->size_bytes);
	if (buffer->kind == SMC_IB_BUFFER_SEND && region->sgt.nents == 1) {
		region->address = sg_dma_address(region->sgt.sgl);
		region->local_key = domain->pd->local_dma_lkey;
		region->state = SMC_IB_REGION_READY;
	} else {
		rc = smc_ib_region_create_mr(region, buffer->kind, buffer->size_bytes);
		if (rc)
			goto err_map;
	}
	smc_ib_domain_get(domain);
	*out = region;
	return 0;

err_map:
	ib_dma_unmap_sgtable_attrs(ibdev, &region->sgt, region->direction, SMC_IB_MAP_ATTRS);
err_table:
	sg_free_table(&region->sgt);
err_region:
	kfree(region);
	return rc;
}

void smc_ib_region_destroy(struct smc_ib_region *region)
{
	struct smc_ib_domain *domain = region->domain;

	/* Its completion is still to come, so the memory is leaked rather than freed. */
	if (WARN_ON_ONCE(smp_load_acquire(&region->state) == SMC_IB_REGION_POSTED &&
			 domain->link_alive))
		return;
	if (region->mr) {
		ib_dereg_mr(region->mr);
		atomic_dec(&domain->dev->memory_regions);
	}
	ib_dma_unmap_sgtable_attrs(domain->ibdev, &region->sgt, region->direction,
				   SMC_IB_MAP_ATTRS);
	sg_free_table(&region->sgt);
	kfree(region);
	smc_ib_domain_put(domain);
}

void smc_ib_region_info(const struct smc_ib_region *region, struct smc_ib_region_info *out)
{
	out->address = region->address;
	out->local_key = region->local_key;
	out->remote_key = region->remote_key;
	out->must_sync = region->must_sync;
}

int smc_ib_region_post(struct smc_ib_region *region)
{
	struct smc_ib_link *link = region->link;
	int rc;

	/* Pairs with the release in smc_ib_region_done(), which has finished then. */
	switch (smp_load_acquire(&region->state)) {
	case SMC_IB_REGION_NEW:
		break;
	case SMC_IB_REGION_POSTED:
		return -EINPROGRESS;
	case SMC_IB_REGION_READY:
		return 0;
	case SMC_IB_REGION_FAILED:
		return -EIO;
	}
	if (smc_ib_link_broken(link))
		return -ENOTCONN;
	if (atomic_read(&link->registrations) >= SMC_IB_REGISTRATIONS ||
	    !smc_ib_queue_room(link, 1, SMC_IB_CONTROL_RESERVE))
		return -EAGAIN;
	atomic_inc(&link->registrations);
	WRITE_ONCE(link->wr_head, link->wr_head + 1);
	link->wr_signalled = link->wr_head;
	region->wr_end = link->wr_head;
	region->seq = link->seq;
	WRITE_ONCE(region->state, SMC_IB_REGION_POSTED);
	rc = ib_post_send(link->qp, &region->wr.wr, NULL);
	if (rc) {
		WRITE_ONCE(region->state, SMC_IB_REGION_FAILED);
		smc_ib_link_break(link, rc);
		return rc;
	}
	return -EINPROGRESS;
}

bool smc_ib_region_posted(const struct smc_ib_region *region)
{
	/* Pairs with the release in smc_ib_region_done(). */
	return smp_load_acquire(&region->state) == SMC_IB_REGION_POSTED;
}
