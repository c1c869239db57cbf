// SPDX-License-Identifier: GPL-2.0-only
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/stream.h"

#define DIRECTION_UP 0
#define DIRECTION_DOWN 1

/* One direction of one connection, as seen from here. */
struct flow {
	uint64_t seed;
	uint64_t goal_bytes;
	uint64_t done_bytes;
	uint32_t crc;
	void *buffer;
	size_t buffer_bytes;
};

struct connection {
	int fd;
	const struct plan *plan;
	bool closes_first;
	struct flow out;
	struct flow in;
	bool write_shut;
	bool eof;
	uint64_t next_read_ms; /* a slow reader does not read before */
	char error[XFER_ERROR_BYTES];
};

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;

void tally_failure(struct tally *tally, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&tally_lock);
	if (!tally->failures++) {
		va_start(args, format);
		vsnprintf(tally->error, sizeof(tally->error), format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&tally_lock);
}

void tally_read(const struct tally *tally, struct tally *copy)
{
	pthread_mutex_lock(&tally_lock);
	*copy = *tally;
	pthread_mutex_unlock(&tally_lock);
}

int set_buffers(int fd, const struct plan *plan)
{
	if (plan->sndbuf_bytes && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &plan->sndbuf_bytes,
					     sizeof(plan->sndbuf_bytes)) < 0)
		return -errno;
	if (plan->rcvbuf_bytes && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &plan->rcvbuf_bytes,
					     sizeof(plan->rcvbuf_bytes)) < 0)
		return -errno;
	return 0;
}

/* Always false, so that a caller can return it. */
__attribute__((format(printf, 2, 3))) static bool fail(struct connection *connection,
						       const char *format, ...)
{
	va_list args;

	if (!connection->error[0]) {
		va_start(args, format);
		vsnprintf(connection->error, sizeof(connection->error), format, args);
		va_end(args);
	}
	return false;
}

static bool is_would_block(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK;
}

/* One send call. With MSG_DONTWAIT a part may be taken; without, all of it must be. */
static bool send_some(struct connection *connection, int flags)
{
	struct flow *out = &connection->out;
	uint64_t left = out->goal_bytes - out->done_bytes;
	size_t length = left < out->buffer_bytes ? (size_t)left : out->buffer_bytes;
	ssize_t sent;

	stream_fill(out->buffer, length, out->seed, out->done_bytes);
	sent = send(connection->fd, out->buffer, length, flags | MSG_NOSIGNAL);
	if (sent < 0 && (errno == EINTR || ((flags & MSG_DONTWAIT) && is_would_block(errno))))
		return true;
	if (sent < 0)
		return fail(connection, "send after %llu bytes: %s",
			    (unsigned long long)out->done_bytes, strerror(errno));
	if (sent == 0 || (!(flags & MSG_DONTWAIT) && (size_t)sent != length))
		return fail(connection, "blocking send of %zu bytes returned %zd", length, sent);
	out->crc = stream_crc(out->crc, out->buffer, (size_t)sent);
	out->done_bytes += (uint64_t)sent;
	return true;
}

/* One receive call, checked against the stream. */
static bool receive_some(struct connection *connection, int flags)
{
	struct flow *in = &connection->in;
	ssize_t got = recv(connection->fd, in->buffer, in->buffer_bytes, flags);
	size_t matched;

	if (got < 0 && (errno == EINTR || ((flags & MSG_DONTWAIT) && is_would_block(errno))))
		return true;
	if (got < 0)
		return fail(connection, "recv after %llu bytes: %s",
			    (unsigned long long)in->done_bytes, strerror(errno));
	if (got == 0) {
		connection->eof = true;
		if (in->done_bytes != in->goal_bytes)
			return fail(connection, "end of stream after %llu of %llu bytes",
				    (unsigned long long)in->done_bytes,
				    (unsigned long long)in->goal_bytes);
		return true;
	}
	if ((uint64_t)got > in->goal_bytes - in->done_bytes)
		return fail(connection, "%zd bytes after %llu, only %llu were sent", got,
			    (unsigned long long)in->done_bytes,
			    (unsigned long long)in->goal_bytes);
	matched = stream_match(in->buffer, (size_t)got, in->seed, in->done_bytes);
	if (matched != (size_t)got)
		return fail(connection, "wrong byte at offset %llu",
			    (unsigned long long)(in->done_bytes + matched));
	in->crc = stream_crc(in->crc, in->buffer, (size_t)got);
	in->done_bytes += (uint64_t)got;
	if (connection->plan->read_pause_ms)
		connection->next_read_ms = now_ms() + connection->plan->read_pause_ms;
	return true;
}

static bool all_sent(const struct connection *connection)
{
	return connection->out.done_bytes == connection->out.goal_bytes;
}

/* Whether this side has received all that it must before it may close. */
static bool all_received(const struct connection *connection)
{
	if (connection->closes_first && connection->plan->close_how == CLOSE_CLOSE)
		return connection->in.done_bytes == connection->in.goal_bytes;
	return connection->eof;
}

