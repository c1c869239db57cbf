// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define ALL_EVENTS (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)
/* Long enough for an event to cross the wire, also where the hosts are emulated. */
#define NEWS_MS 500

static void poll_states(struct test *test)
{
	struct pair pair = connect_pair(test);

	note("connected %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	note("data %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 10);
	note("read %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	sleep_ms(NEWS_MS);
	note("half closed, here %#llx",
	     (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
	note("half closed, there %#llx",
	     (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_WR)), 0);
	sleep_ms(NEWS_MS);
	note("closed, here %#llx",
	     (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
	note("closed, there %#llx",
	     (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
}

static void poll_after_peer_close(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(poll_events(test->server, pair.server, POLLIN, 5000), "no event");
	note("peer closed %#llx",
	     (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
}

static void poll_after_reset(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	sleep_ms(NEWS_MS);
	note("reset %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 5000));
	note("reset, no events asked %#llx",
	     (long long)poll_events(test->server, pair.server, 0, 0));
	reply = expect_ret(on(test->server, rq_get(pair.server, SOL_SOCKET, SO_ERROR, OPTION_INT)),
			   0);
	expect(reply.values[0] == ECONNRESET, "SO_ERROR %lld", (long long)reply.values[0]);
	note("error taken %#llx",
	     (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
}

static void poll_wakes(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_poll(pair.server, POLLIN, 10000));
	start(test->server, 2, rq_select(pair.server, 10000));
	expect(still_running(test->server, 1, 200), "poll did not wait");
	/* select() asks for writing as well, so it returns at once. */
	note_reply("idle", finish(test->server, 2));
	expect_ret(on(test->client, rq_send(pair.client, 1, 0, UP, 0)), 1);
	note_reply("data", finish(test->server, 1));
	note_reply("data", on(test->server, rq_select(pair.server, 0)));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 1);
	start(test->server, 1, rq_poll(pair.server, POLLRDHUP, 10000));
	expect(still_running(test->server, 1, 200), "poll did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note_reply("end", finish(test->server, 1));
}

static void poll_timeout(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply = expect_ret(on(test->server, rq_poll(pair.server, POLLIN, 400)), 0);

	expect(reply.elapsed_ms >= 350 && reply.elapsed_ms < 2000, "poll took %u ms",
	       reply.elapsed_ms);
}

static int64_t epoll_events(struct host *host, int epoll, int timeout_ms)
{
	struct reply reply = on(host, rq_epoll_wait(epoll, timeout_ms));

	expect(reply.ret >= 0, "epoll_wait: errno %d", reply.error);
	return reply.values[0];
}

static int new_epoll(struct host *host, int fd, int64_t events)
{
	int epoll = (int)on(host, rq_epoll_create()).ret;

	expect_ret(on(host, rq_epoll_add(epoll, fd, events)), 0);
	return epoll;
}

static void epoll_level(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN | EPOLLRDHUP);

	expect(epoll_events(test->server, epoll, 0) == 0, "an early event");
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect(epoll_events(test->server, epoll, 5000) == EPOLLIN, "nothing came");
	expect(epoll_events(test->server, epoll, 0) == EPOLLIN, "level-triggered, but once only");
	expect_ret(on(test->server, rq_recv(pair.server, 4, 0, UP, 0)), 4);
	expect(epoll_events(test->server, epoll, 0) == EPOLLIN, "6 bytes are left");
	expect_ret(on(test->server, rq_recv(pair.server, 6, 0, UP, 4)), 6);
	expect(epoll_events(test->server, epoll, 0) == 0, "an event without data");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note("end %#llx", (long long)epoll_events(test->server, epoll, 5000));
}

static void epoll_edge(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = new_epoll(test->server, pair.server, EPOLLIN | EPOLLRDHUP | EPOLLET);

	expect(epoll_events(test->server, epoll, 0) == 0, "an early event");
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect(epoll_events(test->server, epoll, 5000) == EPOLLIN, "nothing came");
	expect(epoll_events(test->server, epoll, NEWS_MS) == 0, "edge-triggered, but twice");
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 10)), 10);
	expect(epoll_events(test->server, epoll, 5000) == EPOLLIN, "no event for more data");
	expect_ret(on(test->server, rq_recv(pair.server, 20, MSG_WAITALL, UP, 0)), 20);
	expect(epoll_events(test->server, epoll, NEWS_MS) == 0, "an event without data");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note("end %#llx", (long long)epoll_events(test->server, epoll, 5000));
}

/* Draining a full socket gives an edge, or an edge-triggered writer would hang. */
static void epoll_edge_out(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int epoll = new_epoll(test->client, pair.client, EPOLLOUT | EPOLLET);
	struct reply filled;

	expect(epoll_events(test->client, epoll, 0) == EPOLLOUT, "not writable when connected");
	expect(epoll_events(test->client, epoll, 0) == 0, "writable twice");
	filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	expect(filled.error == EAGAIN, "full socket: errno %d", filled.error);
	while (epoll_events(test->client, epoll, 0))
		; /* edges from the time of filling */
	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 30000, UP, 0)),
		   filled.ret);
	expect(epoll_events(test->client, epoll, 5000) == EPOLLOUT, "no edge after draining");
	expect(on(test->client, rq_send(pair.client, 1, MSG_DONTWAIT, UP, filled.ret)).ret == 1,
	       "the edge promised room");
}

/* EPOLLOUT promises room for at least a fifth of the buffer, not for a byte or two. */
static void pollout_threshold(struct test *test)
{
	const int64_t piece = 65536 / 5;
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled = on(test->client, rq_send_fill(pair.client, 7777, UP, 0));
	int64_t sent = filled.ret;
	int64_t received = 0;
	int writable = 0;

	expect(filled.error == EAGAIN, "full socket: errno %d", filled.error);
	expect(poll_events(test->client, pair.client, POLLOUT, 0) == 0, "full, but writable");
	while (received < filled.ret) {
		int64_t step = filled.ret - received < 3000 ? filled.ret - received : 3000;
		struct reply reply;

		expect_ret(on(test->server, rq_recv_loop(pair.server, step, step, UP, received)),
			   step);
		received += step;
		if (!poll_events(test->client, pair.client, POLLOUT, 50))
			continue;
		writable++;
		reply = on(test->client, rq_send(pair.client, 100000, MSG_DONTWAIT, UP, sent));
		expect(reply.ret >= piece, "writable, but %lld bytes taken (errno %d)",
		       (long long)reply.ret, reply.error);
		sent += reply.ret;
	}
	expect_ret(
		on(test->server, rq_recv_loop(pair.server, sent - received, 30000, UP, received)),
		sent - received);
	expect(writable || poll_events(test->client, pair.client, POLLOUT, 5000) == POLLOUT,
	       "never writable again");
}

/* When the socket is full, poll, select, epoll and send() agree. */
static void full_socket_is_not_writable(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int epoll = new_epoll(test->client, pair.client, EPOLLOUT);
	struct reply filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));

	expect(filled.error == EAGAIN, "full socket: errno %d", filled.error);
	expect(poll_events(test->client, pair.client, POLLOUT, 300) == 0, "poll: writable");
	expect(epoll_events(test->client, epoll, 0) == 0, "epoll: writable");
	note_reply("full", on(test->client, rq_select(pair.client, 0)));
	start(test->client, 1, rq_poll(pair.client, POLLOUT, 10000));
	expect(still_running(test->client, 1, 200), "poll did not wait");
	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 30000, UP, 0)),
		   filled.ret);
	note_reply("drained", finish(test->client, 1));
}

const struct test_case poll_cases[] = {
	{ "poll_states", poll_states, FATE_SMC },
	{ "poll_after_peer_close", poll_after_peer_close, FATE_SMC },
	{ "poll_after_reset", poll_after_reset, FATE_SMC },
	{ "poll_wakes", poll_wakes, FATE_SMC },
	{ "poll_timeout", poll_timeout, FATE_SMC },
	{ "epoll_level", epoll_level, FATE_SMC },
	{ "epoll_edge", epoll_edge, FATE_SMC },
	{ "epoll_edge_out", epoll_edge_out, FATE_SMC },
	{ "pollout_threshold", pollout_threshold, FATE_SMC },
	{ "full_socket_is_not_writable", full_socket_is_not_writable, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
