// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: an RC queue pair and everything that is its own.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "kernel/verbs.h"

/*
 * How long a peer waits before it repeats a message for which we had no receive: 1.28 ms, about
 * what a late softirq needs to post some again. With a much shorter pause a peer that repeats "for
 * ever", as we and Linux do, takes much processor time and bandwidth; one that repeats the other
 * maximum, six times, waits 7.7 ms for us. We repeat for ever ourselves: the pause is the peer's
 * choice, and a short one times six is too little. A peer that never takes a message loses its link
 * when that does not answer TEST_LINK.
 */
#define SMC_IB_MIN_RNR_TIMER IB_RNR_TIMER_001_28
#define SMC_IB_RNR_RETRY 7
/*
 * 4.096 us << 16 = 268 ms between tries. With six tries (soft-RoCE takes seven for "for ever") a
 * dead path shows in about two seconds. Busy hosts, or guests that do not get a processor, are
 * silent for a second now and then.
 */
#define SMC_IB_TIMEOUT 16
#define SMC_IB_RETRIES 6
/* RDMA reads are not used; some drivers need a place for one all the same. */
#define SMC_IB_READS 1

static void smc_ib_link_qp_event(struct ib_event *event, void *context)
{
	struct smc_ib_link *link = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		smc_ib_link_break(link, -EIO);
		break;
	default:
		break;
	}
}

static int smc_ib_link_create_qp(struct smc_ib_link *link, u32 inline_bytes)
{
	struct ib_qp_init_attr attr = {
		.event_handler = smc_ib_link_qp_event,
		.qp_context = link,
		.send_cq = link->completions.cq,
		.recv_cq = link->completions.cq,
		.cap = {
			.max_send_wr = link->send_queue,
			.max_recv_wr = SMC_IB_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = link->receive_sges,
			.max_inline_data = inline_bytes,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(link->domain->pd, &attr);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	link->qp = qp;
	/* Drivers without inline data do not change the requested value. */
	link->inline_bytes = inline_bytes ? attr.cap.max_inline_data : 0;
	return 0;
}

static int smc_ib_link_create_sends(struct smc_ib_link *link)
{
	struct ib_device *ibdev = link->domain->ibdev;
	size_t heads_bytes = (size_t)link->send_queue * SMC_IB_MESSAGE_HEAD_BYTES;
	int i;

	link->send_slots = kvcalloc(link->send_queue, sizeof(*link->send_slots),
				    GFP_KERNEL | __GFP_NOWARN);
	if (!link->send_slots)
		return -ENOMEM;
	link->send_heads = kzalloc(heads_bytes, GFP_KERNEL);
	if (!link->send_heads)
		goto err_slots;
	link->send_heads_dma = ib_dma_map_single(ibdev, link->send_heads, heads_bytes,
						 DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, link->send_heads_dma))
		goto err_heads;
	for (i = 0; i < SMC_IB_LONG_MESSAGES; i++) {
		struct smc_ib_long *msg = &link->longs[i];

		msg->data = kzalloc(SMC_IB_MESSAGE_MAX_BYTES, GFP_KERNEL);
		if (!msg->data)
			goto err_longs;
		msg->dma = ib_dma_map_single(ibdev, msg->data, SMC_IB_MESSAGE_MAX_BYTES,
					     DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ibdev, msg->dma)) {
			kfree(msg->data);
			goto err_longs;
		}
	}
	return 0;

err_longs:
	while (i--) {
		ib_dma_unmap_single(ibdev, link->longs[i].dma, SMC_IB_MESSAGE_MAX_BYTES,
				    DMA_TO_DEVICE);
		kfree(link->longs[i].data);
	}
	ib_dma_unmap_single(ibdev, link->send_heads_dma, heads_bytes, DMA_TO_DEVICE);
err_heads:
	kfree(link->send_heads);
err_slots:
	kvfree(link->send_slots);
	return -ENOMEM;
}

static void smc_ib_link_destroy_sends(struct smc_ib_link *link)
{
	struct ib_device *ibdev = link->domain->ibdev;
	int i;

	for (i = 0; i < SMC_IB_LONG_MESSAGES; i++) {
		ib_dma_unmap_single(ibdev, link->longs[i].dma, SMC_IB_MESSAGE_MAX_BYTES,
				    DMA_TO_DEVICE);
		kfree(link->longs[i].data);
	}
	ib_dma_unmap_single(ibdev, link->send_heads_dma,
			    (size_t)link->send_queue * SMC_IB_MESSAGE_HEAD_BYTES, DMA_TO_DEVICE);
	kfree(link->send_heads);
	kvfree(link->send_slots);
}

static int smc_ib_link_build(struct smc_ib_link *link, struct ib_device *ibdev)
{
	int rc;

	rc = smc_ib_link_create_sends(link);
	if (rc)
		return rc;
	rc = smc_ib_receive_create(link);
	if (rc)
		goto err_sends;
	/* Even unsignalled requests complete when the queue is flushed. */
	rc = smc_ib_completions_create(link, ibdev, link->send_queue + SMC_IB_RECEIVES);
	if (rc)
		goto err_receives;
	rc = smc_ib_link_create_qp(link, SMC_IB_INLINE_BYTES);
	if (rc)
		rc = smc_ib_link_create_qp(link, 0);
	if (rc)
		goto err_cq;
	smc_ib_post_prepare(link);
	return 0;

err_cq:
	smc_ib_completions_destroy(&link->completions);
err_receives:
	smc_ib_receive_destroy(link);
err_sends:
	smc_ib_link_destroy_sends(link);
	return rc;
}

