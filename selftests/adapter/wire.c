// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way to queue pairs of another kernel: what is not found in this one goes
 * out in Ethernet frames, by the device's network device, and is done there.
 *
 * A queue pair has one request under way. Its frames go out together, each with
 * a part of the bytes; the other side does a write part by part as they come,
 * and a send when the last one has come, and answers then. What is not answered
 * is sent again as a whole (execute.c counts the tries); what was done before
 * is answered again. So nothing but speed is lost with a frame.
 */
#include <linux/etherdevice.h>
#include <linux/moduleparam.h>
#include <linux/skbuff.h>

#include "sim.h"

/* For local experiments (IEEE 802). */
#define SIM_ETHERTYPE 0x88b5
#define SIM_MAGIC 0x73696d72
/* Bytes of a request in one frame, at most. */
#define SIM_FRAGMENT 1024

static bool wire;
module_param(wire, bool, 0444);
MODULE_PARM_DESC(wire, "look for queue pairs that are not here in other kernels");

enum sim_frame_kind {
	SIM_REQUEST,
	SIM_ANSWER,
};

enum sim_answer {
	SIM_ANSWER_DONE,
	SIM_ANSWER_NOT_READY, /* no receive is posted */
	SIM_ANSWER_ACCESS,    /* the key does not allow that */
	SIM_ANSWER_LENGTH,    /* the receive is too short */
	SIM_ANSWER_BROKEN,    /* its memory could not be reached */
};

struct sim_frame {
	__be32 magic;
	u8 kind;
	u8 opcode;
	u8 flags;
	u8 answer;
	__be32 from_qpn;
	__be32 to_qpn;
	__be32 psn; /* the first one, of the sending side */
	__be32 serial;
	u8 from_gid[16];
	u8 to_gid[16];
	u8 gid_type;
	u8 reserved[3];
	__be32 imm;
	__be64 address;
	__be32 rkey;
	__be32 total; /* bytes of the request */
	__be32 offset;
	__be32 bytes; /* behind this */
};

#define SIM_FLAG_SOLICITED 1

static struct sim_device *sim_device_of(const struct sim_qp *qp)
{
	return to_sim_device(qp->ibqp.device);
}

/* ---- Out ------------------------------------------------------------------- */

static struct sk_buff *sim_frame_alloc(struct sim_qp *qp, enum sim_frame_kind kind, u32 serial,
				       u32 bytes)
{
	struct net_device *netdev = sim_device_of(qp)->netdev;
	const struct rdma_ah_attr *way = &qp->attr.ah_attr;
	struct sim_frame *frame;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(netdev) + sizeof(*frame) + bytes +
			netdev->needed_tailroom, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(netdev));
	skb_reset_network_header(skb);
	skb->dev = netdev;
	skb->protocol = htons(SIM_ETHERTYPE);
	frame = skb_put_zero(skb, sizeof(*frame));
	frame->magic = cpu_to_be32(SIM_MAGIC);
	frame->kind = kind;
	frame->from_qpn = cpu_to_be32(qp->ibqp.qp_num);
	frame->to_qpn = cpu_to_be32(qp->attr.dest_qp_num);
	frame->psn = cpu_to_be32(qp->attr.sq_psn);
	frame->serial = cpu_to_be32(serial);
	memcpy(frame->from_gid, qp->own_gid.raw, sizeof(frame->from_gid));
	memcpy(frame->to_gid, way->grh.dgid.raw, sizeof(frame->to_gid));
	frame->gid_type = qp->gid_type;
	frame->bytes = cpu_to_be32(bytes);
	return skb;
}

static void sim_frame_send(struct sim_qp *qp, struct sk_buff *skb)
{
	if (dev_hard_header(skb, skb->dev, SIM_ETHERTYPE, qp->attr.ah_attr.roce.dmac, qp->own_mac,
			    skb->len) < 0)
		kfree_skb(skb);
	else
		dev_queue_xmit(skb);
}

/* Copies bytes of what @send gathers, from @offset on. */
static bool sim_gather_at(struct sim_qp *qp, const struct sim_send *send, u32 offset, u8 *to,
			  u32 bytes)
{
	u32 i;

	if (send->flags & IB_SEND_INLINE) {
		memcpy(to, send->data + offset, bytes);
		return true;
	}
	for (i = 0; i < send->sges && bytes; i++) {
		const struct ib_sge *sge = &send->sge[i];
		struct sim_stretch from;
		u32 piece;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		piece = min(bytes, sge->length - offset);
		if (!sim_region_open(sim_device_of(qp), qp->ibqp.pd, sge->lkey, sge->addr + offset,
				     piece, 0, &from) ||
		    !sim_dma_copy_out(to, &from, piece))
			return false;
		to += piece;
		bytes -= piece;
		offset = 0;
	}
	return true;
}

