// SPDX-License-Identifier: GPL-2.0-only
/* A connection to a host without SMC becomes TCP while other threads use the socket. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "race.h"

#define SENT_BYTES_MAX 40000
#define LOOKS 6

static int connect_plain(const struct round *round)
{
	const struct address *to = &round->setting->plain;

	return connect(round->fd, (const struct sockaddr *)&to->storage, to->length);
}

static void act_connect(struct round *round)
{
	allowed(round, "connect", connect_plain(round), EINPROGRESS);
}

static void act_other_set(struct round *round)
{
	watch_elsewhere(round, LOOKS, 1);
}

/* The epoll set saw the socket before it was connected, and reports all later events. */
static void act_order_by_edges(struct round *round)
{
	const struct order order = { .what = SERVICE_SOURCE,
				     .bytes = round->bytes,
				     .seed = round->seed };
	struct epoll_event event = { 0 };
	int ret;

	while (!(event.events & EPOLLOUT) || event.events & EPOLLHUP) {
		if (epoll_wait(round->copy, &event, 1, EVENT_MS_MAX) != 1) {
			fail(round, "connect() is not told", 0);
			return;
		}
	}
	ret = write_whole(round->fd, &order, sizeof(order));
	if (ret)
		fail(round, "order", ret);
	else
		receive_by_edges(round);
}

static void fallback_epoll(struct round *round)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };

	round->bytes = random_below(&round->random, SENT_BYTES_MAX);
	round->fd = race_socket(round, SOCK_NONBLOCK);
	round->copy = epoll_create1(0);
	allowed(round, "EPOLL_CTL_ADD", epoll_ctl(round->copy, EPOLL_CTL_ADD, round->fd, &event),
		0);
	together(round, act_order_by_edges, act_connect, act_other_set);
	close(round->copy);
	close(round->fd);
}

/* In whatever mode the socket is at that moment. */
static void act_look(struct round *round)
{
	for (int i = 0; i < LOOKS; i++) {
		struct address address = { .length = sizeof(address.storage) };
		int bytes;
		char byte;

		allowed(round, "receive", recv(round->fd, &byte, 1, MSG_DONTWAIT), EAGAIN,
			ENOTCONN);
		allowed(round, "FIONREAD", ioctl(round->fd, FIONREAD, &bytes), 0);
		allowed(round, "getpeername",
			getpeername(round->fd, (struct sockaddr *)&address.storage,
				    &address.length),
			ENOTCONN);
	}
}

static void act_share(struct round *round)
{
	for (int i = 0; i < LOOKS; i++) {
		int fd = dup(round->fd);

		allowed(round, "dup", fd, 0);
		close(fd);
	}
}

static void fallback_calls(struct round *round)
{
	round->fd = race_socket(round, 0);
	together(round, act_connect, act_look, act_share);
	works(round, round->fd);
	close(round->fd);
}

const struct race turn_races[] = {
	{ "fallback_epoll", fallback_epoll },
	{ "fallback_calls", fallback_calls },
	{ NULL, NULL },
};
