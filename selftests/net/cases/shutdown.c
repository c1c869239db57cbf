// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define NEWS_MS 500

static void shutdown_write(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 3000, 0, UP, 0)), 3000);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_error(on(test->client, rq_send(pair.client, 1, 0, UP, 0)), EPIPE);
	expect_ret(on(test->client, rq_sigpipes()), 1);
	expect_error(on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
	expect_ret(on(test->client, rq_sigpipes()), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, -1, 1000, UP, 0)), 3000);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	/* The other direction still works, also for more than any buffer holds. */
	start(test->server, 1, rq_send(pair.server, 700000, 0, DOWN, 0));
	expect_ret(on(test->client, rq_recv_loop(pair.client, 700000, 65536, DOWN, 0)), 700000);
	expect_ret(finish(test->server, 1), 700000);
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
}

/* The same with the server as the one that ends first. */
static void shutdown_write_server(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_send(pair.server, 3000, 0, DOWN, 0)), 3000);
	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_WR)), 0);
	expect_error(on(test->server, rq_send(pair.server, 1, MSG_NOSIGNAL, DOWN, 0)), EPIPE);
	expect_ret(on(test->client, rq_recv_loop(pair.client, -1, 1000, DOWN, 0)), 3000);
	start(test->client, 1, rq_send(pair.client, 700000, 0, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 700000, 65536, UP, 0)), 700000);
	expect_ret(finish(test->client, 1), 700000);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

static void shutdown_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_RD)), 0);
	/* Data that arrived before can still be read. */
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 100);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 0);
	note("events %#llx",
	     (long long)poll_events(test->server, pair.server, POLLIN | POLLOUT | POLLRDHUP, 0));
	/* Sending still works. */
	exchange(test->server, pair.server, test->client, pair.client, 5000, DOWN, 0);
}

static void shutdown_both(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 2000, 0, UP, 0)), 2000);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_RDWR)), 0);
	expect_error(on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, -1, 1000, UP, 0)), 2000);
}

/* A socket that has shut down both ways answers data with a reset; both ends get an error. */
static void data_after_shutdown_both(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_RD)), 0);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_send(pair.server, 100, 0, DOWN, 0)), 100);
	sleep_ms(NEWS_MS);
	note("client %#llx, server %#llx",
	     (long long)poll_events(test->client, pair.client, POLLIN | POLLOUT | POLLRDHUP, 0),
	     (long long)poll_events(test->server, pair.server, POLLIN | POLLOUT | POLLRDHUP, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_error(on(test->server, rq_send(pair.server, 1, 0, DOWN, 0)), EPIPE);
	expect_ret(on(test->server, rq_sigpipes()), 1);
	expect_error(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), ECONNRESET);
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
	expect_error(on(test->client, rq_peername(pair.client)), ENOTCONN);
	reply = on(test->server, rq_get(pair.server, SOL_SOCKET, SO_ERROR, OPTION_INT));
	note("SO_ERROR %lld", (long long)reply.values[0]);
}

/* Data that arrived before can be read. */
static void data_before_shutdown_both(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_send(pair.server, 50, 0, DOWN, 0)), 50);
	expect(poll_events(test->client, pair.client, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_RDWR)), 0);
	expect_ret(on(test->server, rq_send(pair.server, 100, 0, DOWN, 50)), 100);
	sleep_ms(NEWS_MS);
	expect_ret(on(test->client, rq_recv(pair.client, 1000, 0, DOWN, 0)), 50);
	expect_error(on(test->client, rq_recv(pair.client, 1000, 0, DOWN, 0)), ECONNRESET);
}

static void nobody_there(struct host *host, int fd)
{
	expect_error(on(host, rq_peername(fd)), ENOTCONN);
	expect_error(on(host, rq_shutdown(fd, SHUT_WR)), ENOTCONN);
	expect_error(on(host, rq_send(fd, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
	note("events %#llx", (long long)poll_events(host, fd, POLLIN | POLLOUT | POLLRDHUP, 0));
}

/* When both ends have shut down the connection is gone; only data that has arrived can be read. */
static void shutdown_by_both_sides(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_send(pair.server, 70, 0, DOWN, 0)), 70);
	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_WR)), 0);
	sleep_ms(NEWS_MS);
	nobody_there(test->client, pair.client);
	nobody_there(test->server, pair.server);
	expect_ret(on(test->client, rq_recv_loop(pair.client, -1, 30, DOWN, 0)), 70);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

