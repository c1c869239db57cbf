// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive queue of a link.
 *
 * Each receive has a short head, next to the other heads so that the usual
 * 44-byte message stays within one cache line, and a page behind it that only
 * long LLC messages reach. Devices that scatter a receive to one piece of memory
 * only (erdma) get both in one piece.
 */
#include <linux/slab.h>

#include "kernel/abi/callbacks/verbs.h"
#include "kernel/verbs.h"

#define SMC_IB_RECEIVE_HEADS_BYTES (SMC_IB_RECEIVES * SMC_IB_MESSAGE_HEAD_BYTES)
#define SMC_IB_RECEIVE_TAIL_BYTES (SMC_IB_MESSAGE_MAX_BYTES - SMC_IB_MESSAGE_HEAD_BYTES)

static void smc_ib_receive_repost(struct smc_ib_link *link, struct smc_ib_receive_slot *slot)
{
	int rc;

	slot->wr.next = NULL;
	if (link->repost_last)
		link->repost_last->wr.next = &slot->wr;
	else
		link->repost_first = slot;
	link->repost_last = slot;
	if (++link->repost_count < SMC_IB_REPOST_BATCH)
		return;
	rc = ib_post_recv(link->qp, &link->repost_first->wr, NULL);
	link->repost_first = NULL;
	link->repost_last = NULL;
	link->repost_count = 0;
	if (rc)
		smc_ib_link_break(link, rc);
}

static u64 smc_ib_receive_tail_dma(const struct smc_ib_receive_slot *slot)
{
	return slot->wr.num_sge == 1 ? slot->sge[0].addr + SMC_IB_MESSAGE_HEAD_BYTES :
				       slot->sge[1].addr;
}

static void smc_ib_receive_sync_for_device(struct ib_device *ibdev,
					   struct smc_ib_receive_slot *slot)
{
	ib_dma_sync_single_for_device(ibdev, slot->sge[0].addr, SMC_IB_MESSAGE_HEAD_BYTES,
				      DMA_FROM_DEVICE);
	if (unlikely(slot->length > SMC_IB_MESSAGE_HEAD_BYTES))
		ib_dma_sync_single_for_device(ibdev, smc_ib_receive_tail_dma(slot),
					      SMC_IB_RECEIVE_TAIL_BYTES, DMA_FROM_DEVICE);
}

static void smc_ib_receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_ib_receive_slot *slot =
		container_of(wc->wr_cqe, struct smc_ib_receive_slot, cqe);
	struct smc_ib_link *link = cq->cq_context;
	struct ib_device *ibdev = link->domain->ibdev;
	u32 bytes = min_t(u32, wc->byte_len, SMC_IB_MESSAGE_MAX_BYTES);

	/* The QP is about to be destroyed: no repost, no callback. */
	if (unlikely(test_bit(SMC_IB_LINK_CLOSING, &link->flags)))
		return;
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		smc_ib_link_break(link, wc->status);
		complete(&link->receives_flushed);
		return;
	}
	/* A write with immediate data uses up a receive without filling it. */
	if (wc->opcode != IB_WC_RECV) {
		smc_ib_link_written(link->context, be32_to_cpu(wc->ex.imm_data), wc->byte_len);
		smc_ib_receive_repost(link, slot);
		return;
	}
	ib_dma_sync_single_for_cpu(ibdev, slot->sge[0].addr, SMC_IB_MESSAGE_HEAD_BYTES,
				   DMA_FROM_DEVICE);
	if (unlikely(bytes > SMC_IB_MESSAGE_HEAD_BYTES))
		ib_dma_sync_single_for_cpu(ibdev, smc_ib_receive_tail_dma(slot),
					   SMC_IB_RECEIVE_TAIL_BYTES, DMA_FROM_DEVICE);
	slot->length = bytes;
	if (unlikely(!smc_ib_link_received(link->context, slot, slot->head, slot->tail, bytes)))
		return;
	smc_ib_receive_sync_for_device(ibdev, slot);
	smc_ib_receive_repost(link, slot);
}

/* Posted alone: the chain belongs to completions. */
void smc_ib_link_give_back(struct smc_ib_link *link, struct smc_ib_receive_slot *slot)
{
	int rc;

	if (smc_ib_link_broken(link))
		return;
	smc_ib_receive_sync_for_device(link->domain->ibdev, slot);
	slot->wr.next = NULL;
	rc = ib_post_recv(link->qp, &slot->wr, NULL);
	if (rc)
		smc_ib_link_break(link, rc);
}

