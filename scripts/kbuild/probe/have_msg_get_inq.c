// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring asks recvmsg() for the bytes that are left: by a field of the message.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/socket.h>

int probe(const struct msghdr *msg);
int probe(const struct msghdr *msg)
{
	return msg->msg_get_inq ? msg->msg_inq : 0;
}