/* Ends sending, where the plan ends it before close(). */
static bool shut_if_due(struct connection *connection)
{
	if (connection->write_shut || !connection->closes_first || !all_sent(connection) ||
	    connection->plan->close_how != CLOSE_SHUTDOWN)
		return true;
	connection->write_shut = true;
	if (shutdown(connection->fd, SHUT_WR) < 0)
		return fail(connection, "shutdown: %s", strerror(errno));
	return true;
}

static bool run_poll(struct connection *connection)
{
	while (shut_if_due(connection) && !(all_sent(connection) && all_received(connection))) {
		struct pollfd poller = { .fd = connection->fd };
		uint64_t now = now_ms();
		int timeout_ms = -1;

		if (connection->error[0])
			return false;
		if (!all_sent(connection))
			poller.events |= POLLOUT;
		if (!all_received(connection)) {
			if (now >= connection->next_read_ms)
				poller.events |= POLLIN;
			else
				timeout_ms = (int)(connection->next_read_ms - now);
		}
		if (!poller.events)
			poller.fd = -1; /* an error would keep poll() from sleeping */
		if (poll(&poller, 1, timeout_ms) < 0 && errno != EINTR)
			return fail(connection, "poll: %s", strerror(errno));
		if (poller.revents & POLLNVAL)
			return fail(connection, "poll: POLLNVAL");
		if ((poller.events & POLLOUT) && (poller.revents & (POLLOUT | POLLERR)) &&
		    !send_some(connection, MSG_DONTWAIT))
			return false;
		if ((poller.events & POLLIN) && (poller.revents & (POLLIN | POLLERR | POLLHUP)) &&
		    !receive_some(connection, MSG_DONTWAIT))
			return false;
	}
	return !connection->error[0];
}

static void *send_all(void *argument)
{
	struct connection *connection = argument;

	while (!all_sent(connection) && send_some(connection, 0))
		;
	shut_if_due(connection);
	return NULL;
}

static bool run_block(struct connection *connection)
{
	pthread_t sender;
	int error;

	error = pthread_create(&sender, NULL, send_all, connection);
	if (error)
		return fail(connection, "thread: %s", strerror(error));
	while (!all_received(connection)) {
		uint64_t now = now_ms();

		if (now < connection->next_read_ms)
			sleep_ms(connection->next_read_ms - now);
		if (!receive_some(connection, 0))
			break;
	}
	if (!all_received(connection))
		shutdown(connection->fd, SHUT_RDWR); /* the sender must not wait for ever */
	pthread_join(sender, NULL);
	return !connection->error[0];
}

static bool flow_init(struct flow *flow, uint64_t seed, uint64_t bytes, uint64_t call_bytes)
{
	flow->seed = seed;
	flow->goal_bytes = bytes;
	flow->buffer_bytes = call_bytes;
	flow->buffer = malloc(call_bytes);
	return flow->buffer;
}

static bool connection_init(struct connection *connection, bool is_client, uint16_t client_port)
{
	const struct plan *plan = connection->plan;
	uint64_t up = stream_seed(plan->seed, client_port, DIRECTION_UP);
	uint64_t down = stream_seed(plan->seed, client_port, DIRECTION_DOWN);

	connection->closes_first =
		plan->closer == CLOSER_BOTH || (plan->closer == CLOSER_CLIENT) == is_client;
	connection->next_read_ms = plan->read_delay_ms ? now_ms() + plan->read_delay_ms : 0;
	if (!flow_init(&connection->out, is_client ? up : down,
		       is_client ? plan->up_bytes : plan->down_bytes, plan->write_bytes) ||
	    !flow_init(&connection->in, is_client ? down : up,
		       is_client ? plan->down_bytes : plan->up_bytes, plan->read_bytes))
		return fail(connection, "out of memory");
	return true;
}

static bool finish(struct connection *connection)
{
	int linger_s = connection->plan->linger_s;
	struct linger linger = { .l_onoff = 1, .l_linger = linger_s };

	if (linger_s >= 0 &&
	    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		fail(connection, "SO_LINGER: %s", strerror(errno));
	if (close(connection->fd) < 0)
		fail(connection, "close: %s", strerror(errno));
	return !connection->error[0];
}

void transfer(int fd, bool is_client, uint16_t client_port, const struct plan *plan,
	      struct tally *tally)
{
	struct connection connection = { .fd = fd, .plan = plan };
	bool good = connection_init(&connection, is_client, client_port);

	if (good)
		good = plan->io == IO_BLOCK ? run_block(&connection) : run_poll(&connection);
	if (!finish(&connection) || !good)
		tally_failure(tally, "%s port %u: %s", is_client ? "client" : "server",
			      client_port, connection.error);

	pthread_mutex_lock(&tally_lock);
	if (!connection.error[0])
		tally->connections++;
	tally->sent_bytes += connection.out.done_bytes;
	tally->received_bytes += connection.in.done_bytes;
	tally->sent_crc ^= connection.out.crc;
	tally->received_crc ^= connection.in.crc;
	pthread_mutex_unlock(&tally_lock);
	free(connection.out.buffer);
	free(connection.in.buffer);
}