/* Of each slot's own memory. */
static size_t smc_ib_receive_data_bytes(const struct smc_ib_link *link)
{
	return link->receive_sges == 1 ? SMC_IB_MESSAGE_MAX_BYTES : SMC_IB_RECEIVE_TAIL_BYTES;
}

static void smc_ib_receive_destroy_tails(struct smc_ib_link *link, int count)
{
	struct smc_ib_receive_slot *slot;

	while (count--) {
		slot = &link->receives[count];
		ib_dma_unmap_single(link->domain->ibdev, slot->sge[link->receive_sges - 1].addr,
				    smc_ib_receive_data_bytes(link), DMA_FROM_DEVICE);
		kfree(slot->data);
	}
}

static int smc_ib_receive_create_slot(struct smc_ib_link *link, int i)
{
	struct smc_ib_receive_slot *slot = &link->receives[i];
	struct ib_device *ibdev = link->domain->ibdev;
	size_t bytes = smc_ib_receive_data_bytes(link);
	struct ib_sge *last = &slot->sge[link->receive_sges - 1];

	slot->data = kmalloc(bytes, GFP_KERNEL);
	if (!slot->data)
		return -ENOMEM;
	last->addr = ib_dma_map_single(ibdev, slot->data, bytes, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, last->addr)) {
		kfree(slot->data);
		return -ENOMEM;
	}
	last->length = bytes;
	last->lkey = link->domain->pd->local_dma_lkey;
	if (link->receive_sges == 1) {
		slot->head = slot->data;
		slot->tail = slot->data + SMC_IB_MESSAGE_HEAD_BYTES;
	} else {
		slot->head = link->receive_heads + i * SMC_IB_MESSAGE_HEAD_BYTES;
		slot->tail = slot->data;
		slot->sge[0].addr = link->receive_heads_dma + i * SMC_IB_MESSAGE_HEAD_BYTES;
		slot->sge[0].length = SMC_IB_MESSAGE_HEAD_BYTES;
		slot->sge[0].lkey = link->domain->pd->local_dma_lkey;
	}
	slot->cqe.done = smc_ib_receive_done;
	slot->wr.wr_cqe = &slot->cqe;
	slot->wr.sg_list = slot->sge;
	slot->wr.num_sge = link->receive_sges;
	return 0;
}

int smc_ib_receive_create(struct smc_ib_link *link)
{
	struct ib_device *ibdev = link->domain->ibdev;
	int i;

	link->receives = kvcalloc(SMC_IB_RECEIVES, sizeof(*link->receives),
				  GFP_KERNEL | __GFP_NOWARN);
	if (!link->receives)
		return -ENOMEM;
	link->receive_heads = kzalloc(SMC_IB_RECEIVE_HEADS_BYTES, GFP_KERNEL);
	if (!link->receive_heads)
		goto err_receives;
	link->receive_heads_dma = ib_dma_map_single(ibdev, link->receive_heads,
						    SMC_IB_RECEIVE_HEADS_BYTES,
						    DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, link->receive_heads_dma))
		goto err_heads;
	for (i = 0; i < SMC_IB_RECEIVES; i++)
		if (smc_ib_receive_create_slot(link, i))
			goto err_tails;
	return 0;

err_tails:
	smc_ib_receive_destroy_tails(link, i);
	ib_dma_unmap_single(ibdev, link->receive_heads_dma, SMC_IB_RECEIVE_HEADS_BYTES,
			    DMA_FROM_DEVICE);
err_heads:
	kfree(link->receive_heads);
err_receives:
	kvfree(link->receives);
	return -ENOMEM;
}

void smc_ib_receive_destroy(struct smc_ib_link *link)
{
	smc_ib_receive_destroy_tails(link, SMC_IB_RECEIVES);
	ib_dma_unmap_single(link->domain->ibdev, link->receive_heads_dma,
			    SMC_IB_RECEIVE_HEADS_BYTES, DMA_FROM_DEVICE);
	kfree(link->receive_heads);
	kvfree(link->receives);
}

int smc_ib_receive_post_all(struct smc_ib_link *link)
{
	int i;

	for (i = 0; i < SMC_IB_RECEIVES; i++)
		link->receives[i].wr.next =
			i + 1 < SMC_IB_RECEIVES ? &link->receives[i + 1].wr : NULL;
	return ib_post_recv(link->qp, &link->receives[0].wr, NULL);
}
