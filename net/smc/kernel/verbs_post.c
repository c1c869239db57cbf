// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes into the send queue of a link: RDMA writes and messages.
 */
#include <linux/string.h>

#include "kernel/verbs.h"

static void smc_ib_post_message_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_ib_send_slot *slot = container_of(wc->wr_cqe, struct smc_ib_send_slot, cqe);
	struct smc_ib_link *link = cq->cq_context;

	if (likely(wc->status == IB_WC_SUCCESS))
		smc_ib_queue_retire(link, slot->wr_end, slot->seq);
	else
		smc_ib_link_break(link, wc->status);
}

/* Writes without immediate data are signalled by iWARP only; else only a failed one completes. */
static void smc_ib_post_write_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		smc_ib_link_break(cq->cq_context, wc->status);
}

void smc_ib_post_prepare(struct smc_ib_link *link)
{
	u32 i;

	link->local_dma_key = link->domain->pd->local_dma_lkey;
	link->write_cqe.done = smc_ib_post_write_done;
	/*
	 * Soft-iWARP hands pages to TCP by reference, and TCP may send them again after a later
	 * message has completed, unless it has to report the write itself.
	 */
	if (rdma_protocol_iwarp(link->domain->ibdev, link->port))
		link->write_flags = IB_SEND_SIGNALED;
	for (i = 0; i < SMC_IB_WRITES_MAX; i++) {
		struct ib_send_wr *wr = &link->write_wr[i].wr;

		wr->sg_list = &link->write_sge[i];
		wr->num_sge = 1;
	}
	link->send_wr.opcode = IB_WR_SEND;
	link->send_wr.sg_list = &link->send_sge;
	link->send_wr.num_sge = 1;
	for (i = 0; i < link->send_queue; i++)
		link->send_slots[i].cqe.done = smc_ib_post_message_done;
}

/* The buffer of a long message that is not in flight, or NULL. */
static struct smc_ib_long *smc_ib_post_long(struct smc_ib_link *link)
{
	u32 used = smc_ib_queue_used(link);
	int i;

	/*
	 * In flight is what lies between wr_tail and wr_head, wherever these are: a buffer may be
	 * unused for longer than either takes to wrap.
	 */
	for (i = 0; i < SMC_IB_LONG_MESSAGES; i++)
		if (link->wr_head - link->longs[i].wr_end >= used)
			return &link->longs[i];
	return NULL;
}

static __always_inline void smc_ib_post_fill_write(struct smc_ib_link *link, unsigned int i,
				   const struct smc_ib_write *write)
{
	struct ib_rdma_wr *wr = &link->write_wr[i];
	struct ib_sge *sge = &link->write_sge[i];

	if (write->data && write->length_bytes <= link->inline_bytes) {
		sge->addr = (uintptr_t)write->data;
		wr->wr.send_flags = IB_SEND_INLINE;
	} else {
		sge->addr = write->local->address + write->offset_bytes;
		wr->wr.send_flags = link->write_flags;
		if (unlikely(write->local->must_sync))
			smc_ib_region_sync_for_device(write->local, write->offset_bytes,
						      write->length_bytes);
	}
	sge->length = write->length_bytes;
	sge->lkey = write->local->local_key;
	wr->wr.opcode = IB_WR_RDMA_WRITE;
	wr->wr.wr_cqe = &link->write_cqe;
	wr->remote_addr = write->remote_address;
	wr->rkey = write->remote_key;
}

static void smc_ib_post_fill_message(struct smc_ib_link *link, u32 slot_index,
				     struct smc_ib_long *msg, const void *message, size_t bytes)
{
	struct ib_device *ibdev = link->domain->ibdev;
	struct ib_sge *sge = &link->send_sge;
	size_t offset;

	link->send_wr.send_flags = IB_SEND_SOLICITED;
	sge->length = bytes;
	sge->lkey = link->local_dma_key;
	if (msg) {
		memcpy(msg->data, message, bytes);
		ib_dma_sync_single_for_device(ibdev, msg->dma, bytes, DMA_TO_DEVICE);
		sge->addr = msg->dma;
	} else if (bytes <= link->inline_bytes) {
		sge->addr = (uintptr_t)message;
		link->send_wr.send_flags |= IB_SEND_INLINE;
	} else {
		offset = (size_t)slot_index * SMC_IB_MESSAGE_HEAD_BYTES;
		memcpy(link->send_heads + offset, message, bytes);
		ib_dma_sync_single_for_device(ibdev, link->send_heads_dma + offset, bytes,
					      DMA_TO_DEVICE);
		sge->addr = link->send_heads_dma + offset;
	}
}

/* Places that a post leaves to others. */
static u32 smc_ib_post_reserve(unsigned int flags)
{
	if (likely(!(flags & (SMC_IB_POST_CONTROL | SMC_IB_POST_LAST))))
		return SMC_IB_SEND_RESERVE;
	return flags & SMC_IB_POST_LAST ? 0 : SMC_IB_LAST_RESERVE;
}

/* The slot of the next post. */
static u32 smc_ib_post_slot(const struct smc_ib_link *link)
{
	return (link->seq + 1) & (link->send_queue - 1);
}

