// SPDX-License-Identifier: GPL-2.0-only
#include "uring.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 4
#define SOCKET_MS_MAX 10000

bool uring_open(struct uring *ring)
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

void uring_close(struct uring *ring)
{
	if (ring->fd < 0)
		return;
	if (ring->queues && ring->queues != MAP_FAILED)
		munmap(ring->queues, ring->queues_bytes);
	if (ring->sqes && ring->sqes != MAP_FAILED)
		munmap(ring->sqes, ring->params.sq_entries * sizeof(*ring->sqes));
	close(ring->fd);
}

static _Atomic __u32 *word(const struct uring *ring, __u32 offset)
{
	return (_Atomic __u32 *)((char *)ring->queues + offset);
}

void uring_submit(struct uring *ring)
{
	__u32 tail = atomic_load(word(ring, ring->params.sq_off.tail));
	__u32 mask = atomic_load(word(ring, ring->params.sq_off.ring_mask));

	atomic_store(word(ring, ring->params.sq_off.array) + (tail & mask), 0);
	atomic_store(word(ring, ring->params.sq_off.tail), tail + 1);
	syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
}

bool uring_complete(struct uring *ring, int timeout_ms, struct io_uring_cqe *cqe)
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

int uring_socket(int family, int type)
{
	struct io_uring_cqe cqe = { 0 };
	struct uring ring;
	int ret;

	if (!uring_open(&ring)) {
		ret = -errno;
	} else {
		memset(ring.sqes, 0, sizeof(*ring.sqes));
		ring.sqes->opcode = IORING_OP_SOCKET;
		ring.sqes->fd = family;
		ring.sqes->off = (__u64)type;
		uring_submit(&ring);
		ret = uring_complete(&ring, SOCKET_MS_MAX, &cqe) ? cqe.res : -ETIME;
	}
	uring_close(&ring);
	return ret;
}
