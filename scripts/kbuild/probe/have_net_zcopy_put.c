// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices of MSG_ZEROCOPY have the names msg_zerocopy_…() and net_zcopy_…(); before,
 * sock_zerocopy_…().
 * In 6.1 and later, not in 5.10.
 */
#include <linux/skbuff.h>

void probe(struct ubuf_info *uarg);
void probe(struct ubuf_info *uarg)
{
	net_zcopy_put(uarg);
}
