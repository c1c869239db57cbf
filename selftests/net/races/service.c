// SPDX-License-Identifier: GPL-2.0-only
#include "service.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/random.h"
#include "../lib/stream.h"

#define BACKLOG 256
#define PIECE_BYTES 16384
#define STACK_BYTES (128 << 10)

static enum mode serving_mode;
static atomic_ulong wrong_streams;

static void reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Receives until the end, a reset or the limit. Returns how many bytes agreed with the stream. */
static uint64_t take(int fd, uint64_t seed, uint64_t limit)
{
	char buffer[PIECE_BYTES];
	uint64_t taken = 0;

	while (taken < limit) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);

		if (got <= 0)
			break;
		if (stream_match(buffer, (size_t)got, seed, taken) != (size_t)got) {
			wrong_streams++;
			break;
		}
		taken += (uint64_t)got;
	}
	return taken;
}

static void give(int fd, uint64_t seed, uint64_t bytes)
{
	char buffer[PIECE_BYTES];
	uint64_t given = 0;

	while (given < bytes) {
		size_t piece = bytes - given < sizeof(buffer) ? bytes - given : sizeof(buffer);

		stream_fill(buffer, piece, seed, given);
		if (write_whole(fd, buffer, piece))
			return;
		given += piece;
	}
	shutdown(fd, SHUT_WR);
	take(fd, seed, UINT64_MAX);
}

/* Connects once to the sender of the order. */
static void call_back(const struct address *to, struct random *random, bool aborts)
{
	const bool at_once = aborts && random_once_in(random, 2);
	const int family = to->storage.ss_family;
	int fd = mode_socket(serving_mode, family, at_once ? SOCK_NONBLOCK : 0);
	char byte = 0;

	if (fd < 0)
		return;
	if (!connect(fd, (const struct sockaddr *)&to->storage, to->length) && !aborts) {
		if (!write_whole(fd, &byte, 1))
			while (recv(fd, &byte, 1, 0) > 0)
				;
	}
	if (aborts)
		reset(fd);
	else
		close(fd);
}

static void call_all(int fd, const struct order *order, bool aborts)
{
	struct random random = { order->seed };
	struct address to = { .length = sizeof(to.storage) };

	if (getpeername(fd, (struct sockaddr *)&to.storage, &to.length))
		return;
	address_set_port(&to, (uint16_t)order->port);
	for (uint32_t i = 0; i < order->bytes; i++)
		call_back(&to, &random, aborts);
	shutdown(fd, SHUT_WR);
}

static void obey(int fd, const struct order *order)
{
	uint64_t answer;

	switch ((enum service)order->what) {
	case SERVICE_DRAIN:
		answer = take(fd, order->seed, UINT64_MAX);
		(void)write_whole(fd, &answer, sizeof(answer));
		break;
	case SERVICE_SOURCE:
		give(fd, order->seed, order->bytes);
		break;
	case SERVICE_RESET:
		take(fd, order->seed, order->bytes);
		reset(fd);
		return;
	case SERVICE_CALL:
	case SERVICE_ABORT:
		call_all(fd, order, order->what == SERVICE_ABORT);
		break;
	case SERVICE_VERDICT:
		answer = wrong_streams;
		(void)write_whole(fd, &answer, sizeof(answer));
		break;
	}
	close(fd);
}

static void *attend(void *argument)
{
	int fd = (int)(intptr_t)argument;
	struct order order;

	if (read_whole(fd, &order, sizeof(order)))
		close(fd);
	else
		obey(fd, &order);
	return NULL;
}

static int listener(uint16_t port, enum mode mode)
{
	struct address any;
	int one = 1;
	int fd = mode_socket(mode, AF_INET, 0);

	address_make(&any, AF_INET, NULL, port);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&any.storage, any.length) || listen(fd, BACKLOG)) {
		perror("smc_races: service");
		return -1;
	}
	return fd;
}

static void *attend_all(void *argument)
{
	int fd = (int)(intptr_t)argument;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		if (connection < 0)
			continue;
		if (pthread_create(&thread, &attributes, attend, (void *)(intptr_t)connection))
			close(connection);
	}
	return NULL;
}

void serve(uint16_t port, enum mode mode)
{
	int own = listener(port, mode);
	int plain = listener((uint16_t)(port + 1), MODE_TCP);
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);
	serving_mode = mode;
	if (own < 0 || plain < 0 ||
	    pthread_create(&thread, NULL, attend_all, (void *)(intptr_t)plain))
		return;
	printf("ready\n");
	fflush(stdout);
	attend_all((void *)(intptr_t)own);
}
