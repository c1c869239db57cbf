// SPDX-License-Identifier: GPL-2.0-only
#include "op.h"

const char *op_name(uint32_t op)
{
	static const char *const names[OP_COUNT] = {
		[OP_SOCKET] = "socket",
		[OP_BIND] = "bind",
		[OP_LISTEN] = "listen",
		[OP_CONNECT] = "connect",
		[OP_ACCEPT] = "accept4",
		[OP_SEND] = "send",
		[OP_SEND_TO] = "sendto",
		[OP_SEND_BAD] = "send from a bad address",
		[OP_SEND_LOOP] = "send loop",
		[OP_SEND_FILL] = "send until full",
		[OP_RECV] = "recv",
		[OP_RECV_BAD] = "recv to a bad address",
		[OP_RECV_LOOP] = "recv loop",
		[OP_RECV_DRAIN] = "recv until empty",
		[OP_POLL] = "poll",
		[OP_SELECT] = "select",
		[OP_EPOLL_CREATE] = "epoll_create",
		[OP_EPOLL_ADD] = "epoll_ctl",
		[OP_EPOLL_WAIT] = "epoll_wait",
		[OP_SHUTDOWN] = "shutdown",
		[OP_CLOSE] = "close",
		[OP_DUP] = "dup",
		[OP_SET_OPTION] = "setsockopt",
		[OP_GET_OPTION] = "getsockopt",
		[OP_GET_SOCKNAME] = "getsockname",
		[OP_GET_PEERNAME] = "getpeername",
		[OP_IOCTL_INT] = "ioctl",
		[OP_FCNTL] = "fcntl",
		[OP_SIGPIPES] = "count of SIGPIPE",
		[OP_INTERRUPT] = "signal",
		[OP_FORK] = "fork",
		[OP_EXIT] = "_exit",
		[OP_STAT] = "SMC statistics",
	};

	return op < OP_COUNT ? names[op] : "?";
}
