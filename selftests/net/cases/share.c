// SPDX-License-Identifier: GPL-2.0-only
/* One socket in several threads, descriptors and processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "test.h"

#define ACTORS 4

static void dup_shares(struct test *test)
{
	struct pair pair = connect_pair(test);
	int copy = (int)on(test->client, rq_dup(pair.client)).ret;

	expect(copy >= 0, "dup");
	exchange(test->client, copy, test->server, pair.server, 1000, UP, 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	exchange(test->client, copy, test->server, pair.server, 1000, UP, 1000);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
	expect_ret(on(test->client, rq_close(copy)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

static void fork_shares(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct host *child = fork_host(test->client);

	exchange(child, pair.client, test->server, pair.server, 1000, UP, 0);
	exchange(test->server, pair.server, test->client, pair.client, 1000, DOWN, 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	exchange(child, pair.client, test->server, pair.server, 1000, UP, 1000);
	exchange(test->server, pair.server, child, pair.client, 1000, DOWN, 1000);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
	/* Closing the last copy ends the connection. */
	exit_process(child);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

/* A parent accepts and hands the connection to a child, as servers do. */
static void fork_serves(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	for (int i = 0; i < 3; i++) {
		int fd = new_socket(test, test->client, 0);
		struct host *child;
		struct reply reply;

		expect_ret(on(test->client, rq_connect(fd, &address)), 0);
		reply = on(test->server, rq_accept(listener, 0));
		expect(reply.ret >= 0, "accept: errno %d", reply.error);
		child = fork_host(test->server);
		expect_ret(on(test->server, rq_close((int)reply.ret)), 0);
		exchange(test->client, fd, child, (int)reply.ret, 5000, UP, 0);
		exchange(child, (int)reply.ret, test->client, fd, 5000, DOWN, 0);
		exit_process(child);
		expect_ret(on(test->client, rq_recv(fd, 1, 0, DOWN, 0)), 0);
	}
}

static void fork_accepts(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct host *child = fork_host(test->server);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->server, rq_close(listener)), 0);
	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	reply = on(child, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, child, (int)reply.ret, 5000, UP, 0);
}

/* Several threads send: every byte arrives once. Calls may mix, but no byte is lost. */
static void threads_send(struct test *test)
{
	const int64_t each = 100000;
	struct pair pair = connect_pair(test);

	for (int i = 1; i <= ACTORS; i++)
		start(test->client, i, rq_send_loop(pair.client, each, 4001, 10 + i, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, ACTORS * each, 65536, SEED_ANY, 0)),
		   ACTORS * each);
	for (int i = 1; i <= ACTORS; i++)
		expect_ret(finish(test->client, i), each);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

static void threads_receive(struct test *test)
{
	const int64_t total = 400000;
	struct pair pair = connect_pair(test);
	int64_t received = 0;

	for (int i = 1; i <= ACTORS; i++)
		start(test->server, i, rq_recv_loop(pair.server, -1, 5000, SEED_ANY, 0));
	expect_ret(on(test->client, rq_send_loop(pair.client, total, 30000, UP, 0)), total);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	for (int i = 1; i <= ACTORS; i++)
		received += finish(test->server, i).ret;
	expect(received == total, "%lld of %lld bytes", (long long)received, (long long)total);
}

static void threads_accept(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	for (int i = 1; i <= ACTORS; i++)
		start(test->server, i, rq_accept(listener, 0));
	for (int i = 0; i < ACTORS; i++)
		expect_ret(
			on(test->client, rq_connect(new_socket(test, test->client, 0), &address)),
			0);
	for (int i = 1; i <= ACTORS; i++)
		expect(finish(test->server, i).ret >= 0, "accept %d", i);
}

/* Several connections between the same two processes do not mix. */
static void connections_are_apart(struct test *test)
{
	struct pair pairs[ACTORS];

	for (int i = 0; i < ACTORS; i++)
		pairs[i] = connect_pair(test);
	for (int i = 0; i < ACTORS; i++) {
		start(test->client, i + 1, rq_send_loop(pairs[i].client, 200000, 7001, 50 + i, 0));
		start(test->server, i + 1, rq_recv_loop(pairs[i].server, 200000, 9001, 50 + i, 0));
	}
	for (int i = 0; i < ACTORS; i++) {
		expect_ret(finish(test->client, i + 1), 200000);
		expect_ret(finish(test->server, i + 1), 200000);
	}
}

/* A reset of one connection does not affect the others. */
static void reset_leaves_others_alone(struct test *test)
{
	struct pair first = connect_pair(test);
	struct pair second = connect_pair(test);

	start(test->server, 1, rq_recv_loop(first.server, 300000, 10000, UP, 0));
	expect_ret(on(test->client, rq_send(first.client, 100000, 0, UP, 0)), 100000);
	expect_ret(on(test->client, rq_send(second.client, 1000, 0, UP, 0)), 1000);
	expect_ret(on(test->client, rq_set_linger(second.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(second.client)), 0);
	expect_ret(on(test->client, rq_send(first.client, 200000, 0, UP, 100000)), 200000);
	expect_ret(finish(test->server, 1), 300000);
}

const struct test_case share_cases[] = {
	{ "dup_shares", dup_shares, FATE_SMC },
	{ "fork_shares", fork_shares, FATE_SMC },
	{ "fork_serves", fork_serves, FATE_SMC },
	{ "fork_accepts", fork_accepts, FATE_SMC },
	{ "threads_send", threads_send, FATE_SMC },
	{ "threads_receive", threads_receive, FATE_SMC },
	{ "threads_accept", threads_accept, FATE_SMC },
	{ "connections_are_apart", connections_are_apart, FATE_SMC },
	{ "reset_leaves_others_alone", reset_leaves_others_alone, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
