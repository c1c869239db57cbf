// SPDX-License-Identifier: GPL-2.0-only
/*
 * msg_zerocopy_realloc() is told whether the data are in the memory of a device.
 * In 7.2, not in 6.12.
 */
#include <linux/skbuff.h>

struct ubuf_info *probe(struct sock *sk, size_t size);
struct ubuf_info *probe(struct sock *sk, size_t size)
{
	return msg_zerocopy_realloc(sk, size, NULL, false);
}