static int smc_ib_link_create_on(struct smc_ib_device *dev, struct ib_device *ibdev, u8 port,
				 void *context, struct smc_ib_link **out)
{
	struct smc_ib_link *link;
	int rc;

	if (port < 1 || port > dev->ports_count ||
	    !(rdma_protocol_roce(ibdev, port) || rdma_protocol_iwarp(ibdev, port)) ||
	    ibdev->attrs.max_qp_wr < SMC_IB_SEND_QUEUE_MIN || ibdev->attrs.max_recv_sge < 1 ||
	    ibdev->attrs.max_cqe < SMC_IB_SEND_QUEUE_MIN + SMC_IB_RECEIVES)
		return -EOPNOTSUPP;
	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	link->context = context;
	link->port = port;
	link->send_queue = rounddown_pow_of_two(min3(SMC_IB_SEND_QUEUE, ibdev->attrs.max_qp_wr,
						     ibdev->attrs.max_cqe - SMC_IB_RECEIVES));
	link->receive_sges = min(2, ibdev->attrs.max_recv_sge);
	smc_ib_failure_prepare(link);
	smc_ib_meeting_prepare(link);
	link->domain = smc_ib_domain_create(dev, ibdev);
	if (IS_ERR(link->domain)) {
		rc = PTR_ERR(link->domain);
		goto err_link;
	}
	rc = smc_ib_link_build(link, ibdev);
	if (rc)
		goto err_domain;
	link->domain->link_alive = true;
	atomic_inc(&dev->links);
	*out = link;
	return 0;

err_domain:
	smc_ib_domain_put(link->domain);
err_link:
	kfree(link);
	return rc;
}

int smc_ib_link_create(struct smc_ib_device *dev, u8 port, void *context,
		       struct smc_ib_link **out)
{
	struct ib_device *ibdev = smc_ib_device_use(dev);
	int rc;

	if (!ibdev)
		return -ENODEV;
	rc = smc_ib_link_create_on(dev, ibdev, port, context, out);
	smc_ib_device_release(dev);
	return rc;
}

void smc_ib_link_close(struct smc_ib_link *link)
{
	/* smc_ib_link_break() does nothing from here on. */
	set_bit(SMC_IB_LINK_BROKEN, &link->flags);
	if (test_and_set_bit(SMC_IB_LINK_CLOSING, &link->flags))
		return;
	/*
	 * Posts and completions that did not see that yet run with bottom halves
	 * off, which RCU waits for. They may use the QP, so it stays till then.
	 */
	if (test_bit(SMC_IB_LINK_STARTED, &link->flags))
		synchronize_rcu();
}

void smc_ib_link_destroy(struct smc_ib_link *link)
{
	struct smc_ib_domain *domain = link->domain;

	smc_ib_link_close(link);
	/*
	 * Without a drain: nobody wants the completions of pending posts. Once the QP is gone the
	 * hardware has finished with our memory; freeing the CQ waits for a softirq that may be in
	 * a handler; then nothing is left that could queue the work.
	 */
	smc_ib_link_leave(link);
	ib_destroy_qp(link->qp);
	smc_ib_completions_destroy(&link->completions);
	cancel_work_sync(&link->failed_work);
	domain->link_alive = false;

	smc_ib_receive_destroy(link);
	smc_ib_link_destroy_sends(link);
	atomic_dec(&domain->dev->links);
	kfree(link);
	smc_ib_domain_put(domain);
}

u32 smc_ib_link_qpn(const struct smc_ib_link *link)
{
	return link->qp->qp_num;
}

u32 smc_ib_link_send_queue(const struct smc_ib_link *link)
{
	return link->send_queue;
}

int smc_ib_link_to_init(struct smc_ib_link *link)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = 0,
		.port_num = link->port,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int rc;

	set_bit(SMC_IB_LINK_STARTED, &link->flags);
	rc = ib_modify_qp(link->qp, &attr,
			  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	return rc ?: smc_ib_receive_post_all(link);
}

int smc_ib_link_to_rtr(struct smc_ib_link *link, const struct smc_ib_path *path)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = path->mtu_code,
		.dest_qp_num = path->peer_qpn & 0xffffff,
		.rq_psn = path->peer_psn & 0xffffff,
		.max_dest_rd_atomic = SMC_IB_READS,
		.min_rnr_timer = SMC_IB_MIN_RNR_TIMER,
	};
	struct ib_device *ibdev = link->domain->ibdev;
	struct rdma_ah_attr *ah = &attr.ah_attr;
	const struct ib_gid_attr *own_gid;
	union ib_gid peer_gid;
	int rc;

	if (path->mtu_code < IB_MTU_256 || path->mtu_code > IB_MTU_4096)
		return -EINVAL;
	own_gid = smc_ib_gid_hold(ibdev, link->port, &path->gid);
	if (!own_gid)
		return -EADDRNOTAVAIL;
	memcpy(peer_gid.raw, path->peer_gid, sizeof(peer_gid.raw));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, link->port);
	/* By the entry, not by its index: the index may belong to another GID by then. */
	rdma_move_grh_sgid_attr(ah, &peer_gid, /*flow_label=*/0, path->hop_limit,
				/*traffic_class=*/0, own_gid);
	memcpy(ah->roce.dmac, path->peer_mac, sizeof(ah->roce.dmac));
	rc = ib_modify_qp(link->qp, &attr,
			  IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			  IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	rdma_destroy_ah_attr(ah);
	return rc;
}

int smc_ib_link_to_rts(struct smc_ib_link *link, u32 own_psn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = SMC_IB_TIMEOUT,
		.retry_cnt = SMC_IB_RETRIES,
		.rnr_retry = SMC_IB_RNR_RETRY,
		.sq_psn = own_psn & 0xffffff,
		.max_rd_atomic = SMC_IB_READS,
	};

	return ib_modify_qp(link->qp, &attr,
			    IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			    IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}
