// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loss of a link.
 */
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

void smc_ib_failure_prepare(struct smc_ib_link *link)
{
	INIT_WORK(&link->failed_work, smc_ib_link_failed_work);
}
