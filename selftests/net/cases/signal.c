// SPDX-License-Identifier: GPL-2.0-only
/* O_ASYNC: SIGIO for what poll() would report. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define NEWS_MS 5000

static void watch(struct host *host, int fd)
{
	expect_ret(on(host, rq_own_signals(fd)), 0);
	expect_ret(on(host, rq_fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK)), 0);
	on(host, rq_signals(SIGIO, 0));
}

/* At least one signal arrives; how many is random. */
static void expect_signal(struct host *host, const char *what)
{
	expect(on(host, rq_signals(SIGIO, NEWS_MS)).ret >= 1, "no SIGIO for %s", what);
	/* Later signals must not count for the next step. */
	sleep_ms(200);
	on(host, rq_signals(SIGIO, 0));
}

static void signal_for_data(struct test *test)
{
	struct pair pair = connect_pair(test);

	watch(test->server, pair.server);
	sleep_ms(200);
	expect_ret(on(test->server, rq_signals(SIGIO, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	expect_signal(test->server, "data");
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 100);
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 100)), 100);
	expect_signal(test->server, "more data");
}

static void signal_for_the_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	watch(test->server, pair.server);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_signal(test->server, "the end");
}

static void signal_for_a_reset(struct test *test)
{
	struct pair pair = connect_pair(test);

	watch(test->server, pair.server);
	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_signal(test->server, "a reset");
}

static void signal_for_room(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled;

	watch(test->client, pair.client);
	filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	expect(filled.error == EAGAIN, "full socket: errno %d", filled.error);
	on(test->client, rq_signals(SIGIO, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 65536, UP, 0)),
		   filled.ret);
	expect_signal(test->client, "room");
}

static void signal_for_a_connection(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	watch(test->server, listener);
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect_signal(test->server, "a connection");
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void signal_for_connect(struct test *test)
{
	struct address address;
	int fd = new_socket(test, test->client, 0);

	new_listener(test, 8, &address);
	watch(test->client, fd);
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect_signal(test->client, "the end of connect()");
	expect(poll_events(test->client, fd, POLLOUT, 5000) == POLLOUT, "not writable");
}

/* A reader that sleeps in recv() gets no SIGIO for its data: the signal would interrupt it. */
static void no_signal_for_a_sleeping_reader(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_own_signals(pair.server)), 0);
	expect_ret(on(test->server, rq_fcntl(pair.server, F_SETFL, O_ASYNC)), 0);
	sleep_ms(200);
	on(test->server, rq_signals(SIGIO, 0));
	start(test->server, 1, rq_recv(pair.server, 100, MSG_WAITALL, UP, 0));
	expect(still_running(test->server, 1, 300), "recv() did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect(still_running(test->server, 1, 300), "MSG_WAITALL did not wait");
	expect_ret(on(test->server, rq_signals(SIGIO, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 90, 0, UP, 10)), 90);
	expect_ret(finish(test->server, 1), 100);
	expect_ret(on(test->server, rq_signals(SIGIO, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 100)), 10);
	expect_signal(test->server, "data that nobody waits for");
}

static void no_signal_without_owner(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_own_signals(pair.server)), 0);
	on(test->server, rq_signals(SIGIO, 0));
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	sleep_ms(300);
	/* O_ASYNC is not set. */
	expect_ret(on(test->server, rq_signals(SIGIO, 0)), 0);
	note_reply("flags", on(test->server, rq_fcntl(pair.server, F_GETFL, 0)));
}

const struct test_case signal_cases[] = {
	{ "signal_for_data", signal_for_data, FATE_SMC },
	{ "signal_for_the_end", signal_for_the_end, FATE_SMC },
	{ "signal_for_a_reset", signal_for_a_reset, FATE_SMC },
	{ "signal_for_room", signal_for_room, FATE_SMC },
	{ "signal_for_a_connection", signal_for_a_connection, FATE_SMC },
	{ "signal_for_connect", signal_for_connect, FATE_UNACCEPTED },
	{ "no_signal_for_a_sleeping_reader", no_signal_for_a_sleeping_reader, FATE_SMC },
	{ "no_signal_without_owner", no_signal_without_owner, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
