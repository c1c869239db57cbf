// SPDX-License-Identifier: GPL-2.0-only
/* connect(), against whatever takes the socket away meanwhile. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "race.h"

static int call_connect(const struct round *round, int fd)
{
	const struct address *to = &round->setting->service;

	return connect(fd, (const struct sockaddr *)&to->storage, to->length);
}

static int disconnect(int fd)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	return connect(fd, &nowhere, sizeof(nowhere));
}

static void act_connect(struct round *round)
{
	allowed(round, "connect", call_connect(round, round->fd), EBADF, EINPROGRESS);
}

static void act_connect_in_vain(struct round *round)
{
	/* EPIPE is rare, also on TCP. */
	allowed(round, "connect", call_connect(round, round->fd), ECONNABORTED, ECONNRESET,
		EINPROGRESS, EPIPE);
}

static void act_disconnect(struct round *round)
{
	allowed(round, "disconnect", disconnect(round->fd), 0);
}

/* A thread that waits for the connection learns the outcome. */
static void act_poll(struct round *round)
{
	struct pollfd poller = { .fd = round->fd, .events = POLLOUT };

	if (poll(&poller, 1, EVENT_MS_MAX) == 0)
		fail(round, "nothing happens", 0);
}

static void connect_close(struct round *round)
{
	round->fd = race_socket(round, random_once_in(&round->random, 2) ? SOCK_NONBLOCK : 0);
	together(round, act_connect, act_close, NULL);
}

/* After a failed attempt the socket can be used again. */
static void use_again(struct round *round)
{
	/* connect(AF_UNSPEC) of a socket that was never connected succeeds. */
	allowed(round, "disconnect", disconnect(round->fd), 0);
	if (allowed(round, "connect again", call_connect(round, round->fd), 0) == 0)
		works(round, round->fd);
	close(round->fd);
}

static void connect_shutdown(struct round *round)
{
	round->fd = race_socket(round, 0);
	together(round, act_connect_in_vain, act_shutdown, NULL);
	use_again(round);
}

static void connect_disconnect(struct round *round)
{
	round->fd = race_socket(round, 0);
	together(round, act_connect_in_vain, act_disconnect, NULL);
	use_again(round);
}

/* A socket that was never connected reports POLLHUP; one that connects reports the outcome. */
static void connect_poll(struct round *round)
{
	const int flags = random_once_in(&round->random, 2) ? SOCK_NONBLOCK : 0;

	round->fd = race_socket(round, flags);
	together(round, act_connect_in_vain, act_poll, act_shutdown);
	close(round->fd);
}

/* --- TCP_ULP ------------------------------------------------------------------------ */

/* TCP_ULP comes before the connection, or too late. */
static void act_choose(struct round *round)
{
	int one = 1;

	if (round->setting->mode == MODE_TCP)
		allowed(round, "setsockopt",
			setsockopt(round->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), EBADF);
	else
		allowed(round, "setsockopt",
			setsockopt(round->fd, IPPROTO_TCP, TCP_ULP, "smc", 3), EBADF, EISCONN);
}

static void act_connect_copy(struct round *round)
{
	allowed(round, "connect", call_connect(round, round->copy), 0);
}

static void ulp_dup_connect_close(struct round *round)
{
	round->fd = mode_socket(MODE_TCP, AF_INET, 0);
	round->copy = dup(round->fd);
	if (round->fd < 0 || round->copy < 0) {
		fail(round, "socket", -errno);
		return;
	}
	together(round, act_choose, act_connect_copy, act_close);
	works(round, round->copy);
	close(round->copy);
}

const struct race connect_races[] = {
	{ "connect_close", connect_close },
	{ "connect_shutdown", connect_shutdown },
	{ "connect_disconnect", connect_disconnect },
	{ "connect_poll", connect_poll },
	{ "ulp_dup_connect_close", ulp_dup_connect_close },
	{ NULL, NULL },
};
