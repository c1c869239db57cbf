// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loss of a link.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "kernel/abi/callbacks/verbs.h"
#include "kernel/verbs.h"

static void smc_ib_link_failed_work(struct work_struct *work)
{
	struct smc_ib_link *link = container_of(work, struct smc_ib_link, failed_work);

	smc_ib_link_failed(link->context, READ_ONCE(link->status));
}

void smc_ib_link_break(struct smc_ib_link *link, int status)
{
	if (test_and_set_bit(SMC_IB_LINK_BROKEN, &link->flags))
		return;
	WRITE_ONCE(link->status, status);
	queue_work(smc_ib_wq, &link->failed_work);
}

/*
 * Receives complete in their order, so behind the first one that is flushed none is successful. Not
 * ib_drain_qp(), which waits for ever where the device reports nothing any more.
 */
void smc_ib_link_drain(struct smc_ib_link *link)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	set_bit(SMC_IB_LINK_BROKEN, &link->flags);
	if (test_bit(SMC_IB_LINK_STARTED, &link->flags) &&
	    !ib_modify_qp(link->qp, &attr, IB_QP_STATE))
		wait_for_completion_timeout(&link->receives_flushed,
					    msecs_to_jiffies(SMC_IB_DRAIN_MS));
}

void smc_ib_failure_prepare(struct smc_ib_link *link)
{
	init_completion(&link->receives_flushed);
	INIT_WORK(&link->failed_work, smc_ib_link_failed_work);
}