bool sim_wire_request(struct sim_qp *qp, const struct sim_send *send)
{
	u32 offset = 0;

	if (!wire || !sim_device_port_active(sim_device_of(qp)))
		return true;
	do {
		u32 bytes = min_t(u32, send->bytes - offset, SIM_FRAGMENT);
		struct sk_buff *skb = sim_frame_alloc(qp, SIM_REQUEST, qp->wire_sent + 1, bytes);
		struct sim_frame *frame;

		if (!skb)
			return true;
		frame = (struct sim_frame *)skb->data;
		frame->opcode = send->opcode;
		frame->flags = send->flags & IB_SEND_SOLICITED ? SIM_FLAG_SOLICITED : 0;
		frame->imm = send->imm;
		frame->address = cpu_to_be64(send->remote_addr);
		frame->rkey = cpu_to_be32(send->rkey);
		frame->total = cpu_to_be32(send->bytes);
		frame->offset = cpu_to_be32(offset);
		if (!sim_gather_at(qp, send, offset, skb_put(skb, bytes), bytes)) {
			kfree_skb(skb);
			return false;
		}
		sim_frame_send(qp, skb);
		offset += bytes;
	} while (offset < send->bytes);
	return true;
}

/* ---- In -------------------------------------------------------------------- */

/* The queue pair that @frame is for, if it has the sender's as its peer. */
static struct sim_qp *sim_frame_receiver(const struct sim_frame *frame, const struct sk_buff *skb)
{
	struct sim_qp *qp = sim_qp_find(be32_to_cpu(frame->to_qpn));

	if (!qp || qp->attr.dest_qp_num != be32_to_cpu(frame->from_qpn) ||
	    (qp->state != IB_QPS_RTR && qp->state != IB_QPS_RTS) ||
	    qp->gid_type != frame->gid_type || qp->attr.rq_psn != be32_to_cpu(frame->psn) ||
	    memcmp(frame->to_gid, qp->own_gid.raw, sizeof(frame->to_gid)) ||
	    memcmp(frame->from_gid, qp->attr.ah_attr.grh.dgid.raw, sizeof(frame->from_gid)) ||
	    !ether_addr_equal(eth_hdr(skb)->h_dest, qp->own_mac) ||
	    skb->dev != sim_device_of(qp)->netdev || !sim_device_port_active(sim_device_of(qp)))
		return NULL;
	return qp;
}

static void sim_answer(struct sim_qp *qp, u32 serial, enum sim_answer answer)
{
	struct sk_buff *skb = sim_frame_alloc(qp, SIM_ANSWER, serial, 0);

	if (!skb)
		return;
	((struct sim_frame *)skb->data)->answer = answer;
	sim_frame_send(qp, skb);
}

static enum sim_answer sim_take_write(struct sim_qp *qp, const struct sim_frame *frame,
				      const u8 *data, u32 offset, u32 bytes)
{
	struct sim_stretch to;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return SIM_ANSWER_ACCESS;
	if (!bytes)
		return SIM_ANSWER_DONE;
	if (!sim_region_open(sim_device_of(qp), qp->ibqp.pd, be32_to_cpu(frame->rkey),
			     be64_to_cpu(frame->address) + offset, bytes, IB_ACCESS_REMOTE_WRITE,
			     &to))
		return SIM_ANSWER_ACCESS;
	return sim_dma_copy_in(&to, data, bytes) ? SIM_ANSWER_DONE : SIM_ANSWER_BROKEN;
}

/* A request whose bytes have all come. */
static enum sim_answer sim_take_whole(struct sim_qp *qp, const struct sim_frame *frame, u32 total)
{
	const bool imm = frame->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	struct sim_receive receive;
	enum ib_wc_status status = IB_WC_SUCCESS;
	struct ib_wc wc = {
		.opcode = imm ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.qp = &qp->ibqp,
		.src_qp = be32_to_cpu(frame->from_qpn),
		.byte_len = total,
		.ex.imm_data = frame->imm,
		.wc_flags = imm ? IB_WC_WITH_IMM : 0,
		.port_num = 1,
	};

	if (frame->opcode == IB_WR_RDMA_WRITE)
		goto written;
	if (!sim_take_receive(qp, &receive))
		return SIM_ANSWER_NOT_READY;
	if (!imm)
		status = sim_scatter_bytes(qp, &receive, qp->wire_data, total);
	wc.wr_id = receive.wr_id;
	wc.status = status == IB_WC_REM_OP_ERR ? IB_WC_LOC_PROT_ERR : status;
	sim_cq_add(qp->init.recv_cq, &wc,
		   frame->flags & SIM_FLAG_SOLICITED || status != IB_WC_SUCCESS);
	if (status != IB_WC_SUCCESS)
		return status == IB_WC_LOC_LEN_ERR ? SIM_ANSWER_LENGTH : SIM_ANSWER_BROKEN;
	if (!imm) {
		sim_count(sim_device_of(qp), SIM_SENDS, 1);
		return SIM_ANSWER_DONE;
	}
written:
	sim_count(sim_device_of(qp), SIM_WRITES, 1);
	sim_count(sim_device_of(qp), SIM_WRITE_BYTES, total);
	return SIM_ANSWER_DONE;
}

