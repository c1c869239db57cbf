// SPDX-License-Identifier: GPL-2.0-only
/* A call as a line that says all of it. */
#include <stdio.h>

#include "call.h"

static const char *const op_names[OP_COUNT] = {
	[OP_SOCKET] = "socket",	  [OP_BIND] = "bind",	      [OP_LISTEN] = "listen",
	[OP_CONNECT] = "connect", [OP_ACCEPT] = "accept",     [OP_SEND] = "send",
	[OP_SENDMSG] = "sendmsg", [OP_RECV] = "recv",	      [OP_RECVMSG] = "recvmsg",
	[OP_GETOPT] = "getsockopt", [OP_SETOPT] = "setsockopt", [OP_IOCTL] = "ioctl",
	[OP_SHUTDOWN] = "shutdown", [OP_POLL] = "poll",	      [OP_NAME] = "name",
	[OP_DUP] = "dup",	  [OP_CLOSE] = "close",
};

static const char *const pointer_names[POINTER_COUNT] = {
	[POINTER_GOOD] = "good",       [POINTER_NULL] = "null",
	[POINTER_HOLE] = "hole",       [POINTER_KERNEL] = "kernel",
	[POINTER_READ_ONLY] = "read-only", [POINTER_EDGE] = "edge",
};

static const char *const target_names[TARGET_COUNT] = {
	[TARGET_OTHER] = "other",	      [TARGET_LOCAL] = "local",
	[TARGET_PORT] = "port",		      [TARGET_WILDCARD] = "wildcard",
	[TARGET_CLOSED] = "closed",	      [TARGET_UNSPEC] = "unspec",
	[TARGET_MULTICAST] = "multicast",     [TARGET_OTHER_FAMILY] = "other-family",
	[TARGET_NO_FAMILY] = "no-family",
};

void call_print(const struct call *call)
{
	printf("%s(%u", op_names[call->op], call->slot);
	switch (call->op) {
	case OP_SOCKET:
		printf(", %s, %s, flags %#x", mode_name(call->mode), call->v6 ? "v6" : "v4",
		       call->flags);
		break;
	case OP_BIND:
	case OP_CONNECT:
		printf(", %s of %u, length %lld", target_names[call->target], call->other,
		       (long long)call->length);
		break;
	case OP_LISTEN:
	case OP_SHUTDOWN:
		printf(", %d", call->name);
		break;
	case OP_ACCEPT:
		printf(", into %u, flags %#x, length %lld", call->other, call->flags,
		       (long long)call->length);
		break;
	case OP_SEND:
	case OP_SENDMSG:
	case OP_RECV:
	case OP_RECVMSG:
		printf(", %lld bytes, flags %#x, value %lld", (long long)call->length, call->flags,
		       (long long)call->value);
		break;
	case OP_GETOPT:
	case OP_SETOPT:
		printf(", level %d, name %d, value %#llx, length %lld", call->level, call->name,
		       (long long)call->value, (long long)call->length);
		break;
	case OP_IOCTL:
		printf(", %#llx", (long long)call->value);
		break;
	case OP_NAME:
		printf(", %s, length %lld", call->salt & 256 ? "peer" : "own",
		       (long long)call->length);
		break;
	case OP_DUP:
		printf(", into %u", call->other);
		break;
	case OP_POLL:
	case OP_CLOSE:
	case OP_COUNT:
		break;
	}
	printf(", salt %#x)", call->salt);
	if (call->pointer != POINTER_GOOD)
		printf(" with a pointer: %s", pointer_names[call->pointer]);
}
