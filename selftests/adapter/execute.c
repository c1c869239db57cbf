// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the hardware does with what was posted: it takes the sends of a queue pair
 * in order and does each of them as a whole. When is in timing.c.
 */
#include <linux/jiffies.h>

#include "sim.h"

/* How many sends one queue pair may execute before others get their turn. */
#define SIM_BATCH 16
#define SIM_NOT_READY_DELAY 1 /* jiffies */
#define SIM_FOR_EVER 7        /* rnr_retry */

enum sim_outcome {
	SIM_DONE,
	SIM_FAILED,  /* an error completion was reported, and the queue pair is in error */
	SIM_AGAIN,   /* the peer has no receive for it */
	SIM_NOBODY,  /* there is no peer, or no route to it */
};

static struct sim_device *sim_device_of(const struct sim_qp *qp)
{
	return to_sim_device(qp->ibqp.device);
}

static enum ib_wc_opcode sim_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		return IB_WC_SEND;
	}
}

/* It asked for a completion, or needs one. */
static bool sim_reports(const struct sim_qp *qp, const struct sim_send *send,
			enum ib_wc_status status)
{
	return send->flags & IB_SEND_SIGNALED || status != IB_WC_SUCCESS ||
	       qp->init.sq_sig_type == IB_SIGNAL_ALL_WR;
}

static noinline void sim_report_send(struct sim_qp *qp, const struct sim_send *send,
			    enum ib_wc_status status)
{
	const struct ib_wc wc = {
		.wr_id = send->wr_id,
		.status = status,
		.opcode = sim_wc_opcode(send->opcode),
		.qp = &qp->ibqp,
		.byte_len = send->bytes,
	};

	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_LOSE))
		return;
	sim_cq_add(qp->init.send_cq, &wc, status != IB_WC_SUCCESS);
	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_DOUBLE))
		sim_cq_add(qp->init.send_cq, &wc, status != IB_WC_SUCCESS);
}

static __always_inline void sim_complete_send(struct sim_qp *qp, const struct sim_send *send,
					      enum ib_wc_status status)
{
	if (sim_reports(qp, send, status))
		sim_report_send(qp, send, status);
}

static enum sim_outcome sim_fail(struct sim_qp *qp, const struct sim_send *send,
				 enum ib_wc_status status)
{
	sim_complete_send(qp, send, status);
	sim_qp_fail(qp);
	return SIM_FAILED;
}

void sim_responder_fails(struct sim_qp *qp)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = IB_EVENT_QP_ACCESS_ERR,
	};

	sim_qp_fail(qp);
	if (qp->init.event_handler)
		qp->init.event_handler(&event, qp->init.qp_context);
}

/* The responder refuses: both queue pairs go to the error state, and its owner gets an event. */
static enum sim_outcome sim_refuse(struct sim_qp *qp, const struct sim_send *send,
				   struct sim_qp *peer, enum ib_wc_status status)
{
	sim_responder_fails(peer);
	return sim_fail(qp, send, status);
}

/* True if sends of this queue pair reach one that has it as its peer. */
static struct sim_qp *sim_peer(struct sim_qp *qp)
{
	struct sim_qp *peer = sim_qp_find(qp->attr.dest_qp_num);
	const struct rdma_ah_attr *way = &qp->attr.ah_attr;

	if (qp->end)
		return sim_joined_to(qp) && sim_device_port_active(sim_device_of(qp)) &&
				       sim_device_port_active(sim_device_of(peer)) ?
			       peer : NULL;
	if (!peer || peer == qp || peer->attr.dest_qp_num != qp->ibqp.qp_num ||
	    (peer->state != IB_QPS_RTR && peer->state != IB_QPS_RTS) ||
	    peer->gid_type != qp->gid_type || peer->attr.rq_psn != qp->attr.sq_psn ||
	    memcmp(&way->grh.dgid, &peer->own_gid, sizeof(peer->own_gid)) ||
	    memcmp(&peer->attr.ah_attr.grh.dgid, &qp->own_gid, sizeof(qp->own_gid)) ||
	    memcmp(way->roce.dmac, peer->own_mac, ETH_ALEN) ||
	    !sim_device_port_active(sim_device_of(qp)) ||
	    !sim_device_port_active(sim_device_of(peer)))
		return NULL;
	return peer;
}

/* Copies what @send gathers into @to, which has room for it. */
static enum ib_wc_status sim_gather(struct sim_qp *qp, const struct sim_send *send,
				    struct sim_stretch *to)
{
	u32 i;

