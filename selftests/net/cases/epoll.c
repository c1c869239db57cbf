// SPDX-License-Identifier: GPL-2.0-only
/* epoll's modes, and what it says of a connection's whole life. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "test.h"

#define NEWS_MS 500
#define EVERYTHING (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP)

static int new_epoll(struct host *host, int fd, int64_t events)
{
	int epoll = (int)on(host, rq_epoll_create()).ret;

	expect_ret(on(host, rq_epoll_add(epoll, fd, events)), 0);
	return epoll;
}

static void epoll_one_shot(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN | EPOLLONESHOT);

	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	note_reply("first", on(test->server, rq_epoll_wait(epoll, 5000)));
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 10)), 10);
	note_reply("spent", on(test->server, rq_epoll_wait(epoll, NEWS_MS)));
	expect_ret(on(test->server, rq_epoll_mod(epoll, pair.server, EPOLLIN | EPOLLONESHOT)), 0);
	note_reply("armed again", on(test->server, rq_epoll_wait(epoll, 5000)));
}

static void epoll_changed_events(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN);

	note_reply("in", on(test->server, rq_epoll_wait(epoll, 0)));
	expect_ret(on(test->server, rq_epoll_mod(epoll, pair.server, EPOLLOUT)), 0);
	note_reply("out", on(test->server, rq_epoll_wait(epoll, 0)));
	expect_ret(on(test->server, rq_epoll_mod(epoll, pair.server, 0)), 0);
	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	note_reply("nothing asked", on(test->server, rq_epoll_wait(epoll, 5000)));
}

static void epoll_edge_listener(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int epoll = new_epoll(test->server, listener, EPOLLIN | EPOLLET);

	expect_ret(on(test->server, rq_fcntl(listener, F_SETFL, O_NONBLOCK)), 0);
	note_reply("idle", on(test->server, rq_epoll_wait(epoll, 0)));
	for (int i = 0; i < 3; i++) {
		expect_ret(on(test->client,
			      rq_connect(new_socket(test, test->client, 0), &address)),
			   0);
		expect(on(test->server, rq_epoll_wait(epoll, 5000)).values[0] == EPOLLIN,
		       "no edge for connection %d", i);
		expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
		expect_error(on(test->server, rq_accept(listener, 0)), EAGAIN);
	}
}

static void epoll_exclusive_listener(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int first = new_epoll(test->server, listener, EPOLLIN | EPOLLEXCLUSIVE);
	int second = new_epoll(test->server, listener, EPOLLIN | EPOLLEXCLUSIVE);
	int woken;

	start(test->server, 1, rq_epoll_wait(first, 3000));
	start(test->server, 2, rq_epoll_wait(second, 3000));
	expect(still_running(test->server, 1, 200), "epoll did not wait");
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	woken = (int)(finish(test->server, 1).ret + finish(test->server, 2).ret);
	expect(woken >= 1, "nobody was woken");
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

/* After both ends have shut down, epoll reports EPOLLHUP, which nobody asks for. */
static void epoll_hangup(struct test *test)
{
	struct pair pair = connect_pair(test);
	int nothing = new_epoll(test->server, pair.server, 0);
	int room = new_epoll(test->server, pair.server, EPOLLOUT | EPOLLET);

	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_WR)), 0);
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
	note_reply("half", on(test->server, rq_epoll_wait(nothing, NEWS_MS)));
	note_reply("half", on(test->server, rq_epoll_wait(room, NEWS_MS)));
	start(test->server, 1, rq_epoll_wait(nothing, 5000));
	start(test->server, 2, rq_epoll_wait(room, 5000));
	start(test->server, 3, rq_poll(pair.server, 0, 5000));
	expect(still_running(test->server, 1, 200), "epoll did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note_reply("hangup", finish(test->server, 1));
	note_reply("hangup for room", finish(test->server, 2));
	note_reply("hangup polled", finish(test->server, 3));
}

