// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring hands sendmsg() a notice of its own for MSG_ZEROCOPY.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/socket.h>

struct ubuf_info *probe(const struct msghdr *msg);
struct ubuf_info *probe(const struct msghdr *msg)
{
	return msg->msg_ubuf;
}
