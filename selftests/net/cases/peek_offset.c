// SPDX-License-Identifier: GPL-2.0-only
/* SO_PEEK_OFF where this kernel's TCP has it; else the same error as TCP's. */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "test.h"

#ifndef SO_PEEK_OFF
#define SO_PEEK_OFF 42
#endif

/* A pair whose server peeks from the offset on; skips the case where TCP has no SO_PEEK_OFF. */
static struct pair peeking_pair(struct test *test, int offset)
{
	struct pair pair = connect_pair(test);
	struct reply reply =
		on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_PEEK_OFF, offset));

	note_reply("set", reply);
	note_reply("get", on(test->server, rq_get(pair.server, SOL_SOCKET, SO_PEEK_OFF,
						  OPTION_INT)));
	if (reply.ret < 0) {
		exchange_both(test, &pair, 0);
		pair.server = -1;
		return pair;
	}
	expect_ret(on(test->client, rq_send(pair.client, 300, 0, UP, 0)), 300);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	return pair;
}

static void note_offset(struct test *test, const struct pair *pair, const char *label)
{
	note_reply(label,
		   on(test->server, rq_get(pair->server, SOL_SOCKET, SO_PEEK_OFF, OPTION_INT)));
}

static void peek_offset_moves(struct test *test)
{
	struct pair pair = peeking_pair(test, 0);

	if (pair.server < 0)
		return;
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 0)), 100);
	note_offset(test, &pair, "after 100");
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 100)), 100);
	expect_ret(on(test->server, rq_recv(pair.server, 500, MSG_PEEK, UP, 200)), 100);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_PEEK | MSG_DONTWAIT, UP, 300)),
		     EAGAIN);
	note_offset(test, &pair, "after all");
	expect_ret(on(test->server, rq_recv(pair.server, 500, 0, UP, 0)), 300);
	note_offset(test, &pair, "read");
}

static void peek_offset_follows_reads(struct test *test)
{
	struct pair pair = peeking_pair(test, 50);

	if (pair.server < 0)
		return;
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 50)), 100);
	expect_ret(on(test->server, rq_recv(pair.server, 30, 0, UP, 0)), 30);
	note_offset(test, &pair, "after 30");
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_PEEK, UP, 150)), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 200, 0, UP, 30)), 200);
	note_offset(test, &pair, "beyond");
	expect_ret(on(test->server, rq_recv(pair.server, 500, MSG_PEEK, UP, 230)), 70);
}

static void peek_offset_off(struct test *test)
{
	struct pair pair = peeking_pair(test, 100);

	if (pair.server < 0)
		return;
	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_PEEK_OFF, -1)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_PEEK, UP, 0)), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_PEEK, UP, 0)), 10);
	note_offset(test, &pair, "off");
}

/* A peek at an offset behind all data waits for more. */
static void peek_offset_waits(struct test *test)
{
	struct pair pair = peeking_pair(test, 310);

	if (pair.server < 0)
		return;
	start(test->server, 1, rq_recv(pair.server, 100, MSG_PEEK, UP, 310));
	expect(still_running(test->server, 1, 300), "the peek did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 300)), 10);
	expect(still_running(test->server, 1, 300), "there is nothing to peek at yet");
	expect_ret(on(test->client, rq_send(pair.client, 20, 0, UP, 310)), 20);
	expect(!still_running(test->server, 1, 3000), "the peek was not woken");
	expect_ret(finish(test->server, 1), 20);
}

static void peek_offset_waitall(struct test *test)
{
	struct pair pair = peeking_pair(test, 250);

	if (pair.server < 0)
		return;
	start(test->server, 1, rq_recv(pair.server, 100, MSG_PEEK | MSG_WAITALL, UP, 250));
	expect(still_running(test->server, 1, 300), "the peek did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 300)), 100);
	expect_ret(finish(test->server, 1), 100);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 400, 1000, UP, 0)), 400);
}

static void peek_offset_and_the_mark(struct test *test)
{
	struct pair pair = peeking_pair(test, 0);

	if (pair.server < 0)
		return;
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 300)), 1);
	expect(poll_events(test->server, pair.server, POLLPRI, 5000) == POLLPRI, "no urgent byte");
	expect_ret(on(test->client, rq_send(pair.client, 50, 0, UP, 301)), 50);
	sleep_ms(200);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_PEEK, UP, 0)), 300);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_PEEK, UP, 301)), 50);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 300);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 301)), 50);
}

/*
 * A peek with MSG_WAITALL that has seen all data ends at the end of the stream, though the data
 * stays.
 */
