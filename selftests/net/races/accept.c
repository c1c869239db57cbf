// SPDX-License-Identifier: GPL-2.0-only
/* accept(), against what ends the listener, and against clients that leave early. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "race.h"

#define CALLS_MAX 3
#define ABORTS_MAX 6

/* The client sends one byte; it may have left already. */
static void greet(struct round *round, int fd)
{
	char byte;

	allowed(round, "receive of an accepted", recv(fd, &byte, 1, 0), ECONNRESET);
	allowed(round, "close of an accepted", close(fd), 0);
	round->moved++;
}

/* Accepts when poll() says so, until the listener is gone. */
static void act_accept_polled(struct round *round)
{
	for (;;) {
		struct pollfd poller = { .fd = round->fd, .events = POLLIN };
		long long fd;

		if (poll(&poller, 1, 1) > 0 && poller.revents & POLLNVAL)
			return;
		fd = allowed(round, "accept", accept(round->fd, NULL, NULL), EAGAIN, EBADF,
			     ECONNABORTED);
		if (fd == -EBADF)
			return;
		if (fd >= 0)
			greet(round, (int)fd);
	}
}

/* Sleeps in accept(), until the listener ends. */
static void act_accept(struct round *round)
{
	long long fd;

	while ((fd = allowed(round, "accept", accept(round->fd, NULL, NULL), EINVAL,
			     ECONNABORTED)) != -EINVAL)
		if (fd >= 0)
			greet(round, (int)fd);
}

static void act_end_listening(struct round *round)
{
	allowed(round, "shutdown", shutdown(round->fd, SHUT_RDWR), 0);
}

static void accept_close(struct round *round)
{
	uint16_t port;

	round->fd = race_listener(round, SOCK_NONBLOCK, &port);
	order_calls(round, port, 1 + random_below(&round->random, CALLS_MAX), false);
	together(round, act_accept_polled, act_close, NULL);
	close(round->copy);
}

/* The next connection works; the port may be another one, since the listener was shut down. */
static void serves_still(struct round *round)
{
	struct pollfd poller = { .fd = round->fd, .events = POLLIN };
	struct address address = { .length = sizeof(address.storage) };
	int fd;

	close(round->copy);
	allowed(round, "getsockname",
		getsockname(round->fd, (struct sockaddr *)&address.storage, &address.length), 0);
	round->seed++;
	order_calls(round, address_port(&address), 1, false);
	for (;;) {
		char byte;

		if (poll(&poller, 1, EVENT_MS_MAX) != 1) {
			fail(round, "nobody comes", 0);
			break;
		}
		fd = accept(round->fd, NULL, NULL);
		if (fd < 0)
			continue;
		/* The earlier ones are gone. */
		if (recv(fd, &byte, 1, 0) == 1) {
			close(fd);
			break;
		}
		close(fd);
	}
	close(round->copy);
	close(round->fd);
}

static void accept_shutdown(struct round *round)
{
	uint16_t port;

	round->fd = race_listener(round, 0, &port);
	order_calls(round, port, 1 + random_below(&round->random, CALLS_MAX), false);
	together(round, act_accept, act_end_listening, NULL);
	if (allowed(round, "listen again", listen(round->fd, 8), 0) == 0)
		serves_still(round);
}

/* Until the service has made all its calls. */
static void act_accept_all(struct round *round)
{
	struct pollfd pollers[] = { { .fd = round->fd, .events = POLLIN },
				    { .fd = round->copy, .events = POLLIN } };

	do {
		long long fd;

		if (poll(pollers, 2, EVENT_MS_MAX) == 0)
			fail(round, "the calls do not end", 0);
		fd = allowed(round, "accept", accept(round->fd, NULL, NULL), EAGAIN, ECONNABORTED);
		if (fd >= 0)
			greet(round, (int)fd);
	} while (!pollers[1].revents);
}

static void accept_abort(struct round *round)
{
	uint16_t port;

	round->fd = race_listener(round, SOCK_NONBLOCK, &port);
	order_calls(round, port, 1 + random_below(&round->random, ABORTS_MAX), true);
	together(round, act_accept_all, act_accept_all, NULL);
	serves_still(round);
}

const struct race accept_races[] = {
	{ "accept_close", accept_close },
	{ "accept_shutdown", accept_shutdown },
	{ "accept_abort", accept_abort },
	{ NULL, NULL },
};
