// SPDX-License-Identifier: GPL-2.0-only
/* A call as a line that says all of it. */
#include <stdio.h>

#include "call.h"

static const char *const op_names[CALL_COUNT] = {
	[CALL_SOCKET] = "socket",	  [CALL_BIND] = "bind",	      [CALL_LISTEN] = "listen",
	[CALL_CONNECT] = "connect", [CALL_ACCEPT] = "accept",     [CALL_SEND] = "send",
	[CALL_SENDMSG] = "sendmsg", [CALL_RECV] = "recv",	      [CALL_RECVMSG] = "recvmsg",
	[CALL_GETOPT] = "getsockopt", [CALL_SETOPT] = "setsockopt", [CALL_IOCTL] = "ioctl",
	[CALL_SHUTDOWN] = "shutdown", [CALL_POLL] = "poll",	      [CALL_NAME] = "name",
	[CALL_DUP] = "dup",	  [CALL_CLOSE] = "close",
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
	case CALL_SOCKET:
		printf(", %s, %s, flags %#x", mode_name(call->mode), call->v6 ? "v6" : "v4",
		       call->flags);
		break;
	case CALL_BIND:
	case CALL_CONNECT:
		printf(", %s of %u, length %lld", target_names[call->target], call->other,
		       (long long)call->length);
		break;
	case CALL_LISTEN:
	case CALL_SHUTDOWN:
		printf(", %d", call->name);
		break;
	case CALL_ACCEPT:
		printf(", into %u, flags %#x, length %lld", call->other, call->flags,
		       (long long)call->length);
		break;
	case CALL_SEND:
	case CALL_SENDMSG:
	case CALL_RECV:
	case CALL_RECVMSG:
		printf(", %lld bytes, flags %#x, value %lld", (long long)call->length, call->flags,
		       (long long)call->value);
		break;
	case CALL_GETOPT:
	case CALL_SETOPT:
		printf(", level %d, name %d, value %#llx, length %lld", call->level, call->name,
		       (long long)call->value, (long long)call->length);
		break;
	case CALL_IOCTL:
		printf(", %#llx", (long long)call->value);
		break;
	case CALL_NAME:
		printf(", %s, length %lld", call->salt & 256 ? "peer" : "own",
		       (long long)call->length);
		break;
	case CALL_DUP:
		printf(", into %u", call->other);
		break;
	case CALL_POLL:
	case CALL_CLOSE:
	case CALL_COUNT:
		break;
	}
	printf(", salt %#x)", call->salt);
	if (call->pointer != POINTER_GOOD)
		printf(" with a pointer: %s", pointer_names[call->pointer]);
}