static enum sim_answer sim_take_part(struct sim_qp *qp, const struct sim_frame *frame,
				     const u8 *data, u32 bytes)
{
	u32 total = be32_to_cpu(frame->total);
	u32 offset = qp->wire_offset;
	enum sim_answer answer;

	if (frame->opcode != IB_WR_SEND) {
		answer = sim_take_write(qp, frame, data, offset, bytes);
		if (answer != SIM_ANSWER_DONE)
			return answer;
	} else {
		if (total > sizeof(qp->wire_data) || bytes > total - offset)
			return SIM_ANSWER_LENGTH;
		memcpy(qp->wire_data + offset, data, bytes);
	}
	qp->wire_offset += bytes;
	return qp->wire_offset == total ? sim_take_whole(qp, frame, total) : SIM_ANSWER_DONE;
}

static void sim_take_request(struct sim_qp *qp, const struct sim_frame *frame, const u8 *data,
			     u32 bytes)
{
	u32 serial = be32_to_cpu(frame->serial);
	enum sim_answer answer;

	if (serial == qp->wire_done) {
		if (be32_to_cpu(frame->offset) + bytes == be32_to_cpu(frame->total))
			sim_answer(qp, serial, SIM_ANSWER_DONE);
		return;
	}
	if (serial != qp->wire_done + 1)
		return;
	if (!frame->offset)
		qp->wire_offset = 0;
	if (be32_to_cpu(frame->offset) != qp->wire_offset)
		return;
	answer = sim_take_part(qp, frame, data, bytes);
	if (answer == SIM_ANSWER_DONE && qp->wire_offset != be32_to_cpu(frame->total))
		return;
	qp->wire_offset = 0;
	if (answer == SIM_ANSWER_DONE)
		qp->wire_done = serial;
	sim_answer(qp, serial, answer);
	if (answer != SIM_ANSWER_DONE && answer != SIM_ANSWER_NOT_READY)
		sim_responder_fails(qp);
}

static void sim_take_answer(struct sim_qp *qp, const struct sim_frame *frame)
{
	static const enum ib_wc_status statuses[] = {
		[SIM_ANSWER_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[SIM_ANSWER_LENGTH] = IB_WC_REM_INV_REQ_ERR,
		[SIM_ANSWER_BROKEN] = IB_WC_REM_OP_ERR,
	};

	if (qp->state != IB_QPS_RTS || qp->send_tail == qp->send_head ||
	    be32_to_cpu(frame->serial) != qp->wire_sent + 1)
		return;
	switch (frame->answer) {
	case SIM_ANSWER_DONE:
		qp->wire_sent++;
		sim_request_is_through(qp, IB_WC_SUCCESS);
		break;
	case SIM_ANSWER_NOT_READY:
		qp->tries = 0;
		sim_count(sim_device_of(qp), SIM_NOT_READY, 1);
		mod_delayed_work(sim_wq, &qp->work, 1);
		break;
	case SIM_ANSWER_ACCESS:
	case SIM_ANSWER_LENGTH:
	case SIM_ANSWER_BROKEN:
		sim_request_is_through(qp, statuses[frame->answer]);
		break;
	default:
		break;
	}
}

static int sim_wire_receive(struct sk_buff *skb, struct net_device *netdev,
			    struct packet_type *type, struct net_device *original)
{
	const struct sim_frame *frame;
	struct sim_qp *qp;
	u32 bytes;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb_linearize(skb) || skb->len < sizeof(*frame))
		goto out;
	frame = (const struct sim_frame *)skb->data;
	bytes = be32_to_cpu(frame->bytes);
	if (frame->magic != cpu_to_be32(SIM_MAGIC) || bytes > skb->len - sizeof(*frame) ||
	    bytes > SIM_FRAGMENT)
		goto out;
	spin_lock_bh(&sim_fabric);
	qp = sim_frame_receiver(frame, skb);
	if (qp && frame->kind == SIM_REQUEST)
		sim_take_request(qp, frame, skb->data + sizeof(*frame), bytes);
	else if (qp && frame->kind == SIM_ANSWER)
		sim_take_answer(qp, frame);
	spin_unlock_bh(&sim_fabric);
out:
	kfree_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type sim_wire_type = {
	.type = cpu_to_be16(SIM_ETHERTYPE),
	.func = sim_wire_receive,
};

void sim_wire_init(void)
{
	if (wire)
		dev_add_pack(&sim_wire_type);
}

void sim_wire_exit(void)
{
	if (wire)
		dev_remove_pack(&sim_wire_type);
}