	if (send->flags & IB_SEND_INLINE)
		return sim_dma_copy_in(to, send->data, min(send->bytes, to->length)) ?
			       IB_WC_SUCCESS : IB_WC_REM_OP_ERR;
	for (i = 0; i < send->sges; i++) {
		struct sim_stretch from;

		if (!sim_region_open(sim_device_of(qp), qp->ibqp.pd, send->sge[i].lkey,
				     send->sge[i].addr, send->sge[i].length, 0, &from) ||
		    !sim_dma_copy(to, &from))
			return IB_WC_LOC_PROT_ERR;
	}
	return IB_WC_SUCCESS;
}

/* The oldest posted receive, or NULL; it stays until sim_receive_is_taken(). */
static const struct sim_receive *sim_oldest_receive(const struct sim_qp *qp)
{
	if (qp->receive_tail == smp_load_acquire(&qp->receive_head))
		return NULL;
	return &qp->receives[qp->receive_tail % qp->receives_size];
}

static void sim_receive_is_taken(struct sim_qp *qp)
{
	smp_store_release(&qp->receive_tail, qp->receive_tail + 1);
}

bool sim_take_receive(struct sim_qp *peer, struct sim_receive *out)
{
	const struct sim_receive *receive = sim_oldest_receive(peer);
	u32 i;

	if (!receive)
		return false;
	out->wr_id = receive->wr_id;
	out->sges = receive->sges;
	for (i = 0; i < receive->sges; i++)
		out->sge[i] = receive->sge[i];
	sim_receive_is_taken(peer);
	return true;
}

/* The same for a write, which uses no more of it. */
static bool sim_take_wr_id(struct sim_qp *peer, u64 *wr_id)
{
	const struct sim_receive *receive = sim_oldest_receive(peer);

	if (!receive)
		return false;
	*wr_id = receive->wr_id;
	sim_receive_is_taken(peer);
	return true;
}

static void sim_complete_receive(struct sim_qp *peer, const struct sim_qp *from,
				 const struct sim_send *send, u64 wr_id, enum ib_wc_status status)
{
	bool imm = send->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	struct ib_wc wc = {
		.wr_id = wr_id,
		.status = status,
		.opcode = imm ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.qp = &peer->ibqp,
		.src_qp = from->ibqp.qp_num,
		.byte_len = send->bytes,
		.ex.imm_data = send->imm,
		.wc_flags = imm ? IB_WC_WITH_IMM : 0,
		.port_num = 1,
	};

	sim_cq_add(peer->init.recv_cq, &wc,
		   send->flags & IB_SEND_SOLICITED || status != IB_WC_SUCCESS);
}

enum ib_wc_status sim_scatter_bytes(struct sim_qp *qp, const struct sim_receive *receive,
				    const u8 *data, u32 bytes)
{
	u32 i;

	for (i = 0; i < receive->sges && bytes; i++) {
		const struct ib_sge *sge = &receive->sge[i];
		u32 piece = min(sge->length, bytes);
		struct sim_stretch to;

		if (!sim_region_open(sim_device_of(qp), qp->ibqp.pd, sge->lkey, sge->addr, piece,
				     IB_ACCESS_LOCAL_WRITE, &to) ||
		    !sim_dma_copy_in(&to, data, piece))
			return IB_WC_REM_OP_ERR;
		data += piece;
		bytes -= piece;
	}
	return bytes ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

/* The scatter list of a receive, one piece after the other. */
static enum ib_wc_status sim_scatter(struct sim_qp *qp, const struct sim_send *send,
				     struct sim_qp *peer, const struct sim_receive *receive)
{
	struct sim_device *dev = sim_device_of(peer);
	struct sim_stretch to;
	u32 from_sge = 0;
	u32 from_offset = 0;
	u32 left = send->bytes;
	u32 i;

	if (send->flags & IB_SEND_INLINE)
		return sim_scatter_bytes(peer, receive, send->data, send->bytes);
	for (i = 0; i < receive->sges && left; i++) {
		const struct ib_sge *sge = &receive->sge[i];

		if (!sim_region_open(dev, peer->ibqp.pd, sge->lkey, sge->addr,
				     min(sge->length, left), IB_ACCESS_LOCAL_WRITE, &to))
			return IB_WC_REM_OP_ERR;
		while (to.length) {
			const struct ib_sge *source = &send->sge[from_sge];
			u32 piece = min(to.length, source->length - from_offset);
			struct sim_stretch from;

			if (!sim_region_open(sim_device_of(qp), qp->ibqp.pd, source->lkey,
					     source->addr + from_offset, piece, 0, &from) ||
			    !sim_dma_copy(&to, &from))
				return IB_WC_LOC_PROT_ERR;
			from_offset += piece;
			if (from_offset == source->length) {
				from_sge++;
				from_offset = 0;
			}
			left -= piece;
		}
	}
	return left ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

static enum sim_outcome sim_execute_send(struct sim_qp *qp, const struct sim_send *send)
{
	struct sim_qp *peer = sim_peer(qp);
	struct sim_receive receive;
	enum ib_wc_status status;

	if (!peer)
		return SIM_NOBODY;
	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_RETRIES))
		return sim_fail(qp, send, IB_WC_RETRY_EXC_ERR);
	if (qp->end && !sim_may_send(qp))
		return sim_fail(qp, send, IB_WC_FATAL_ERR);
	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_NOT_READY) ||
	    !sim_take_receive(peer, &receive))
		return qp->end ? sim_refuse(qp, send, peer, IB_WC_REM_OP_ERR) : SIM_AGAIN;
	status = sim_scatter(qp, send, peer, &receive);
	if (status == IB_WC_LOC_PROT_ERR)
		return sim_fail(qp, send, status);
	sim_complete_receive(peer, qp, send, receive.wr_id,
			     status == IB_WC_REM_OP_ERR ? IB_WC_LOC_PROT_ERR : status);
	if (status == IB_WC_LOC_LEN_ERR)
		return sim_refuse(qp, send, peer, IB_WC_REM_INV_REQ_ERR);
	if (status != IB_WC_SUCCESS)
		return sim_refuse(qp, send, peer, status);
	sim_count(sim_device_of(peer), SIM_SENDS, 1);
	sim_complete_send(qp, send, IB_WC_SUCCESS);
	return SIM_DONE;
}

