// SPDX-License-Identifier: GPL-2.0-only
/* One operation of io_uring, on a ring of its own. */
#include "step.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../lib/stream.h"
#include "../lib/uring.h"

struct memory {
	void *buffer;
	struct iovec vector;
	struct msghdr message;
	struct sockaddr_storage name;
	socklen_t name_length;
};

static void prepare(const struct request *request, struct io_uring_sqe *sqe, struct memory *memory)
{
	const int64_t *args = request->args;

	memset(sqe, 0, sizeof(*sqe));
	sqe->fd = request->fd;
	sqe->addr = (__u64)(uintptr_t)memory->buffer;
	sqe->len = (__u32)args[1];
	sqe->msg_flags = (__u32)args[2];
	switch ((enum uring_call)args[0]) {
	case URING_SEND:
		sqe->opcode = IORING_OP_SEND;
		break;
	case URING_RECV:
		sqe->opcode = IORING_OP_RECV;
		break;
	case URING_SENDMSG:
	case URING_RECVMSG:
		sqe->opcode = args[0] == URING_SENDMSG ? IORING_OP_SENDMSG : IORING_OP_RECVMSG;
		sqe->addr = (__u64)(uintptr_t)&memory->message;
		sqe->len = 1;
		break;
	case URING_WRITE:
	case URING_READ:
		sqe->opcode = args[0] == URING_WRITE ? IORING_OP_WRITE : IORING_OP_READ;
		sqe->msg_flags = 0;
		break;
	case URING_SEND_ZC:
		sqe->opcode = IORING_OP_SEND_ZC;
		break;
	case URING_POLL:
		sqe->opcode = IORING_OP_POLL_ADD;
		sqe->addr = 0;
		sqe->len = 0;
		sqe->poll32_events = (__u32)args[2];
		break;
	case URING_ACCEPT:
		sqe->opcode = IORING_OP_ACCEPT;
		sqe->addr = (__u64)(uintptr_t)&memory->name;
		sqe->addr2 = (__u64)(uintptr_t)&memory->name_length;
		sqe->len = 0;
		sqe->accept_flags = (__u32)args[2];
		break;
	case URING_CONNECT:
		sqe->opcode = IORING_OP_CONNECT;
		memory->name = request->address.storage;
		sqe->addr = (__u64)(uintptr_t)&memory->name;
		sqe->off = request->address.length;
		sqe->len = 0;
		break;
	case URING_SHUTDOWN:
		sqe->opcode = IORING_OP_SHUTDOWN;
		sqe->addr = 0;
		sqe->len = (__u32)args[2];
		sqe->msg_flags = 0;
		break;
	}
}

static bool receives(int64_t call)
{
	return call == URING_RECV || call == URING_RECVMSG || call == URING_READ;
}

static void run(const struct request *request, struct reply *reply, struct memory *memory)
{
	const int64_t *args = request->args;
	struct io_uring_cqe cqe = { 0 };
	struct uring ring;

	if (!uring_open(&ring)) {
		reply->error = errno;
		uring_close(&ring);
		return;
	}
	prepare(request, ring.sqes, memory);
	uring_submit(&ring);
	if (!uring_complete(&ring, (int)args[5], &cqe)) {
		reply->error = ETIME;
		uring_close(&ring);
		return;
	}
	reply->ret = cqe.res < 0 ? -1 : cqe.res;
	reply->error = cqe.res < 0 ? -cqe.res : 0;
	/* A second completion says that the kernel does not need the bytes any more. */
	if (args[0] == URING_SEND_ZC && cqe.flags & IORING_CQE_F_MORE)
		reply->values[1] = uring_complete(&ring, (int)args[5], &cqe) &&
				   cqe.flags & IORING_CQE_F_NOTIF;
	if (receives(args[0]) && reply->ret > 0)
		reply->values[0] = step_matched(memory->buffer, reply->ret, args[3], args[4]);
	if (args[0] == URING_ACCEPT) {
		reply->address.storage = memory->name;
		reply->address.length = memory->name_length;
	}
	uring_close(&ring);
}

void step_uring(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	struct memory memory = { .name_length = sizeof(memory.name) };

	memory.buffer = step_buffer((size_t)args[1], reply);
	if (!memory.buffer)
		return;
	memory.vector = (struct iovec){ .iov_base = memory.buffer, .iov_len = (size_t)args[1] };
	memory.message = (struct msghdr){ .msg_iov = &memory.vector, .msg_iovlen = 1 };
	if (!receives(args[0]))
		stream_fill(memory.buffer, (size_t)args[1], (uint64_t)args[3], (uint64_t)args[4]);
	run(request, reply, &memory);
	free(memory.buffer);
}
