// SPDX-License-Identifier: GPL-2.0-only
/* Steps that the races share. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../lib/stream.h"
#include "race.h"

#define BACKLOG 32
#define PIECE_BYTES 4096
#define PROOF_BYTES 300
#define YIELDS_MAX 20

struct actor {
	pthread_t thread;
	struct round *round;
	act_fn act;
	pthread_barrier_t *start;
	unsigned int yields;
	unsigned int delay_us;
};

static void *perform(void *argument)
{
	struct actor *actor = argument;
	const struct timespec delay = { .tv_nsec = actor->delay_us * 1000L };

	pthread_barrier_wait(actor->start);
	for (unsigned int i = 0; i < actor->yields; i++)
		sched_yield();
	if (actor->delay_us)
		nanosleep(&delay, NULL);
	actor->act(actor->round);
	return NULL;
}

void together(struct round *round, act_fn first, act_fn second, act_fn third)
{
	const act_fn acts[ACTORS_MAX] = { first, second, third };
	const unsigned int count = third ? 3 : 2;
	struct actor actors[ACTORS_MAX];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, count);
	for (unsigned int i = 0; i < count; i++) {
		struct actor *actor = &actors[i];

		*actor = (struct actor){ .round = round, .act = acts[i], .start = &start };
		if (random_once_in(&round->random, 2))
			actor->yields = random_below(&round->random, YIELDS_MAX);
		else if (random_once_in(&round->random, 2))
			actor->delay_us = random_below(&round->random, round->setting->scale_us);
		if (pthread_create(&actor->thread, NULL, perform, actor)) {
			fprintf(stderr, "smc_races: no thread\n");
			exit(1);
		}
	}
	for (unsigned int i = 0; i < count; i++)
		pthread_join(actors[i].thread, NULL);
	pthread_barrier_destroy(&start);
}

void fail(struct round *round, const char *what, long long value)
{
	round->failures++;
	printf("# %s, round %u: %s: %lld %s\n", round->race, round->number, what, value,
	       value < 0 ? strerrorname_np((int)-value) : "");
	fflush(stdout);
}

long long check_allowed(struct round *round, const char *what, long long ret, const int *errnos)
{
	if (ret >= 0)
		return ret;
	ret = -errno;
	for (; *errnos; errnos++)
		if (ret == -*errnos)
			return ret;
	fail(round, what, ret);
	return ret;
}

int race_socket(const struct round *round, int type_flags)
{
	int fd = mode_socket(round->setting->mode, AF_INET, type_flags);

	if (fd < 0) {
		perror("smc_races: socket");
		exit(1);
	}
	return fd;
}

int ordered(struct round *round, enum service what, uint32_t bytes)
{
	const struct address *to = &round->setting->service;
	const struct order order = { .what = what, .bytes = bytes, .seed = round->seed };
	int fd = race_socket(round, 0);
	int ret;

	ret = connect(fd, (const struct sockaddr *)&to->storage, to->length) ? -errno : 0;
	if (!ret)
		ret = write_whole(fd, &order, sizeof(order));
	if (ret)
		fail(round, "connection to the service", ret);
	return fd;
}

void receive_whole(struct round *round, int fd)
{
	char buffer[PIECE_BYTES];
	uint64_t taken = 0;
	ssize_t got;

	while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		if (stream_match(buffer, (size_t)got, round->seed, taken) != (size_t)got)
			fail(round, "wrong byte behind", (long long)taken);
		taken += (uint64_t)got;
	}
	if (got < 0)
		fail(round, "receive", -errno);
	if (taken != round->bytes)
		fail(round, "bytes received", (long long)taken);
}

void receive_by_edges(struct round *round)
{
	char buffer[PIECE_BYTES];
	struct epoll_event event;
	long long got;

	for (;;) {
		if (epoll_wait(round->copy, &event, 1, EVENT_MS_MAX) != 1) {
			fail(round, "no event behind byte", round->moved);
			return;
		}
		while ((got = allowed(round, "receive",
				      recv(round->fd, buffer, sizeof(buffer), MSG_DONTWAIT),
				      EAGAIN)) > 0) {
			if (stream_match(buffer, (size_t)got, round->seed,
					 (uint64_t)round->moved) != (size_t)got)
				fail(round, "wrong byte behind", round->moved);
			round->moved += got;
		}
		if (got != -EAGAIN)
			break;
	}
	if (round->moved != round->bytes)
		fail(round, "bytes received", round->moved);
}

void works(struct round *round, int fd)
{
	const struct order order = { .what = SERVICE_SOURCE,
				     .bytes = PROOF_BYTES,
				     .seed = round->seed };
	int ret = write_whole(fd, &order, sizeof(order));

	if (ret) {
		fail(round, "order", ret);
		return;
	}
	round->bytes = PROOF_BYTES;
	receive_whole(round, fd);
}

void act_close(struct round *round)
{
	allowed(round, "close", close(round->fd), 0);
}

void act_shutdown(struct round *round)
{
	allowed(round, "shutdown", shutdown(round->fd, SHUT_RDWR), ENOTCONN);
}

void watch_elsewhere(struct round *round, int times, int wait_ms)
{
	for (int i = 0; i < times; i++) {
		struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
		int set = epoll_create1(0);

		allowed(round, "epoll_create", set, 0);
		allowed(round, "EPOLL_CTL_ADD of another",
			epoll_ctl(set, EPOLL_CTL_ADD, round->fd, &event), 0);
		allowed(round, "epoll_wait of another", epoll_wait(set, &event, 1, wait_ms), 0);
		close(set);
	}
}

int race_listener(struct round *round, int type_flags, uint16_t *port)
{
	struct address any;
	int fd = race_socket(round, type_flags);

	address_make(&any, AF_INET, NULL, 0);
	if (bind(fd, (struct sockaddr *)&any.storage, any.length) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&any.storage, &any.length))
		fail(round, "listener", -errno);
	*port = address_port(&any);
	return fd;
}

void order_calls(struct round *round, uint16_t port, uint32_t count, bool aborts)
{
	const struct order order = {
		.what = aborts ? SERVICE_ABORT : SERVICE_CALL,
		.bytes = count,
		.seed = round->seed,
		.port = port,
	};
	int fd = control_connect(&round->setting->plain);
	int ret = fd < 0 ? fd : write_whole(fd, &order, sizeof(order));

	if (ret)
		fail(round, "order of calls", ret);
	/* The service stays; its answer says how many calls it made. */
	round->copy = fd < 0 ? -1 : fd;
}
