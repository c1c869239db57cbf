// SPDX-License-Identifier: GPL-2.0-only
/*
 * The notice of MSG_ZEROCOPY is a kind of ubuf_info, and not ubuf_info itself.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/skbuff.h>

struct ubuf_info_msgzc *probe(struct ubuf_info *uarg);
struct ubuf_info_msgzc *probe(struct ubuf_info *uarg)
{
	return uarg_to_msgzc(uarg);
}