static void peek_waitall_at_the_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	start(test->server, 1, rq_recv(pair.server, 100, MSG_PEEK | MSG_WAITALL, UP, 0));
	expect(still_running(test->server, 1, 300), "the peek did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect(!still_running(test->server, 1, 5000), "the peek does not see the end");
	expect_ret(finish(test->server, 1), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK | MSG_WAITALL, UP, 0)), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_WAITALL, UP, 0)), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 10)), 0);
}

/*
 * The data nearly fills the buffer, and the rest does not fit: the peek may end early, or get all,
 * but must not wait for a read that never comes.
 */
static void peek_waitall_of_a_full_buffer(struct test *test)
{
	struct pair pair = connect_pair_with(test, (struct pair_options){ 65536, 65536 });
	int64_t left = 60000;
	struct reply peeked;

	expect_ret(on(test->client, rq_send(pair.client, left, 0, UP, 0)), left);
	for (int i = 0; i < 50 && left; i++) {
		left = 60000 - on(test->server, rq_ioctl_int(pair.server, FIONREAD)).values[0];
		sleep_ms(100);
	}
	expect(!left, "%lld bytes have not come", (long long)left);
	start(test->client, 1, rq_send(pair.client, 40000, 0, UP, 60000));
	sleep_ms(300);
	start(test->server, 1, rq_recv(pair.server, 62000, MSG_PEEK | MSG_WAITALL, UP, 0));
	expect(!still_running(test->server, 1, 5000), "the peek waits for ever");
	peeked = finish(test->server, 1);
	expect(peeked.ret >= 60000, "the peek returns %lld", (long long)peeked.ret);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 100000, 65536, UP, 0)), 100000);
	expect_ret(finish(test->client, 1), 40000);
}

static void peek_low_water_at_the_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, 100)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	start(test->server, 1, rq_recv(pair.server, 200, MSG_PEEK, UP, 0));
	expect(!still_running(test->server, 1, 5000), "the peek does not see the end");
	expect_ret(finish(test->server, 1), 10);
}

static void peek_offset_at_the_end(struct test *test)
{
	struct pair pair = peeking_pair(test, 290);

	if (pair.server < 0)
		return;
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK | MSG_WAITALL, UP, 290)),
		   10);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 300)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK | MSG_DONTWAIT, UP, 300)),
		   0);
	expect_ret(on(test->server, rq_recv(pair.server, 500, 0, UP, 0)), 300);
}

/* Set before connect(): CLC messages must not change the offset. */
static void peek_offset_from_the_start(struct test *test, int offset)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);
	int server;

	note_reply("listener",
		   on(test->server, rq_set_int(listener, SOL_SOCKET, SO_PEEK_OFF, offset)));
	note_reply("client", on(test->client, rq_set_int(client, SOL_SOCKET, SO_PEEK_OFF, offset)));
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	expect(server >= 0, "accept");
	note_reply("connected",
		   on(test->client, rq_get(client, SOL_SOCKET, SO_PEEK_OFF, OPTION_INT)));
	note_reply("accepted",
		   on(test->server, rq_get(server, SOL_SOCKET, SO_PEEK_OFF, OPTION_INT)));
	exchange(test->client, client, test->server, server, 1000, UP, 0);
	exchange(test->server, server, test->client, client, 1000, DOWN, 0);
}

static void peek_offset_before_connect(struct test *test)
{
	peek_offset_from_the_start(test, 5);
}

static void peek_offset_of_nothing_before_connect(struct test *test)
{
	peek_offset_from_the_start(test, 0);
}

const struct test_case peek_offset_cases[] = {
	{ "peek_offset_before_connect", peek_offset_before_connect, FATE_SMC },
	{ "peek_offset_of_nothing_before_connect", peek_offset_of_nothing_before_connect,
	  FATE_SMC },
	{ "peek_offset_moves", peek_offset_moves, FATE_SMC },
	{ "peek_offset_follows_reads", peek_offset_follows_reads, FATE_SMC },
	{ "peek_offset_off", peek_offset_off, FATE_SMC },
	{ "peek_offset_waits", peek_offset_waits, FATE_SMC },
	{ "peek_offset_waitall", peek_offset_waitall, FATE_SMC },
	{ "peek_offset_and_the_mark", peek_offset_and_the_mark, FATE_SMC },
	{ "peek_waitall_at_the_end", peek_waitall_at_the_end, FATE_SMC },
	{ "peek_waitall_of_a_full_buffer", peek_waitall_of_a_full_buffer, FATE_SMC },
	{ "peek_low_water_at_the_end", peek_low_water_at_the_end, FATE_SMC },
	{ "peek_offset_at_the_end", peek_offset_at_the_end, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
