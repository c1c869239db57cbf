// SPDX-License-Identifier: GPL-2.0-only
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/stream.h"

#define PIPE_BYTES (1 << 20)

static bool make_pipe(int *ends, struct reply *reply)
{
	if (pipe2(ends, O_CLOEXEC) < 0) {
		reply->error = errno;
		return false;
	}
	/* If this fails, the pipe has its usual size, and less fits into it. */
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

static void close_pipe(const int *ends)
{
	close(ends[0]);
	close(ends[1]);
}

static int64_t send_file(int fd, const void *buffer, size_t length, size_t more,
			 struct reply *reply)
{
	int file = memfd_create("stream", MFD_CLOEXEC);
	int64_t total = 0;
	off_t at = 0;

	if (file < 0 || write(file, buffer, length) != (ssize_t)length) {
		reply->error = errno;
		total = -1;
	}
	while (total >= 0 && total < (int64_t)length) {
		ssize_t sent = sendfile(fd, file, &at, length - (size_t)total + more);

		if (sent < 0) {
			reply->error = errno;
			total = total ? total : -1;
			break;
		}
		total += sent;
	}
	if (file >= 0)
		close(file);
	return total;
}

/* One call for what the pipe holds; more calls until all of it is through. */
static int64_t through_pipe(int fd, void *buffer, size_t length, int flags, bool gift,
			    struct reply *reply)
{
	struct iovec vector = { .iov_base = buffer, .iov_len = length };
	int64_t total = 0;
	int ends[2];

	if (!make_pipe(ends, reply))
		return -1;
	while (total < (int64_t)length) {
		ssize_t moved;

		vector.iov_base = (char *)buffer + total;
		vector.iov_len = length - (size_t)total;
		if (vector.iov_len > PIPE_BYTES / 2)
			vector.iov_len = PIPE_BYTES / 2;
		moved = gift ? vmsplice(ends[1], &vector, 1, 0) :
			       write(ends[1], vector.iov_base, vector.iov_len);
		while (moved > 0) {
			ssize_t sent = splice(ends[0], NULL, fd, NULL, (size_t)moved,
					      (unsigned int)flags);

			if (sent <= 0) {
				reply->error = errno;
				close_pipe(ends);
				return total ? total : -1;
			}
			total += sent;
			moved -= sent;
		}
	}
	close_pipe(ends);
	return total;
}

void step_splice_in(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	size_t length = (size_t)args[1];
	void *buffer = step_buffer(length, reply);

	if (!buffer)
		return;
	stream_fill(buffer, length, (uint64_t)args[3], (uint64_t)args[4]);
	reply->error = 0;
	if (args[0] == SPLICE_SENDFILE || args[0] == SPLICE_FILE_AND_MORE)
		reply->ret = send_file(request->fd, buffer, length,
				       args[0] == SPLICE_SENDFILE ? 0 : 1 << 20, reply);
	else
		reply->ret = through_pipe(request->fd, buffer, length, (int)args[2],
					  args[0] == SPLICE_VMSPLICE, reply);
	/* vmsplice()d pages may still be read by the pipe, so they are not freed. */
	if (args[0] != SPLICE_VMSPLICE)
		free(buffer);
}

/* Bytes that the pipe holds, into the buffer. */
static int64_t empty_pipe(int fd, void *buffer, int64_t length)
{
	int64_t total = 0;

	while (total < length) {
		ssize_t got = read(fd, (char *)buffer + total, (size_t)(length - total));

		if (got <= 0)
			break;
		total += got;
	}
	return total;
}

void step_splice_out(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[0], reply);
	int ends[2];

	if (!buffer)
		return;
	if (make_pipe(ends, reply)) {
		reply->ret = splice(request->fd, NULL, ends[1], NULL, (size_t)args[0],
				    (unsigned int)args[1]);
		reply->error = errno;
		if (reply->ret > 0)
			reply->values[0] = step_matched(buffer,
							empty_pipe(ends[0], buffer, reply->ret),
							args[2], args[3]);
		close_pipe(ends);
	}
	free(buffer);
}

void step_tee(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[0], reply);
	int first[2];
	int second[2];

	if (!buffer)
		return;
	if (make_pipe(first, reply) && make_pipe(second, reply)) {
		reply->ret = splice(request->fd, NULL, first[1], NULL, (size_t)args[0], 0);
		reply->error = errno;
		if (reply->ret > 0 &&
		    tee(first[0], second[1], (size_t)reply->ret, 0) == reply->ret) {
			int64_t one = step_matched(buffer,
						   empty_pipe(first[0], buffer, reply->ret),
						   args[1], args[2]);
			int64_t two = step_matched(buffer,
						   empty_pipe(second[0], buffer, reply->ret),
						   args[1], args[2]);

			reply->values[0] = one < two ? one : two;
		}
		close_pipe(first);
		close_pipe(second);
	}
	free(buffer);
}
