// SPDX-License-Identifier: GPL-2.0-only
/*
 * msg_zerocopy_realloc() is told whether the data are in the memory of a device.
 * Since 6.16 (bd61848900bf, "net: devmem: Implement TX path").
 */
#include <linux/skbuff.h>

struct ubuf_info *probe(struct sock *sk, size_t size);
struct ubuf_info *probe(struct sock *sk, size_t size)
{
	return msg_zerocopy_realloc(sk, size, NULL, false);
}