/* Makes requests of the writes, with @last, which may be NULL, behind them. Returns the first. */
static __always_inline struct ib_send_wr *
smc_ib_post_chain(struct smc_ib_link *link, const struct smc_ib_write *writes,
		  unsigned int n_writes, struct ib_send_wr *last)
{
	struct ib_send_wr *first = last;

	while (n_writes--) {
		smc_ib_post_fill_write(link, n_writes, &writes[n_writes]);
		link->write_wr[n_writes].wr.next = first;
		first = &link->write_wr[n_writes].wr;
	}
	return first;
}

/*
 * Requests are carried out in their order. So a send buffer is registered just before the first
 * write that reads it.
 */
static int smc_ib_post_register(const struct smc_ib_write *writes, unsigned int n_writes)
{
	while (n_writes--) {
		struct smc_ib_region *local = writes[n_writes].local;
		int rc;

		if (likely(READ_ONCE(local->state) == SMC_IB_REGION_READY))
			continue;
		rc = smc_ib_region_post(local);
		if (rc && rc != -EINPROGRESS)
			return rc;
	}
	return 0;
}

/* Posts @count requests, the last of which reports for all. */
static __always_inline int smc_ib_post_all(struct smc_ib_link *link, struct ib_send_wr *first,
					   struct ib_send_wr *last, u32 count, unsigned int flags,
					   u64 *seq)
{
	struct smc_ib_send_slot *slot = &link->send_slots[smc_ib_post_slot(link)];
	u32 wr_end = link->wr_head + count;
	int rc;

	if ((flags & SMC_IB_POST_SIGNAL) || wr_end - link->wr_signalled >= link->send_queue / 4) {
		last->send_flags |= IB_SEND_SIGNALED;
		link->wr_signalled = wr_end;
	}
	last->wr_cqe = &slot->cqe;
	slot->wr_end = wr_end;
	slot->seq = ++link->seq;
	WRITE_ONCE(link->wr_head, wr_end);
	*seq = link->seq;

	rc = ib_post_send(link->qp, first, NULL);
	/* A part of the chain may have been posted, and cannot be taken back. */
	if (unlikely(rc))
		smc_ib_link_break(link, rc);
	return rc;
}

static __always_inline int smc_ib_post_immediate(struct smc_ib_link *link,
						 const struct smc_ib_write *writes,
						 unsigned int n_writes, u32 immediate,
						 unsigned int flags, u64 *seq)
{
	struct ib_send_wr *first, *last;
	int rc;

	if (unlikely(smc_ib_link_broken(link)))
		return -ENOTCONN;
	if (WARN_ON_ONCE(!n_writes || n_writes > SMC_IB_WRITES_MAX)) {
		smc_ib_link_break(link, -EINVAL);
		return -EINVAL;
	}
	rc = smc_ib_post_register(writes, n_writes);
	if (unlikely(rc))
		return rc;
	if (!smc_ib_queue_room(link, n_writes, smc_ib_post_reserve(flags)))
		return -EAGAIN;

	first = smc_ib_post_chain(link, writes, n_writes, NULL);
	last = &link->write_wr[n_writes - 1].wr;
	last->opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	last->ex.imm_data = cpu_to_be32(immediate);
	last->send_flags |= IB_SEND_SOLICITED;
	return smc_ib_post_all(link, first, last, n_writes, flags, seq);
}

int smc_ib_link_post_immediate(struct smc_ib_link *link, const struct smc_ib_write *writes,
			       unsigned int n_writes, u32 immediate, unsigned int flags, u64 *seq)
{
	/* The usual case, without loops. */
	if (likely(n_writes == 1))
		return smc_ib_post_immediate(link, writes, 1, immediate, flags, seq);
	return smc_ib_post_immediate(link, writes, n_writes, immediate, flags, seq);
}

int smc_ib_link_post(struct smc_ib_link *link, const struct smc_ib_write *writes,
		     unsigned int n_writes, const void *message, size_t message_bytes,
		     unsigned int flags, u64 *seq)
{
	struct smc_ib_long *msg = NULL;
	struct ib_send_wr *first;
	int rc;

	if (unlikely(smc_ib_link_broken(link)))
		return -ENOTCONN;
	if (WARN_ON_ONCE(n_writes > SMC_IB_WRITES_MAX || !message_bytes ||
			 message_bytes > SMC_IB_MESSAGE_MAX_BYTES)) {
		smc_ib_link_break(link, -EINVAL);
		return -EINVAL;
	}
	rc = smc_ib_post_register(writes, n_writes);
	if (unlikely(rc))
		return rc;
	if (!smc_ib_queue_room(link, n_writes + 1, smc_ib_post_reserve(flags)))
		return -EAGAIN;
	if (unlikely(message_bytes > SMC_IB_MESSAGE_HEAD_BYTES)) {
		msg = smc_ib_post_long(link);
		if (!msg)
			return -EAGAIN;
		flags |= SMC_IB_POST_SIGNAL;
	}

	if (msg)
		msg->wr_end = link->wr_head + n_writes + 1;
	smc_ib_post_fill_message(link, smc_ib_post_slot(link), msg, message, message_bytes);
	first = smc_ib_post_chain(link, writes, n_writes, &link->send_wr);
	return smc_ib_post_all(link, first, &link->send_wr, n_writes + 1, flags, seq);
}