/* SO_OOBINLINE is set after epoll has looked, and before the byte arrives. */
static void epoll_edge_urgent_in_line(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN | EPOLLET);

	expect_ret(on(test->server, rq_epoll_wait(epoll, 0)), 0);
	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_OOBINLINE, 1)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 0)), 1);
	expect(on(test->server, rq_epoll_wait(epoll, 5000)).values[0] == EPOLLIN, "no edge");
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 1);
}

/* Events in the order of a connection's life; passing ones are not compared. */
static void epoll_life(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);
	int epoll = new_epoll(test->client, fd, EVERYTHING);
	int server;

	note_reply("fresh", on(test->client, rq_epoll_wait(epoll, 0)));
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect(poll_events(test->client, fd, POLLOUT, 5000) == POLLOUT, "not writable");
	note_reply("connected", on(test->client, rq_epoll_wait(epoll, 0)));
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	expect_ret(on(test->server, rq_send(server, 10, 0, DOWN, 0)), 10);
	expect(poll_events(test->client, fd, POLLIN, 5000) == POLLIN, "nothing came");
	note_reply("data", on(test->client, rq_epoll_wait(epoll, 0)));
	expect_ret(on(test->server, rq_shutdown(server, SHUT_WR)), 0);
	expect(poll_events(test->client, fd, POLLRDHUP, 5000) == POLLRDHUP, "no end");
	note_reply("end", on(test->client, rq_epoll_wait(epoll, 0)));
	expect_ret(on(test->client, rq_recv(fd, 10, 0, DOWN, 0)), 10);
	note_reply("read", on(test->client, rq_epoll_wait(epoll, 0)));
	expect_ret(on(test->client, rq_shutdown(fd, SHUT_WR)), 0);
	sleep_ms(NEWS_MS);
	note_reply("both", on(test->client, rq_epoll_wait(epoll, 0)));
}

static void epoll_refused(struct test *test)
{
	struct address address = closed_port(test);
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);
	int epoll = new_epoll(test->client, fd, EVERYTHING | EPOLLET);

	on(test->client, rq_epoll_wait(epoll, 0));
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect_ret(on(test->client, rq_epoll_wait(epoll, 5000)), 1);
	note("lasts %#llx", (long long)poll_events(test->client, fd, POLLIN | POLLOUT, 0));
}

/* A descriptor is closed while epoll holds it; a duplicate keeps the connection. */
static void epoll_and_dup(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN);
	int copy = (int)on(test->server, rq_dup(pair.server)).ret;

	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	note_reply("still there", on(test->server, rq_epoll_wait(epoll, 5000)));
	expect_ret(on(test->server, rq_recv(copy, 10, 0, UP, 0)), 10);
	expect_ret(on(test->server, rq_close(copy)), 0);
	note_reply("gone", on(test->server, rq_epoll_wait(epoll, NEWS_MS)));
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
}

/* Waiting begins before the socket has even begun to connect. */
static void epoll_before_connect(struct test *test)
{
	struct address address;
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);
	int epoll = new_epoll(test->client, fd, EPOLLIN | EPOLLET);

	new_listener(test, 8, &address);
	note_reply("fresh", on(test->client, rq_epoll_wait(epoll, 0)));
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect(poll_events(test->client, fd, POLLOUT, 5000) == POLLOUT, "not writable");
	note_reply("pending", on(test->client, rq_epoll_wait(epoll, 0)));
}

const struct test_case epoll_cases[] = {
	{ "epoll_one_shot", epoll_one_shot, FATE_SMC },
	{ "epoll_changed_events", epoll_changed_events, FATE_SMC },
	{ "epoll_edge_listener", epoll_edge_listener, FATE_SMC },
	{ "epoll_exclusive_listener", epoll_exclusive_listener, FATE_SMC },
	{ "epoll_edge_urgent_in_line", epoll_edge_urgent_in_line, FATE_SMC },
	{ "epoll_hangup", epoll_hangup, FATE_SMC },
	{ "epoll_life", epoll_life, FATE_SMC },
	{ "epoll_refused", epoll_refused, FATE_NONE },
	{ "epoll_and_dup", epoll_and_dup, FATE_SMC },
	{ "epoll_before_connect", epoll_before_connect, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
