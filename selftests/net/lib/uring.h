/* SPDX-License-Identifier: GPL-2.0-only */
/* io_uring by system calls alone, one operation at a time. */
#ifndef SELFTEST_URING_H
#define SELFTEST_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>

struct uring {
	int fd;
	struct io_uring_params params;
	void *queues; /* both; one mapping */
	size_t queues_bytes;
	struct io_uring_sqe *sqes;
};

/* False with errno. The ring is to be closed all the same. */
bool uring_open(struct uring *ring);
void uring_close(struct uring *ring);
/* Submits the first entry, which the caller has filled in. */
void uring_submit(struct uring *ring);
/* The next completion; false if none comes in time. */
bool uring_complete(struct uring *ring, int timeout_ms, struct io_uring_cqe *cqe);

/* socket(family, type, 0) by io_uring. A fd, or -errno. */
int uring_socket(int family, int type);

#endif
