// SPDX-License-Identifier: GPL-2.0-only
/* Threads that wait for events, against threads that cause them or change what is waited for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../lib/stream.h"
#include "race.h"

#define SENT_BYTES_MAX 60000
#define PIECE_BYTES 5000
#define CHANGES 8

/* A poll() sees the end of the stream, whether it came before or comes meanwhile. */
static void act_poll_end(struct round *round)
{
	struct pollfd poller = { .fd = round->fd, .events = POLLRDHUP };

	if (poll(&poller, 1, EVENT_MS_MAX) == 0)
		fail(round, "no end in sight", 0);
}

static void poll_shutdown(struct round *round)
{
	round->fd = ordered(round, SERVICE_DRAIN, 0);
	together(round, act_poll_end, act_shutdown, NULL);
	close(round->fd);
}

/* The service ends the stream while another thread closes the socket: POLLNVAL is right, too. */
static void poll_close(struct round *round)
{
	round->fd = ordered(round, SERVICE_SOURCE, random_below(&round->random, PIECE_BYTES));
	together(round, act_poll_end, act_close, NULL);
}

static void act_send(struct round *round)
{
	char buffer[PIECE_BYTES];

	stream_fill(buffer, sizeof(buffer), round->seed, 0);
	allowed(round, "send", send(round->fd, buffer, sizeof(buffer), 0), EPIPE, ECONNRESET);
}

static void poll_reset(struct round *round)
{
	round->fd = ordered(round, SERVICE_RESET, 1 + random_below(&round->random, PIECE_BYTES));
	together(round, act_poll_end, act_send, NULL);
	close(round->fd);
}

/* --- epoll --------------------------------------------------------------------------- */

static int watch(struct round *round, int operation, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(round->copy, operation, round->fd, &event);
}

/* Leaves the set and comes back: epoll reports what happened in between. */
static void act_rearm(struct round *round)
{
	for (int i = 0; i < CHANGES; i++) {
		allowed(round, "EPOLL_CTL_DEL", watch(round, EPOLL_CTL_DEL, 0), 0);
		allowed(round, "EPOLL_CTL_ADD",
			watch(round, EPOLL_CTL_ADD, EPOLLIN | EPOLLRDHUP | EPOLLET), 0);
	}
}

static void act_other_set(struct round *round)
{
	watch_elsewhere(round, CHANGES, 0);
}

static void epoll_rearm(struct round *round)
{
	round->bytes = random_below(&round->random, SENT_BYTES_MAX);
	round->fd = ordered(round, SERVICE_SOURCE, round->bytes);
	round->copy = epoll_create1(0);
	allowed(round, "EPOLL_CTL_ADD",
		watch(round, EPOLL_CTL_ADD, EPOLLIN | EPOLLRDHUP | EPOLLET), 0);
	together(round, receive_by_edges, act_rearm, act_other_set);
	close(round->copy);
	close(round->fd);
}

static void act_wait(struct round *round)
{
	struct epoll_event event;

	for (int i = 0; i < CHANGES; i++)
		allowed(round, "epoll_wait", epoll_wait(round->copy, &event, 1, 1), 0);
}

static void act_change(struct round *round)
{
	for (int i = 0; i < CHANGES; i++) {
		allowed(round, "EPOLL_CTL_MOD", watch(round, EPOLL_CTL_MOD, EPOLLIN), EBADF);
		allowed(round, "EPOLL_CTL_DEL", watch(round, EPOLL_CTL_DEL, 0), EBADF);
		allowed(round, "EPOLL_CTL_ADD", watch(round, EPOLL_CTL_ADD, EPOLLOUT), EBADF);
	}
}

static void epoll_close(struct round *round)
{
	round->fd = ordered(round, SERVICE_SOURCE, random_below(&round->random, PIECE_BYTES));
	round->copy = epoll_create1(0);
	allowed(round, "EPOLL_CTL_ADD", watch(round, EPOLL_CTL_ADD, EPOLLIN), 0);
	together(round, act_wait, act_change, act_close);
	close(round->copy);
}

const struct race poll_races[] = {
	{ "poll_shutdown", poll_shutdown },
	{ "poll_close", poll_close },
	{ "poll_reset", poll_reset },
	{ "epoll_rearm", epoll_rearm },
	{ "epoll_close", epoll_close },
	{ NULL, NULL },
};
