// SPDX-License-Identifier: GPL-2.0-only
/* SO_RCVLOWAT: how much a reader and a poller wait for. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "test.h"

static struct pair waiting_pair(struct test *test, int bytes)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, bytes)), 0);
	return pair;
}

static void low_water_values(struct test *test)
{
	static const int values[] = { 1, 0, 100, 1000, 20000, -1, 0x7fffffff };
	int fd = new_socket(test, test->client, 0);

	note_reply("default", on(test->client, rq_get(fd, SOL_SOCKET, SO_RCVLOWAT, OPTION_INT)));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		note_reply("set",
			   on(test->client, rq_set_int(fd, SOL_SOCKET, SO_RCVLOWAT, values[i])));
		note_reply("get",
			   on(test->client, rq_get(fd, SOL_SOCKET, SO_RCVLOWAT, OPTION_INT)));
	}
	note_reply("SO_SNDLOWAT", on(test->client, rq_set_int(fd, SOL_SOCKET, SO_SNDLOWAT, 100)));
	note_reply("SO_SNDLOWAT",
		   on(test->client, rq_get(fd, SOL_SOCKET, SO_SNDLOWAT, OPTION_INT)));
}

static void low_water_of_a_connection(struct test *test)
{
	static const int values[] = { 1, 0, 100, 1000, 20000 };
	struct pair pair = connect_pair(test);

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		note_reply("set", on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT,
							      values[i])));
		note_reply("get", on(test->server, rq_get(pair.server, SOL_SOCKET, SO_RCVLOWAT,
							  OPTION_INT)));
	}
	exchange(test->server, pair.server, test->client, pair.client, 1000, DOWN, 0);
}

static void low_water_holds_a_read(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	start(test->server, 1, rq_recv(pair.server, 1000, 0, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	expect(still_running(test->server, 1, 300), "recv did not wait for 100 bytes");
	/*
	 * TCP wakes a reader only when as many bytes as the mark are new, whatever it has read
	 * already.
	 */
	expect_ret(on(test->client, rq_send(pair.client, 140, 0, UP, 60)), 140);
	expect_ret(finish(test->server, 1), 200);
}

/* The reader asks for fewer bytes than the mark. */
static void low_water_above_the_length(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	expect_ret(on(test->server, rq_recv(pair.server, 60, 0, UP, 0)), 60);
}

static void low_water_dontwait(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	sleep_ms(300);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_DONTWAIT, UP, 0)), 60);
}

static void low_water_holds_poll(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);
	int epoll = (int)on(test->server, rq_epoll_create()).ret;

	expect_ret(on(test->server, rq_epoll_add(epoll, pair.server, EPOLLIN)), 0);
	start(test->server, 1, rq_poll(pair.server, POLLIN, 10000));
	start(test->server, 2, rq_epoll_wait(epoll, 10000));
	expect_ret(on(test->client, rq_send(pair.client, 99, 0, UP, 0)), 99);
	expect(still_running(test->server, 1, 400), "readable below the mark");
	expect(still_running(test->server, 2, 0), "readable below the mark");
	note_reply("below", on(test->server, rq_select(pair.server, 0)));
	expect_ret(on(test->client, rq_send(pair.client, 1, 0, UP, 99)), 1);
	note_reply("reached", finish(test->server, 1));
	note_reply("reached", finish(test->server, 2));
	expect_ret(on(test->server, rq_recv(pair.server, 50, 0, UP, 0)), 50);
	note("below again %#llx",
	     (long long)poll_events(test->server, pair.server, POLLIN | POLLOUT, 0));
}

/* The mark is lowered below what has arrived: the reader wakes up. */
static void low_water_lowered(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);
	int epoll = (int)on(test->server, rq_epoll_create()).ret;

	expect_ret(on(test->server, rq_epoll_add(epoll, pair.server, EPOLLIN)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	start(test->server, 1, rq_poll(pair.server, POLLIN, 10000));
	start(test->server, 2, rq_epoll_wait(epoll, 10000));
	expect(still_running(test->server, 1, 400), "readable below the mark");
	expect(still_running(test->server, 2, 0), "readable below the mark");
	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, 60)), 0);
	note_reply("lowered", finish(test->server, 1));
	note_reply("lowered", finish(test->server, 2));
}

static void low_water_at_the_end(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	start(test->server, 1, rq_recv(pair.server, 1000, 0, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	expect(still_running(test->server, 1, 300), "recv did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(finish(test->server, 1), 60);
	note("end %#llx", (long long)poll_events(test->server, pair.server,
						 POLLIN | POLLOUT | POLLRDHUP, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 60)), 0);
}

static void low_water_timeout(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	expect_ret(on(test->server, rq_set_timeout(pair.server, SO_RCVTIMEO, 500)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	sleep_ms(200);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 60);
	expect_error(on(test->server, rq_recv(pair.server, 1000, 0, UP, 60)), EAGAIN);
}

static void low_water_peek(struct test *test)
{
	struct pair pair = waiting_pair(test, 100);

	start(test->server, 1, rq_recv(pair.server, 1000, MSG_PEEK, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 60, 0, UP, 0)), 60);
	expect(still_running(test->server, 1, 300), "the peek did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 40, 0, UP, 60)), 40);
	expect_ret(finish(test->server, 1), 100);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 100);
}

/* During the handshake, bytes in TCP's queue are not the user's, and do not count. */
static void low_water_while_it_connects(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	note_reply("set", on(test->client, rq_set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 20000)));
	expect(poll_events(test->client, fd, POLLOUT, 3000) == POLLOUT, "not connected");
	note_reply("get", on(test->client, rq_get(fd, SOL_SOCKET, SO_RCVLOWAT, OPTION_INT)));
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

const struct test_case low_water_cases[] = {
	{ "low_water_values", low_water_values, FATE_NONE },
	{ "low_water_of_a_connection", low_water_of_a_connection, FATE_SMC },
	{ "low_water_holds_a_read", low_water_holds_a_read, FATE_SMC },
	{ "low_water_above_the_length", low_water_above_the_length, FATE_SMC },
	{ "low_water_dontwait", low_water_dontwait, FATE_SMC },
	{ "low_water_holds_poll", low_water_holds_poll, FATE_SMC },
	{ "low_water_lowered", low_water_lowered, FATE_SMC },
	{ "low_water_at_the_end", low_water_at_the_end, FATE_SMC },
	{ "low_water_timeout", low_water_timeout, FATE_SMC },
	{ "low_water_peek", low_water_peek, FATE_SMC },
	{ "low_water_while_it_connects", low_water_while_it_connects, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