static void shutdown_again(struct test *test)
{
	struct pair pair = connect_pair(test);

	note_reply("bad how", on(test->client, rq_shutdown(pair.client, 7)));
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note_reply("twice", on(test->client, rq_shutdown(pair.client, SHUT_WR)));
	note_reply("then RD", on(test->client, rq_shutdown(pair.client, SHUT_RD)));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_shutdown(pair.server, SHUT_RDWR)), 0);
}

static void shutdown_wakes_reader(struct test *test)
{
	static const int hows[] = { SHUT_RD, SHUT_RDWR };

	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		struct pair pair = connect_pair(test);

		start(test->client, 1, rq_recv(pair.client, 1, 0, DOWN, 0));
		expect(still_running(test->client, 1, 200), "recv did not wait");
		expect_ret(on(test->client, rq_shutdown(pair.client, hows[i])), 0);
		expect(!still_running(test->client, 1, 2000), "shutdown did not end recv");
		expect_ret(finish(test->client, 1), 0);
	}
}

/* A sender that waits for room wakes up when its socket is shut down for writing. */
static void shutdown_wakes_writer(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	start(test->client, 1, rq_send(pair.client, 5000000, MSG_NOSIGNAL, UP, 0));
	expect(still_running(test->client, 1, 700), "send did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect(!still_running(test->client, 1, 3000), "shutdown did not end send");
	reply = finish(test->client, 1);
	/* The bytes that send() counted arrive, then the end; an error says nothing about bytes. */
	expect(reply.ret > 0 || reply.error == EPIPE, "send returned %lld, errno %d",
	       (long long)reply.ret, reply.error);
	if (reply.ret > 0)
		expect_ret(on(test->server, rq_recv_loop(pair.server, -1, 65536, UP, 0)),
			   reply.ret);
}

static void peer_end_wakes_reader(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1, 0, UP, 0));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(finish(test->server, 1), 0);

	start(test->client, 1, rq_recv(pair.client, 1, 0, DOWN, 0));
	expect(still_running(test->client, 1, 200), "recv did not wait");
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_ret(finish(test->client, 1), 0);
}

static void end_is_repeated(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_close(pair.client)), 0);
	for (int i = 0; i < 3; i++)
		expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_PEEK, UP, 0)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_DONTWAIT, UP, 0)), 0);
}

static void names_half_closed(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply mine;
	struct reply theirs;

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	sleep_ms(NEWS_MS);
	mine = expect_ret(on(test->client, rq_sockname(pair.client)), 0);
	theirs = expect_ret(on(test->server, rq_peername(pair.server)), 0);
	expect(address_port(&mine.address) == address_port(&theirs.address), "ports %u and %u",
	       address_port(&mine.address), address_port(&theirs.address));
	theirs = expect_ret(on(test->client, rq_peername(pair.client)), 0);
	expect(address_port(&theirs.address) == address_port(&pair.address), "port %u",
	       address_port(&theirs.address));
}

const struct test_case shutdown_cases[] = {
	{ "shutdown_write", shutdown_write, FATE_SMC },
	{ "shutdown_write_server", shutdown_write_server, FATE_SMC },
	{ "shutdown_read", shutdown_read, FATE_SMC },
	{ "shutdown_both", shutdown_both, FATE_SMC },
	{ "data_after_shutdown_both", data_after_shutdown_both, FATE_SMC },
	{ "data_before_shutdown_both", data_before_shutdown_both, FATE_SMC },
	{ "shutdown_by_both_sides", shutdown_by_both_sides, FATE_SMC },
	{ "shutdown_again", shutdown_again, FATE_SMC },
	{ "shutdown_wakes_reader", shutdown_wakes_reader, FATE_SMC },
	{ "shutdown_wakes_writer", shutdown_wakes_writer, FATE_SMC },
	{ "peer_end_wakes_reader", peer_end_wakes_reader, FATE_SMC },
	{ "end_is_repeated", end_is_repeated, FATE_SMC },
	{ "names_half_closed", names_half_closed, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
