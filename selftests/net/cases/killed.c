// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP connection is killed: its error is reported once, as on TCP, and nobody sleeps
 * afterwards.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define ALL_EVENTS (POLLIN | POLLOUT | POLLRDHUP)

static void kill_server(struct test *test, const struct pair *pair)
{
	expect_ret(on(test->server, rq_kill_tcp(pair->server)), 0);
}

static void killed_then_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	kill_server(test, &pair);
	for (int i = 0; i < 3; i++)
		note_reply("here", on(test->server, rq_recv(pair.server, 10, 0, UP, 0)));
	for (int i = 0; i < 3; i++)
		note_reply("there", on(test->client, rq_recv(pair.client, 10, 0, DOWN, 0)));
	note_reply("peek", on(test->client, rq_recv(pair.client, 10, MSG_PEEK, DOWN, 0)));
	note_reply("at once", on(test->client, rq_recv(pair.client, 10, MSG_DONTWAIT, DOWN, 0)));
	note_reply("none", on(test->client, rq_recv(pair.client, 0, 0, DOWN, 0)));
}

static void killed_then_write(struct test *test)
{
	struct pair pair = connect_pair(test);

	kill_server(test, &pair);
	sleep_ms(300);
	for (int i = 0; i < 2; i++)
		note_reply("here",
			   on(test->server, rq_send(pair.server, 10, MSG_NOSIGNAL, DOWN, 0)));
	for (int i = 0; i < 2; i++)
		note_reply("there",
			   on(test->client, rq_send(pair.client, 10, MSG_NOSIGNAL, UP, 0)));
	note_reply("with the signal", on(test->client, rq_send(pair.client, 10, 0, UP, 0)));
	expect_ret(on(test->client, rq_sigpipes()), 1);
}

static void killed_wakes_readers(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 10, 0, UP, 0));
	start(test->client, 1, rq_recv(pair.client, 10, 0, DOWN, 0));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	expect(still_running(test->client, 1, 0), "recv did not wait");
	kill_server(test, &pair);
	expect(!still_running(test->server, 1, 3000), "a reader sleeps on");
	expect(!still_running(test->client, 1, 3000), "a reader at the other side sleeps on");
	note_reply("here", finish(test->server, 1));
	note_reply("there", finish(test->client, 1));
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 0);
	expect_ret(on(test->client, rq_recv(pair.client, 10, 0, DOWN, 0)), 0);
}

/* Two readers: one gets the error, none is left behind. */
static void killed_wakes_all_readers(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 10, 0, UP, 0));
	start(test->server, 2, rq_recv(pair.server, 10, 0, UP, 0));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	kill_server(test, &pair);
	expect(!still_running(test->server, 1, 3000), "the first sleeps on");
	expect(!still_running(test->server, 2, 3000), "the second sleeps on");
	expect((finish(test->server, 1).ret < 0) + (finish(test->server, 2).ret < 0) == 1,
	       "not one error");
}

static void killed_wakes_writers(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	start(test->client, 1, rq_send(pair.client, 5000000, MSG_NOSIGNAL, UP, 0));
	expect(still_running(test->client, 1, 700), "send did not wait");
	kill_server(test, &pair);
	expect(!still_running(test->client, 1, 3000), "a writer sleeps on");
	reply = finish(test->client, 1);
	expect(reply.ret < 5000000, "all was taken");
	/* send() returned a count, so the next call reports the error. */
	note_reply("next", on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)));
	note_reply("and next", on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)));
}

static void killed_events(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = (int)on(test->client, rq_epoll_create()).ret;

	expect_ret(on(test->client, rq_epoll_add(epoll, pair.client, EPOLLIN | EPOLLET)), 0);
	start(test->client, 1, rq_poll(pair.client, POLLIN, 10000));
	start(test->client, 2, rq_epoll_wait(epoll, 10000));
	expect(still_running(test->client, 1, 200), "poll did not wait");
	kill_server(test, &pair);
	note_reply("woken", finish(test->client, 1));
	note_reply("edge", finish(test->client, 2));
	note("there %#llx", (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
	note("here %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	note_reply("SO_ERROR",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_ERROR, OPTION_INT)));
	note("told %#llx", (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
	note_reply("told", on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)));
}

/* Bytes that arrived before can still be read. */
static void killed_behind_data(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_send(pair.server, 500, 0, DOWN, 0)), 500);
	expect(poll_events(test->client, pair.client, POLLIN, 5000) == POLLIN, "nothing came");
	kill_server(test, &pair);
	sleep_ms(300);
	expect_ret(on(test->client, rq_recv(pair.client, 100, 0, DOWN, 0)), 100);
	expect_ret(on(test->client, rq_recv(pair.client, 1000, 0, DOWN, 100)), 400);
	note_reply("then", on(test->client, rq_recv(pair.client, 10, 0, DOWN, 0)));
	note_reply("then", on(test->client, rq_recv(pair.client, 10, 0, DOWN, 0)));
}

static void killed_calls(struct test *test)
{
	struct pair pair = connect_pair(test);

	kill_server(test, &pair);
	sleep_ms(300);
	note_reply("peer's name", on(test->client, rq_peername(pair.client)));
	note_reply("shutdown", on(test->client, rq_shutdown(pair.client, SHUT_WR)));
	note_reply("connect", on(test->client, rq_connect(pair.client, &pair.address)));
	note_reply("listen", on(test->client, rq_listen(pair.client, 1)));
	note_reply("out of band", on(test->client, rq_recv(pair.client, 1, MSG_OOB, DOWN, 0)));
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_close(pair.server)), 0);
}

static void killed_while_lingering(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	expect_ret(on(test->client, rq_set_linger(pair.client, true, 20)), 0);
	on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	kill_server(test, &pair);
	sleep_ms(300);
	reply = expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(reply.elapsed_ms < 5000, "close waited %u ms", reply.elapsed_ms);
}

static void killed_leaves_others_alone(struct test *test)
{
	struct pair first = connect_pair(test);
	struct pair second = connect_pair(test);

	exchange_both(test, &first, 0);
	kill_server(test, &second);
	exchange_both(test, &first, 100);
	expect_ret(on(test->server, rq_close(second.server)), 0);
	expect_ret(on(test->client, rq_close(second.client)), 0);
	exchange_both(test, &first, 200);
}

const struct test_case killed_cases[] = {
	{ "killed_then_read", killed_then_read, FATE_SMC },
	{ "killed_then_write", killed_then_write, FATE_SMC },
	{ "killed_wakes_readers", killed_wakes_readers, FATE_SMC },
	{ "killed_wakes_all_readers", killed_wakes_all_readers, FATE_SMC },
	{ "killed_wakes_writers", killed_wakes_writers, FATE_SMC },
	{ "killed_events", killed_events, FATE_SMC },
	{ "killed_behind_data", killed_behind_data, FATE_SMC },
	{ "killed_calls", killed_calls, FATE_SMC },
	{ "killed_while_lingering", killed_while_lingering, FATE_SMC },
	{ "killed_leaves_others_alone", killed_leaves_others_alone, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
