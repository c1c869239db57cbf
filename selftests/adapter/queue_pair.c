// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs: their states, and what is posted to them.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_cache.h>

#include "sim.h"

/*
 * A peer that repeats for ever spins on anything shorter than 0.64 ms. The code 0 is the longest of
 * all, 655 ms, and is what comes of a field that was forgotten. The kernel's own smc.ko has a
 * shorter one.
 */
static unsigned int rnr_timer_min = IB_RNR_TIMER_000_64;
module_param(rnr_timer_min, uint, 0644);
MODULE_PARM_DESC(rnr_timer_min, "the lowest code of an RNR timer that it takes");

/* By number, of all devices. Its lock is taken inside sim_fabric. */
static DEFINE_XARRAY_FLAGS(sim_qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
static u32 sim_qp_last;
/* Those found last, by the low bits of the number; guarded by sim_fabric. */
static struct sim_qp *sim_qps_found[SIM_FOUND];

int sim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	const struct ib_device_attr *limits = &ibqp->device->attrs;
	const struct xa_limit limit = XA_LIMIT(16, 0xffffff);
	struct sim_qp *qp = to_sim_qp(ibqp);
	struct ib_qp_cap *cap = &init->cap;
	int rc;

	if (init->qp_type != IB_QPT_RC || init->srq || init->create_flags)
		return -EOPNOTSUPP;
	if (!cap->max_send_wr || cap->max_send_wr > limits->max_qp_wr || !cap->max_recv_wr ||
	    cap->max_recv_wr > limits->max_qp_wr || cap->max_send_sge > limits->max_send_sge ||
	    cap->max_recv_sge > limits->max_recv_sge || cap->max_inline_data > SIM_INLINE_MAX)
		return -EINVAL;
	if (sim_fault_happens(to_sim_device(ibqp->device), SIM_FAULT_CREATE_QP))
		return -ENOMEM;
	spin_lock_init(&qp->lock);
	refcount_set(&qp->users, 1);
	init_completion(&qp->unused);
	sim_timing_init_qp(qp);
	qp->state = IB_QPS_RESET;
	qp->init = *init;
	qp->sends_size = cap->max_send_wr;
	qp->receives_size = cap->max_recv_wr;
	qp->sends = kvcalloc(qp->sends_size, sizeof(*qp->sends), GFP_KERNEL);
	qp->receives = kvcalloc(qp->receives_size, sizeof(*qp->receives), GFP_KERNEL);
	rc = qp->sends && qp->receives ? xa_alloc_cyclic_bh(&sim_qps, &ibqp->qp_num, qp, limit,
							    &sim_qp_last, GFP_KERNEL) :
					 -ENOMEM;
	if (rc < 0) {
		kvfree(qp->sends);
		kvfree(qp->receives);
		return rc;
	}
	return 0;
}

int sim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct sim_qp *qp = to_sim_qp(ibqp);

	/* From then on it cannot be found, and nobody uses it any more. */
	spin_lock_bh(&sim_fabric);
	xa_erase(&sim_qps, ibqp->qp_num);
	if (sim_qps_found[ibqp->qp_num % SIM_FOUND] == qp)
		sim_qps_found[ibqp->qp_num % SIM_FOUND] = NULL;
	sim_part(qp);
	spin_unlock_bh(&sim_fabric);
	sim_iw_rem_ref(ibqp);
	wait_for_completion(&qp->unused);
	sim_timing_exit_qp(qp);
	sim_cq_forget(qp->init.send_cq, ibqp);
	sim_cq_forget(qp->init.recv_cq, ibqp);
	kvfree(qp->sends);
	kvfree(qp->receives);
	return 0;
}

struct sim_qp *sim_qp_find(u32 qpn)
{
	struct sim_qp *qp = sim_qps_found[qpn % SIM_FOUND];

	if (!qp || qp->ibqp.qp_num != qpn) {
		qp = xa_load(&sim_qps, qpn);
		if (qp)
			sim_qps_found[qpn % SIM_FOUND] = qp;
	}
	return qp;
}

void sim_qp_set_state(struct sim_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->state = state;
	spin_unlock_irqrestore(&qp->lock, flags);
}

void sim_qp_fail(struct sim_qp *qp)
{
	sim_qp_set_state(qp, IB_QPS_ERR);
	sim_part(qp);
	mod_delayed_work(sim_wq, &qp->work, 0);
}

void sim_qp_fail_all(struct sim_device *dev)
{
	struct ib_event event = { .device = &dev->ibdev, .event = IB_EVENT_QP_FATAL };
	struct sim_qp *qp;
	unsigned long qpn;

	spin_lock_bh(&sim_fabric);
	xa_for_each(&sim_qps, qpn, qp) {
		if (qp->ibqp.device != &dev->ibdev)
			continue;
		sim_qp_fail(qp);
		event.element.qp = &qp->ibqp;
		if (qp->init.event_handler)
			qp->init.event_handler(&event, qp->init.qp_context);
	}
	spin_unlock_bh(&sim_fabric);
}

/* What a change of state requires. */
static void sim_qp_take_over(struct sim_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_AV) {
		/* The core has resolved the index, and keeps the entry for this queue pair. */
		const struct ib_gid_attr *own = attr->ah_attr.grh.sgid_attr;

		rdma_copy_ah_attr(&qp->attr.ah_attr, &attr->ah_attr);
		qp->own_gid = own->gid;
		rdma_read_gid_l2_fields(own, NULL, qp->own_mac);
		qp->gid_type = own->gid_type;
		rdma_destroy_ah_attr(&qp->attr.ah_attr);
	}
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
}