static enum sim_outcome sim_execute_write(struct sim_qp *qp, const struct sim_send *send)
{
	bool imm = send->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	struct sim_qp *peer = sim_peer(qp);
	struct sim_stretch to = {};
	enum ib_wc_status status;
	u64 wr_id;

	if (!peer)
		return SIM_NOBODY;
	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_RETRIES))
		return sim_fail(qp, send, IB_WC_RETRY_EXC_ERR);
	if (qp->end && !sim_may_send(qp))
		return sim_fail(qp, send, IB_WC_FATAL_ERR);
	if (sim_fault_happens(sim_device_of(qp), SIM_FAULT_ACCESS))
		return sim_refuse(qp, send, peer, IB_WC_REM_ACCESS_ERR);
	if (!(peer->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) ||
	    (send->bytes &&
	     !sim_region_open(sim_device_of(peer), peer->ibqp.pd, send->rkey, send->remote_addr,
			      send->bytes, IB_ACCESS_REMOTE_WRITE, &to)))
		return sim_refuse(qp, send, peer, IB_WC_REM_ACCESS_ERR);
	if (imm && !sim_take_wr_id(peer, &wr_id))
		return SIM_AGAIN;
	if (sim_copy_bytes)
		to.length = min(to.length, sim_copy_bytes);
	status = send->bytes ? sim_gather(qp, send, &to) : IB_WC_SUCCESS;
	if (status == IB_WC_REM_OP_ERR)
		return sim_refuse(qp, send, peer, status);
	if (status != IB_WC_SUCCESS)
		return sim_fail(qp, send, status);
	sim_count(sim_device_of(peer), SIM_WRITES, 1);
	sim_count(sim_device_of(peer), SIM_WRITE_BYTES, send->bytes);
	if (imm)
		sim_complete_receive(peer, qp, send, wr_id, IB_WC_SUCCESS);
	sim_complete_send(qp, send, IB_WC_SUCCESS);
	return SIM_DONE;
}

static enum sim_outcome sim_execute_local(struct sim_qp *qp, const struct sim_send *send)
{
	struct sim_device *dev = sim_device_of(qp);
	bool done;

	if (send->opcode == IB_WR_REG_MR) {
		done = !sim_fault_happens(dev, SIM_FAULT_REGISTER) &&
		       sim_region_register(qp->ibqp.pd, send->region, send->key, send->access);
		sim_count(dev, SIM_REGISTRATIONS, 1);
	} else {
		done = sim_region_invalidate(dev, qp->ibqp.pd, send->key);
	}
	if (!done)
		return sim_fail(qp, send, IB_WC_MW_BIND_ERR);
	sim_complete_send(qp, send, IB_WC_SUCCESS);
	return SIM_DONE;
}

static enum sim_outcome sim_execute(struct sim_qp *qp, const struct sim_send *send)
{
	switch (send->opcode) {
	case IB_WR_SEND:
		return sim_execute_send(qp, send);
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return sim_execute_write(qp, send);
	default:
		return sim_execute_local(qp, send);
	}
}

static void sim_send_is_through(struct sim_qp *qp)
{
	smp_store_release(&qp->send_tail, qp->send_tail + 1);
	qp->tries = 0;
}

