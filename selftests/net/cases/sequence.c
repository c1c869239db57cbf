// SPDX-License-Identifier: GPL-2.0-only
/* Sequences of steps that many cases begin with. */
#include <errno.h>

#include "host.h"
#include "test.h"

#define BACKLOG 64

int new_socket(struct test *test, struct host *host, int type_flags)
{
	struct reply reply = on(host, rq_socket(test, host, type_flags));

	expect(reply.ret >= 0, "socket at %s: errno %d", host->name, reply.error);
	return (int)reply.ret;
}

static void set_buffers(struct host *host, int fd, struct pair_options options)
{
	if (options.sndbuf_bytes)
		expect_ret(on(host, rq_set_int(fd, SOL_SOCKET, SO_SNDBUF, options.sndbuf_bytes)),
			   0);
	if (options.rcvbuf_bytes)
		expect_ret(on(host, rq_set_int(fd, SOL_SOCKET, SO_RCVBUF, options.rcvbuf_bytes)),
			   0);
}

static int listener_with(struct test *test, int backlog, struct address *address,
			 struct pair_options options)
{
	int fd = new_socket(test, test->server, 0);
	struct address any;
	struct reply reply;

	set_buffers(test->server, fd, options);
	address_make(&any, test->family, NULL, 0);
	expect_ret(on(test->server, rq_bind(fd, &any)), 0);
	expect_ret(on(test->server, rq_listen(fd, backlog)), 0);
	reply = expect_ret(on(test->server, rq_sockname(fd)), 0);
	*address = test->server_address;
	address_set_port(address, address_port(&reply.address));
	return fd;
}

int new_listener(struct test *test, int backlog, struct address *address)
{
	return listener_with(test, backlog, address, (struct pair_options){ 0, 0 });
}

int connect_in_background(struct test *test, const struct address *address)
{
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);

	expect_error(on(test->client, rq_connect(fd, address)), EINPROGRESS);
	return fd;
}

struct pair connect_pair_with(struct test *test, struct pair_options options)
{
	struct pair pair;
	struct reply reply;

	pair.listener = listener_with(test, BACKLOG, &pair.address, options);
	pair.client = new_socket(test, test->client, 0);
	set_buffers(test->client, pair.client, options);
	expect_ret(on(test->client, rq_connect(pair.client, &pair.address)), 0);
	reply = on(test->server, rq_accept(pair.listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	pair.server = (int)reply.ret;
	return pair;
}

struct pair connect_pair(struct test *test)
{
	return connect_pair_with(test, (struct pair_options){ 0, 0 });
}

struct address closed_port(struct test *test)
{
	struct address address;
	int fd = new_listener(test, 1, &address);

	expect_ret(on(test->server, rq_close(fd)), 0);
	return address;
}

void exchange(struct host *from, int from_fd, struct host *to, int to_fd, int64_t length,
	      int64_t seed, int64_t offset)
{
	start(to, 1, rq_recv_loop(to_fd, length, length, seed, offset));
	expect_ret(on(from, rq_send(from_fd, length, 0, seed, offset)), length);
	expect_ret(finish(to, 1), length);
}

void exchange_both(struct test *test, const struct pair *pair, int64_t offset)
{
	exchange(test->client, pair->client, test->server, pair->server, 100, UP, offset);
	exchange(test->server, pair->server, test->client, pair->client, 100, DOWN, offset);
}

int64_t poll_events(struct host *host, int fd, int events, int timeout_ms)
{
	struct reply reply = on(host, rq_poll(fd, events, timeout_ms));

	expect(reply.ret >= 0, "poll: errno %d", reply.error);
	return reply.values[0];
}
