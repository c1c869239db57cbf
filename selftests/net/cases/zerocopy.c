// SPDX-License-Identifier: GPL-2.0-only
/* MSG_ZEROCOPY: a notification for each send, in order, whether it was copied or not. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define ORIGIN_ZEROCOPY 5
#define CODE_COPIED 1
#define NEWS_MS 5000

static void enable(struct test *test, int fd)
{
	expect_ret(on(test->client, rq_set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1)), 0);
}

/* Notifications for the sends first to last, and no more. */
static void expect_notified(struct test *test, int fd, int first, int last)
{
	int count = last - first + 1;
	struct reply reply =
		expect_ret(on(test->client, rq_error_queue(fd, count, NEWS_MS)), count);

	expect((reply.values[0] & 0xffffffff) == last, "up to %lld, not %d",
	       (long long)(reply.values[0] & 0xffffffff), last);
	expect(reply.values[1] >> 8 == ORIGIN_ZEROCOPY, "origin %lld",
	       (long long)reply.values[1] >> 8);
	/* SMC copies the bytes, and the notification says so. */
	if (test->expect_smc && test->client_mode != MODE_TCP)
		expect((reply.values[1] & 0xff) == CODE_COPIED, "code %lld",
		       (long long)(reply.values[1] & 0xff));
	expect_error(on(test->client, rq_recv(fd, 1, MSG_ERRQUEUE, DOWN, 0)), EAGAIN);
}

static void zerocopy_not_asked_for(struct test *test)
{
	struct pair pair = connect_pair(test);

	note_reply("SO_ZEROCOPY",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_ZEROCOPY, OPTION_INT)));
	expect_ret(on(test->client, rq_send(pair.client, 5000, MSG_ZEROCOPY, UP, 0)), 5000);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 5000, 5000, UP, 0)), 5000);
	sleep_ms(300);
	note("events %#llx", (long long)poll_events(test->client, pair.client, POLLOUT, 0));
	expect_error(on(test->client, rq_recv(pair.client, 1, MSG_ERRQUEUE, DOWN, 0)), EAGAIN);
}

static void zerocopy_completes(struct test *test)
{
	struct pair pair = connect_pair(test);

	enable(test, pair.client);
	note_reply("SO_ZEROCOPY",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_ZEROCOPY, OPTION_INT)));
	expect_ret(on(test->client, rq_send(pair.client, 20000, MSG_ZEROCOPY, UP, 0)), 20000);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 20000, 20000, UP, 0)), 20000);
	expect_notified(test, pair.client, 0, 0);
	note("then %#llx", (long long)poll_events(test->client, pair.client, POLLOUT, 0));
}

static void zerocopy_each_in_order(struct test *test)
{
	struct pair pair = connect_pair(test);
	const int sends = 6;

	enable(test, pair.client);
	for (int i = 0; i < sends; i++) {
		expect_ret(on(test->client,
			      rq_send(pair.client, 3000, MSG_ZEROCOPY, UP, i * 6000)),
			   3000);
		/* Those without the flag are not counted. */
		expect_ret(on(test->client, rq_send(pair.client, 3000, 0, UP, i * 6000 + 3000)),
			   3000);
	}
	expect_ret(on(test->server, rq_recv_loop(pair.server, sends * 6000, 65536, UP, 0)),
		   sends * 6000);
	expect_notified(test, pair.client, 0, sends - 1);
}

static void zerocopy_event(struct test *test)
{
	struct pair pair = connect_pair(test);

	enable(test, pair.client);
	start(test->client, 1, rq_poll(pair.client, POLLPRI, 10000));
	expect(still_running(test->client, 1, 200), "poll did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 9000, MSG_ZEROCOPY, UP, 0)), 9000);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 9000, 9000, UP, 0)), 9000);
	note_reply("woken", finish(test->client, 1));
	/* The error queue is no error of the stream. */
	exchange_both(test, &pair, 9000);
	note_reply("SO_ERROR",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_ERROR, OPTION_INT)));
	expect_notified(test, pair.client, 0, 0);
}

static void zerocopy_large(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	enable(test, pair.client);
	start(test->client, 1, rq_send(pair.client, 700001, MSG_ZEROCOPY, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 700001, 65536, UP, 0)), 700001);
	expect_ret(finish(test->client, 1), 700001);
	expect_notified(test, pair.client, 0, 0);
}

static void zerocopy_of_nothing(struct test *test)
{
	struct pair pair = connect_pair(test);

	enable(test, pair.client);
	expect_ret(on(test->client, rq_send(pair.client, 0, MSG_ZEROCOPY, UP, 0)), 0);
	expect_error(on(test->client, rq_send_bad(pair.client, 0, MSG_ZEROCOPY, UP, 0)), EFAULT);
	expect_error(on(test->client, rq_recv(pair.client, 1, MSG_ERRQUEUE, DOWN, 0)), EAGAIN);
	/* A send() that failed has no notification. */
	expect_ret(on(test->client, rq_send(pair.client, 5000, MSG_ZEROCOPY, UP, 0)), 5000);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 5000, 5000, UP, 0)), 5000);
	expect_notified(test, pair.client, 0, 0);
}

static void zerocopy_after_shutdown(struct test *test)
{
	struct pair pair = connect_pair(test);

	enable(test, pair.client);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_error(on(test->client,
			rq_send(pair.client, 5000, MSG_ZEROCOPY | MSG_NOSIGNAL, UP, 0)),
		     EPIPE);
	expect_error(on(test->client, rq_recv(pair.client, 1, MSG_ERRQUEUE, DOWN, 0)), EAGAIN);
}

const struct test_case zerocopy_cases[] = {
	{ "zerocopy_not_asked_for", zerocopy_not_asked_for, FATE_SMC },
	{ "zerocopy_completes", zerocopy_completes, FATE_SMC },
	{ "zerocopy_each_in_order", zerocopy_each_in_order, FATE_SMC },
	{ "zerocopy_event", zerocopy_event, FATE_SMC },
	{ "zerocopy_large", zerocopy_large, FATE_SMC },
	{ "zerocopy_of_nothing", zerocopy_of_nothing, FATE_SMC },
	{ "zerocopy_after_shutdown", zerocopy_after_shutdown, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