static void sim_flush(struct sim_qp *qp)
{
	const struct sim_send nothing = {};
	struct sim_receive receive;

	while (qp->send_tail != smp_load_acquire(&qp->send_head)) {
		sim_complete_send(qp, &qp->sends[qp->send_tail % qp->sends_size],
				  IB_WC_WR_FLUSH_ERR);
		sim_send_is_through(qp);
	}
	while (sim_take_receive(qp, &receive))
		sim_complete_receive(qp, qp, &nothing, receive.wr_id, IB_WC_WR_FLUSH_ERR);
}

void sim_request_is_through(struct sim_qp *qp, enum ib_wc_status status)
{
	const struct sim_send *send = &qp->sends[qp->send_tail % qp->sends_size];

	if (status == IB_WC_SUCCESS)
		sim_complete_send(qp, send, status);
	else
		sim_fail(qp, send, status);
	sim_send_is_through(qp);
	mod_delayed_work(sim_wq, &qp->work, 0);
}

static bool sim_is_idle(const struct sim_qp *qp)
{
	return qp->state != IB_QPS_ERR && qp->send_tail == smp_load_acquire(&qp->send_head);
}

/*
 * How long it waits before it goes on, in jiffies; negative if there is nothing to do.
 */
static long sim_execute_next(struct sim_qp *qp)
{
	const struct sim_send *send;

	if (qp->state == IB_QPS_ERR) {
		sim_flush(qp);
		return -1;
	}
	if (sim_is_idle(qp))
		return -1;
	send = &qp->sends[qp->send_tail % qp->sends_size];
	switch (sim_execute(qp, send)) {
	case SIM_DONE:
	case SIM_FAILED:
		sim_send_is_through(qp);
		return 0;
	case SIM_AGAIN:
		sim_count(sim_device_of(qp), SIM_NOT_READY, 1);
		if (qp->attr.rnr_retry == SIM_FOR_EVER || qp->tries++ < qp->attr.rnr_retry)
			return SIM_NOT_READY_DELAY;
		sim_fail(qp, send, IB_WC_RNR_RETRY_EXC_ERR);
		sim_send_is_through(qp);
		return 0;
	case SIM_NOBODY:
		if (!sim_wire_request(qp, send)) {
			sim_fail(qp, send, IB_WC_LOC_PROT_ERR);
			sim_send_is_through(qp);
			return 0;
		}
		if (qp->tries++ < qp->attr.retry_cnt)
			/* 4.096 us << timeout */
			return max(usecs_to_jiffies(4u << qp->attr.timeout), 1ul);
		sim_count(sim_device_of(qp), SIM_TIMEOUTS, 1);
		sim_fail(qp, send, IB_WC_RETRY_EXC_ERR);
		sim_send_is_through(qp);
		return 0;
	}
	return -1;
}

/* Only the work tries again, so that what is posted in between does not use up the tries. */
static void sim_try_again(struct sim_qp *qp, long wait)
{
	qp->waiting = true;
	queue_delayed_work(sim_wq, &qp->work, wait);
}

void sim_execute_all(struct sim_qp *qp)
{
	long wait = 0;

	spin_lock(&sim_fabric);
	while (!qp->waiting && !wait && !sim_is_idle(qp))
		wait = sim_execute_next(qp);
	if (wait > 0)
		sim_try_again(qp, wait);
	spin_unlock(&sim_fabric);
}

bool sim_execute_due(struct sim_qp *qp, ktime_t *next)
{
	ktime_t now = ktime_get();
	long wait = 0;

	spin_lock(&sim_fabric);
	while (!qp->waiting && !wait && qp->send_tail != smp_load_acquire(&qp->send_head)) {
		*next = qp->sends[qp->send_tail % qp->sends_size].due;
		if (ktime_after(*next, now)) {
			spin_unlock(&sim_fabric);
			return true;
		}
		wait = sim_execute_next(qp);
	}
	if (wait > 0)
		sim_try_again(qp, wait);
	spin_unlock(&sim_fabric);
	return false;
}

void sim_execute_work(struct work_struct *work)
{
	struct sim_qp *qp = container_of(to_delayed_work(work), struct sim_qp, work);
	long wait = 0;
	int i;

	/* Callbacks run when bottom halves are enabled again. */
	spin_lock_bh(&sim_fabric);
	qp->waiting = false;
	for (i = 0; i < SIM_BATCH && !wait; i++)
		wait = sim_execute_next(qp);
	if (wait > 0)
		sim_try_again(qp, wait);
	spin_unlock_bh(&sim_fabric);
	if (!wait)
		queue_delayed_work(sim_wq, &qp->work, 0);
}
