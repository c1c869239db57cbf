// SPDX-License-Identifier: GPL-2.0-only
/* One operation on a ring of its own, by system calls alone. */
#include "step.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/stream.h"

#define ENTRIES 4

struct ring {
	int fd;
	struct io_uring_params params;
	void *queues; /* both; one mapping */
	size_t queues_bytes;
	struct io_uring_sqe *sqes;
};

static bool open_ring(struct ring *ring)
{
	size_t sq_bytes;
	size_t cq_bytes;

	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return false;
	sq_bytes = ring->params.sq_off.array + ring->params.sq_entries * sizeof(__u32);
	cq_bytes = ring->params.cq_off.cqes +
		   ring->params.cq_entries * sizeof(struct io_uring_cqe);
	ring->queues_bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
	ring->queues = mmap(NULL, ring->queues_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, ring->params.sq_entries * sizeof(*ring->sqes),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
			  IORING_OFF_SQES);
	return ring->queues != MAP_FAILED && ring->sqes != MAP_FAILED;
}

static void close_ring(struct ring *ring)
{
	if (ring->fd < 0)
		return;
	if (ring->queues && ring->queues != MAP_FAILED)
		munmap(ring->queues, ring->queues_bytes);
	if (ring->sqes && ring->sqes != MAP_FAILED)
		munmap(ring->sqes, ring->params.sq_entries * sizeof(*ring->sqes));
	close(ring->fd);
}

static _Atomic __u32 *word(const struct ring *ring, __u32 offset)
{
	return (_Atomic __u32 *)((char *)ring->queues + offset);
}

static void submit(struct ring *ring)
{
	__u32 tail = atomic_load(word(ring, ring->params.sq_off.tail));
	__u32 mask = atomic_load(word(ring, ring->params.sq_off.ring_mask));

	atomic_store(word(ring, ring->params.sq_off.array) + (tail & mask), 0);
	atomic_store(word(ring, ring->params.sq_off.tail), tail + 1);
	syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
}

/* The next completion; false if none comes in time. */
static bool complete(struct ring *ring, int timeout_ms, struct io_uring_cqe *cqe)
{
	struct pollfd poller = { .fd = ring->fd, .events = POLLIN };
	__u32 head = atomic_load(word(ring, ring->params.cq_off.head));
	__u32 mask = atomic_load(word(ring, ring->params.cq_off.ring_mask));

	while (head == atomic_load(word(ring, ring->params.cq_off.tail))) {
		int ready = poll(&poller, 1, timeout_ms);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return false;
	}
	*cqe = ((struct io_uring_cqe *)((char *)ring->queues +
					ring->params.cq_off.cqes))[head & mask];
	atomic_store(word(ring, ring->params.cq_off.head), head + 1);
	return true;
}

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
	struct ring ring;

	if (!open_ring(&ring)) {
		reply->error = errno;
		close_ring(&ring);
		return;
	}
	prepare(request, ring.sqes, memory);
	submit(&ring);
	if (!complete(&ring, (int)args[5], &cqe)) {
		reply->error = ETIME;
		close_ring(&ring);
		return;
	}
	reply->ret = cqe.res < 0 ? -1 : cqe.res;
	reply->error = cqe.res < 0 ? -cqe.res : 0;
	/* A second completion says that the kernel does not need the bytes any more. */
	if (args[0] == URING_SEND_ZC && cqe.flags & IORING_CQE_F_MORE)
		reply->values[1] = complete(&ring, (int)args[5], &cqe) &&
				   cqe.flags & IORING_CQE_F_NOTIF;
	if (receives(args[0]) && reply->ret > 0)
		reply->values[0] = step_matched(memory->buffer, reply->ret, args[3], args[4]);
	if (args[0] == URING_ACCEPT) {
		reply->address.storage = memory->name;
		reply->address.length = memory->name_length;
	}
	close_ring(&ring);
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