int sim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct sim_qp *qp = to_sim_qp(ibqp);
	enum ib_qp_state from = qp->state;
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;
	int rc = 0;

	if (!ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask))
		return -EINVAL;
	/* Drivers may rely on the way to the error state. */
	if (to != IB_QPS_ERR &&
	    sim_fault_happens(to_sim_device(ibqp->device), SIM_FAULT_MODIFY_QP))
		return -EIO;
	if (mask & IB_QP_AV && !attr->ah_attr.grh.sgid_attr)
		return -EINVAL;
	if (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer < rnr_timer_min)
		return -EINVAL;
	spin_lock_bh(&sim_fabric);
	sim_qp_take_over(qp, attr, mask);
	if (to == IB_QPS_ERR || (to == IB_QPS_SQD && qp->end))
		sim_qp_fail(qp);
	else if (to != from && (to == IB_QPS_RESET || to == IB_QPS_SQD || to == IB_QPS_SQE))
		rc = -EOPNOTSUPP;
	else
		sim_qp_set_state(qp, to);
	spin_unlock_bh(&sim_fabric);
	return rc;
}

int sim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct sim_qp *qp = to_sim_qp(ibqp);

	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

/* Copies what the caller may reuse after post_send() has returned. */
static int sim_send_fill(struct sim_qp *qp, struct sim_send *send, const struct ib_send_wr *wr)
{
	int i;

	/* Field by field, since the rest is large. */
	send->wr_id = wr->wr_id;
	send->opcode = wr->opcode;
	send->flags = wr->send_flags;
	send->bytes = 0;
	send->sges = wr->num_sge;
	send->imm = 0;
	send->due = sim_timing_due();
	if (wr->num_sge > qp->init.cap.max_send_sge)
		return -EINVAL;
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		if (rdma_protocol_iwarp(qp->ibqp.device, 1))
			return -EOPNOTSUPP;
		fallthrough;
	case IB_WR_RDMA_WRITE:
		send->remote_addr = rdma_wr(wr)->remote_addr;
		send->rkey = rdma_wr(wr)->rkey;
		send->imm = wr->ex.imm_data;
		break;
	case IB_WR_SEND:
		break;
	case IB_WR_REG_MR:
		send->region = to_sim_region(reg_wr(wr)->mr);
		send->key = reg_wr(wr)->key;
		send->access = reg_wr(wr)->access;
		break;
	case IB_WR_LOCAL_INV:
		send->key = wr->ex.invalidate_rkey;
		break;
	default:
		return -EOPNOTSUPP;
	}
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		send->sge[i] = *sge;
		if (wr->send_flags & IB_SEND_INLINE) {
			if (send->bytes + sge->length > qp->init.cap.max_inline_data)
				return -EINVAL;
			memcpy(send->data + send->bytes, (const void *)(uintptr_t)sge->addr,
			       sge->length);
		}
		send->bytes += sge->length;
	}
	return 0;
}

int sim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct sim_device *dev = to_sim_device(ibqp->device);
	struct sim_qp *qp = to_sim_qp(ibqp);
	unsigned long flags;
	u32 signaled = 0;
	u32 posted = 0;
	int rc = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next, posted++) {
		if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR)
			rc = -EINVAL;
		else if (qp->send_head - smp_load_acquire(&qp->send_tail) == qp->sends_size ||
			 (!wr->next && sim_fault_happens(dev, SIM_FAULT_POST_SEND)))
			rc = -ENOMEM;
		else
			rc = sim_send_fill(qp, &qp->sends[qp->send_head % qp->sends_size], wr);
		if (rc) {
			*bad = wr;
			break;
		}
		signaled += !!(wr->send_flags & IB_SEND_SIGNALED);
		smp_store_release(&qp->send_head, qp->send_head + 1);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	sim_count(dev, SIM_DOORBELLS, 1);
	sim_count(dev, SIM_REQUESTS, posted);
	sim_count(dev, SIM_SIGNALED, signaled);
	if (posted)
		sim_timing_doorbell(qp);
	return rc;
}

int sim_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct sim_device *dev = to_sim_device(ibqp->device);
	struct sim_qp *qp = to_sim_qp(ibqp);
	unsigned long flags;
	bool flush;
	int rc = 0;
	int i;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		struct sim_receive *receive = &qp->receives[qp->receive_head % qp->receives_size];

		if (qp->state == IB_QPS_RESET || wr->num_sge > qp->init.cap.max_recv_sge)
			rc = -EINVAL;
		else if (qp->receive_head - smp_load_acquire(&qp->receive_tail) ==
				 qp->receives_size ||
			 sim_fault_happens(dev, SIM_FAULT_POST_RECEIVE))
			rc = -ENOMEM;
		if (rc) {
			*bad = wr;
			break;
		}
		receive->wr_id = wr->wr_id;
		receive->sges = wr->num_sge;
		for (i = 0; i < wr->num_sge; i++)
			receive->sge[i] = wr->sg_list[i];
		smp_store_release(&qp->receive_head, qp->receive_head + 1);
	}
	flush = qp->state == IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (flush)
		queue_delayed_work(sim_wq, &qp->work, 0);
	return rc;
}
