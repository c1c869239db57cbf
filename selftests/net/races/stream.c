// SPDX-License-Identifier: GPL-2.0-only
/* Data on its way, against what ends the connection. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/stream.h"
#include "race.h"

#define SENT_BYTES_MAX 200000
#define PIECE_BYTES 7000

static void act_shut_write(struct round *round)
{
	allowed(round, "shutdown", shutdown(round->fd, SHUT_WR), ENOTCONN);
}

static void act_shut_read(struct round *round)
{
	allowed(round, "shutdown", shutdown(round->fd, SHUT_RD), ENOTCONN);
}

/* Sends the stream on until somebody ends the connection. */
static void act_send(struct round *round)
{
	char buffer[PIECE_BYTES];

	while (round->moved < round->bytes) {
		long long sent;

		stream_fill(buffer, sizeof(buffer), round->seed, (uint64_t)round->moved);
		sent = allowed(round, "send", send(round->fd, buffer, sizeof(buffer), 0), EPIPE,
			       ECONNRESET, EBADF);
		if (sent < 0)
			return;
		round->moved += sent;
	}
}

/* Receives, and counts the bytes that agree with the stream. */
static void act_receive(struct round *round)
{
	char buffer[PIECE_BYTES];
	long long got;

	while ((got = allowed(round, "receive", recv(round->fd, buffer, sizeof(buffer), 0),
			      ECONNRESET, EBADF)) > 0) {
		if (stream_match(buffer, (size_t)got, round->seed, (uint64_t)round->moved) !=
		    (size_t)got)
			fail(round, "wrong byte behind", round->moved);
		round->moved += got;
	}
}

/* The same through a pipe. */
static void act_splice(struct round *round)
{
	char buffer[PIECE_BYTES];
	long long got;

	while ((got = allowed(round, "splice",
			      splice(round->fd, NULL, round->pipe[1], NULL, sizeof(buffer), 0),
			      ECONNRESET, EBADF)) > 0) {
		int ret = read_whole(round->pipe[0], buffer, (size_t)got);

		if (ret)
			fail(round, "pipe", ret);
		if (stream_match(buffer, (size_t)got, round->seed, (uint64_t)round->moved) !=
		    (size_t)got)
			fail(round, "wrong byte behind", round->moved);
		round->moved += got;
	}
}

static void order_source(struct round *round)
{
	round->bytes = random_below(&round->random, SENT_BYTES_MAX);
	round->fd = ordered(round, SERVICE_SOURCE, round->bytes);
}

/* The bytes that send() counted arrive, and no others. */
static void drained(struct round *round, int fd)
{
	uint64_t arrived = 0;
	int ret = read_whole(fd, &arrived, sizeof(arrived));

	if (ret)
		fail(round, "answer", ret);
	else if (arrived != (uint64_t)round->moved)
		fail(round, "of so many bytes arrived", (long long)arrived);
}

static void send_shutdown(struct round *round)
{
	round->bytes = SENT_BYTES_MAX;
	round->fd = ordered(round, SERVICE_DRAIN, 0);
	together(round, act_send, act_shut_write, NULL);
	drained(round, round->fd);
	close(round->fd);
}

/* The service resets the connection in the middle of the stream. */
static void send_reset(struct round *round)
{
	round->bytes = SENT_BYTES_MAX;
	round->fd = ordered(round, SERVICE_RESET, random_below(&round->random, SENT_BYTES_MAX));
	together(round, act_send, act_receive, act_shut_write);
	close(round->fd);
}

static void act_abort(struct round *round)
{
	const struct linger now = { .l_onoff = 1 };

	allowed(round, "SO_LINGER",
		setsockopt(round->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	allowed(round, "close", close(round->fd), 0);
}

/* This end resets the connection. */
static void send_abort(struct round *round)
{
	round->bytes = SENT_BYTES_MAX;
	round->fd = ordered(round, SERVICE_DRAIN, 0);
	together(round, act_send, act_abort, NULL);
}

static void receive_close(struct round *round)
{
	order_source(round);
	together(round, act_receive, act_close, NULL);
}

/* The end wakes a reader that sleeps in recv(). */
static void receive_shutdown(struct round *round)
{
	round->fd = ordered(round, SERVICE_DRAIN, 0);
	together(round, act_receive, act_shut_read, NULL);
	if (round->moved)
		fail(round, "bytes out of nothing", round->moved);
	close(round->fd);
}

static void splice_close(struct round *round)
{
	if (pipe(round->pipe)) {
		fail(round, "pipe", -errno);
		return;
	}
	order_source(round);
	together(round, act_splice, act_close, NULL);
	close(round->pipe[0]);
	close(round->pipe[1]);
}

/* A process that exits with a copy of the descriptor ends nothing. */
static void act_fork(struct round *round)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	if (pid < 0)
		fail(round, "fork", -errno);
	else if (waitpid(pid, &status, 0) != pid)
		fail(round, "wait", -errno);
}

static void send_fork(struct round *round)
{
	round->bytes = random_below(&round->random, SENT_BYTES_MAX);
	round->fd = ordered(round, SERVICE_DRAIN, 0);
	together(round, act_send, act_fork, NULL);
	if (round->moved < round->bytes)
		fail(round, "sent only", round->moved);
	allowed(round, "shutdown", shutdown(round->fd, SHUT_WR), 0);
	drained(round, round->fd);
	close(round->fd);
}

const struct race stream_races[] = {
	{ "send_shutdown", send_shutdown },
	{ "send_reset", send_reset },
	{ "send_abort", send_abort },
	{ "send_fork", send_fork },
	{ "receive_close", receive_close },
	{ "receive_shutdown", receive_shutdown },
	{ "splice_close", splice_close },
	{ NULL, NULL },
};
