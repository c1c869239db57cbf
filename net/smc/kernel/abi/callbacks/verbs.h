/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of RDMA devices and links (kernel/abi/verbs.h). Defined in
 * shell/transport/rdma/group_table.cc and link_group.cc.
 */
#ifndef SMC_KERNEL_ABI_CALLBACKS_VERBS_H
#define SMC_KERNEL_ABI_CALLBACKS_VERBS_H

#include "kernel/abi/verbs.h"

SMC_ABI_BEGIN

/* ---- Devices: process context, one call per device at a time ---- */

/* A device came. It stays valid until smc_ib_device_removing() returns. */
void smc_ib_device_added(struct smc_ib_device *dev);
/*
 * The device is about to go: destroy every link on it and every region of
 * those links. The caller then waits for the last of them, so one that is
 * being destroyed by another task may still be under way on return.
 */
void smc_ib_device_removing(struct smc_ib_device *dev);
/*
 * State, MTU, GIDs or address of the port may have changed. @active false: the port carries nothing
 * now. Called from a work item.
 */
void smc_ib_port_event(struct smc_ib_device *dev, u8 port, bool active);
/*
 * What a search for a port looks at may have changed: network devices, their addresses, GIDs,
 * names. Any context.
 */
void smc_ib_ways_changed(void);
/* A port may be in another physical network now. Process context. */
void smc_ib_pnet_ids_changed(void);

/*
 * ---- Links. sent and received run in softirq, one at a time per
 * link and in order. failed comes once per link, in process context from a work
 * item, possibly while one of the others is still running.
 */

/*
 * A message of @length_bytes came: the first SMC_IB_MESSAGE_HEAD_BYTES (or fewer) at @head, the
 * rest at @tail. True: handled, its receive is posted again. False: the message stays valid, and
 * its receive is not posted, until smc_ib_link_give_back(), or the end of the link.
 */
bool smc_ib_link_received(void *context, struct smc_ib_receive_slot *receive, const void *head,
			  const void *tail, u32 length_bytes);
/* The peer's RDMA write of @written_bytes came with @immediate; its receive is posted again. */
void smc_ib_link_written(void *context, u32 immediate, u32 written_bytes);
/*
 * All posts up to number @up_to_seq are done: the peer's hardware has them. Also called when the
 * queue has room again; then the number may be an old one, or 0 before the first post.
 */
void smc_ib_link_sent(void *context, u64 up_to_seq);
/*
 * A link that smc_ib_link_expect() or smc_ib_link_connect() was called for has met its peer, and
 * both may post. @hello: what the client has shown, SMC_IB_HELLO_BYTES. Process context, once.
 */
void smc_ib_link_met(void *context, const void *hello);
/*
 * The link is lost. @status is an ib_wc_status (> 0) of the work request that
 * failed, or a negative errno. Whether posts not yet reported reached the peer
 * is unknown. No more posts succeed, and no more are reported as sent, save by
 * a call that was under way already.
 */
void smc_ib_link_failed(void *context, int status);

SMC_ABI_END

#endif
