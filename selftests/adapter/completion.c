// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "sim.h"

#define SIM_CQ_SIZE_MAX 65536

int sim_cq_size_max(void)
{
	return SIM_CQ_SIZE_MAX - 1;
}

int sim_create_cq_of(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr)
{
	struct sim_cq *cq = to_sim_cq(ibcq);

	if (attr->cqe < 1 || attr->cqe > sim_cq_size_max())
		return -EINVAL;
	if (sim_fault_happens(to_sim_device(ibcq->device), SIM_FAULT_CREATE_CQ))
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	cq->size = roundup_pow_of_two(attr->cqe + 1);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	ibcq->cqe = cq->size - 1;
	sim_timing_init_cq(cq);
	return 0;
}

int sim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct sim_cq *cq = to_sim_cq(ibcq);

	sim_timing_exit_cq(cq);
	kvfree(cq->ring);
	return 0;
}

int sim_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct sim_cq *cq = to_sim_cq(ibcq);
	unsigned long flags;
	int n;

	sim_count(to_sim_device(ibcq->device), SIM_POLLS, 1);
	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < count && cq->tail != cq->head; n++)
		wc[n] = cq->ring[cq->tail++ & (cq->size - 1)];
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int sim_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	/* Both of the mask's bits are one of its values, too: not only solicited ones. */
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct sim_cq *cq = to_sim_cq(ibcq);
	unsigned long irq_flags;
	bool missed;

	sim_count(to_sim_device(ibcq->device), SIM_ARMS, 1);
	spin_lock_irqsave(&cq->lock, irq_flags);
	cq->armed = max_t(u32, cq->armed, solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
	missed = cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return missed && (flags & IB_CQ_REPORT_MISSED_EVENTS) ? 1 : 0;
}

void sim_cq_upcall(struct sim_cq *cq)
{
	sim_count(to_sim_device(cq->ibcq.device), SIM_UPCALLS, 1);
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void sim_cq_overrun(struct ib_cq *ibcq)
{
	struct ib_event event = {
		.device = ibcq->device,
		.element.cq = ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	pr_err("simrnic: %s: a completion queue overruns\n", dev_name(&ibcq->device->dev));
	if (ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

void sim_cq_add(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited)
{
	struct sim_cq *cq = to_sim_cq(ibcq);
	bool overrun = false;
	bool call = false;
	unsigned long flags;

	sim_count(to_sim_device(ibcq->device), SIM_COMPLETIONS, 1);
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->head - cq->tail == cq->size) {
		overrun = !cq->overrun;
		cq->overrun = true;
	} else {
		cq->ring[cq->head++ & (cq->size - 1)] = *wc;
		call = cq->armed == IB_CQ_NEXT_COMP || (cq->armed == IB_CQ_SOLICITED && solicited);
		if (call)
			cq->armed = 0;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overrun)
		sim_cq_overrun(ibcq);
	if (call)
		sim_timing_upcall(cq);
}

void sim_cq_forget(struct ib_cq *ibcq, const struct ib_qp *ibqp)
{
	struct sim_cq *cq = to_sim_cq(ibcq);
	unsigned long flags;
	u32 kept;
	u32 i;

	spin_lock_irqsave(&cq->lock, flags);
	for (kept = i = cq->tail; i != cq->head; i++) {
		if (cq->ring[i & (cq->size - 1)].qp != ibqp)
			cq->ring[kept++ & (cq->size - 1)] = cq->ring[i & (cq->size - 1)];
	}
	cq->head = kept;
	spin_unlock_irqrestore(&cq->lock, flags);
}
