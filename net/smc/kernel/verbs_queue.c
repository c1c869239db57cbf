// SPDX-License-Identifier: GPL-2.0-only
/* The account of a link's send queue; see verbs.h. */
#include "kernel/abi/callbacks/verbs.h"
#include "kernel/verbs.h"

bool smc_ib_link_writable(const struct smc_ib_link *link)
{
	return smc_ib_queue_room(link, SMC_IB_WRITES_MAX + 1, SMC_IB_SEND_RESERVE);
}

void smc_ib_queue_retire(struct smc_ib_link *link, u32 wr_end, u64 seq)
{
	/* Posts that see it may reuse the slots, so these are finished with before. */
	smp_store_release(&link->wr_tail, wr_end);
	if (!smc_ib_link_broken(link))
		smc_ib_link_sent(link->context, seq);
}
