// SPDX-License-Identifier: GPL-2.0-only
#include "talk.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../lib/net.h"
#include "../lib/stream.h"

/* More than a connection's buffers hold: both ends have to wait for room. */
#define TALK_BYTES 150001
#define CALL_BYTES 20000

static int tell(int fd, bool client)
{
	char bytes[CALL_BYTES];
	size_t offset = 0;
	int ret = 0;

	while (!ret && offset < TALK_BYTES) {
		size_t length = TALK_BYTES - offset;

		if (length > sizeof(bytes))
			length = sizeof(bytes);
		stream_fill(bytes, length, client, offset);
		ret = write_whole(fd, bytes, length);
		offset += length;
	}
	return ret;
}

static int hear(int fd, bool client)
{
	char bytes[CALL_BYTES];
	size_t offset = 0;

	while (offset < TALK_BYTES) {
		size_t wanted = TALK_BYTES - offset;
		ssize_t got =
			recv(fd, bytes, wanted < sizeof(bytes) ? wanted : sizeof(bytes), 0);

		if (got < 0)
			return -errno;
		if (!got)
			return -TALK_CUT;
		if (stream_match(bytes, (size_t)got, !client, offset) != (size_t)got)
			return -TALK_WRONG;
		offset += (size_t)got;
	}
	return 0;
}

static int hear_the_end(int fd)
{
	char byte;
	ssize_t got = recv(fd, &byte, 1, 0);

	if (got < 0)
		return -errno;
	return got ? -TALK_WRONG : 0;
}

void talk_prepare(void)
{
	char stack[4 * CALL_BYTES];

	explicit_bzero(stack, sizeof(stack));
}

void talk_limit(int fd, unsigned int limit_s)
{
	const struct timeval limit = { .tv_sec = limit_s };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

int talk_socket(unsigned int limit_s)
{
	int fd = mode_socket(MODE_SMC, AF_INET, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	talk_limit(fd, limit_s);
	return fd;
}

int talk(int fd, bool client)
{
	const struct linger reset = { .l_onoff = 1 };
	int ret = client ? tell(fd, client) : hear(fd, client);

	if (!ret)
		ret = client ? hear(fd, client) : tell(fd, client);
	if (!ret && client && shutdown(fd, SHUT_WR))
		ret = -errno;
	if (!ret)
		ret = hear_the_end(fd);
	/* The peer would take an end of the stream for success. */
	if (ret)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	return ret;
}
