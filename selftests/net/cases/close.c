// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })
#define NEWS_MS 500
/* Longer than the 2 s that the kernel's own module waits before it gives data up. */
#define SLOW_READER_MS 3500
/* Fits into the buffers of both sides together, not into the receiver's alone. */
#define IN_FLIGHT_BYTES 100000

enum ending { ENDING_CLOSE, ENDING_SHUTDOWN, ENDING_EXIT };

/*
 * The sender is done long before the reader begins: every byte that send() took must come,
 * then the end of the stream.
 */
static void end_in_flight(struct test *test, enum ending ending, bool server_sends)
{
	struct pair pair = connect_pair(test);
	struct host *from = server_sends ? test->server : test->client;
	struct host *to = server_sends ? test->client : test->server;
	int from_fd = server_sends ? pair.server : pair.client;
	int to_fd = server_sends ? pair.client : pair.server;

	expect_ret(on(from, rq_send_loop(from_fd, IN_FLIGHT_BYTES, IN_FLIGHT_BYTES, UP, 0)),
		   IN_FLIGHT_BYTES);
	switch (ending) {
	case ENDING_CLOSE:
		expect_ret(on(from, rq_close(from_fd)), 0);
		break;
	case ENDING_SHUTDOWN:
		expect_ret(on(from, rq_shutdown(from_fd, SHUT_WR)), 0);
		break;
	case ENDING_EXIT:
		exit_process(from);
		break;
	}
	sleep_ms(SLOW_READER_MS);
	/* At once, so that it finds its own buffer empty before the sender could refill it. */
	expect_ret(on(to, rq_recv_loop(to_fd, -1, 2 * IN_FLIGHT_BYTES, UP, 0)), IN_FLIGHT_BYTES);
}

static void close_in_flight(struct test *test)
{
	end_in_flight(test, ENDING_CLOSE, false);
}

static void shutdown_in_flight(struct test *test)
{
	end_in_flight(test, ENDING_SHUTDOWN, false);
}

static void exit_in_flight(struct test *test)
{
	end_in_flight(test, ENDING_EXIT, false);
}

static void close_in_flight_server(struct test *test)
{
	end_in_flight(test, ENDING_CLOSE, true);
}

static void exit_in_flight_server(struct test *test)
{
	end_in_flight(test, ENDING_EXIT, true);
}

/* The reader begins long after the sender has closed, and stays slow. */
static void close_with_very_slow_reader(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send_loop(pair.client, IN_FLIGHT_BYTES, 10000, UP, 0)),
		   IN_FLIGHT_BYTES);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_recv_slowly(pair.server, -1, 3000, 100, UP, 0)),
		   IN_FLIGHT_BYTES);
}

static void close_lingers(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->client, rq_set_linger(pair.client, true, 10)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 50000, 0, UP, 0)), 50000);
	start(test->server, 1, rq_recv_loop(pair.server, -1, 10000, UP, 0));
	reply = expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(reply.elapsed_ms < 9000, "close waited %u ms", reply.elapsed_ms);
	expect_ret(finish(test->server, 1), 50000);
}

static void linger_is_kept(struct test *test)
{
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	note_reply("default", on(test->client, rq_get(fd, SOL_SOCKET, SO_LINGER, OPTION_LINGER)));
	expect_ret(on(test->client, rq_set_linger(fd, true, 17)), 0);
	reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_LINGER, OPTION_LINGER)), 0);
	expect(reply.values[0] == 1 && reply.values[1] == 17, "linger %lld, %lld",
	       (long long)reply.values[0], (long long)reply.values[1]);
}

static void linger_zero_resets(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_error(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), ECONNRESET);
	expect_error(on(test->server, rq_peername(pair.server)), ENOTCONN);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_error(on(test->server, rq_send(pair.server, 1, MSG_NOSIGNAL, DOWN, 0)), EPIPE);
}

static void unread_data_resets(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 1000, 0, UP, 0)), 1000);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_error(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), ECONNRESET);
}

static void reset_wakes_reader(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1, 0, UP, 0));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(!still_running(test->server, 1, 3000), "a reset did not end recv");
	expect_error(finish(test->server, 1), ECONNRESET);
}

static void reset_wakes_writer(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	start(test->client, 1, rq_send(pair.client, 5000000, MSG_NOSIGNAL, UP, 0));
	expect(still_running(test->client, 1, 700), "send did not wait");
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect(!still_running(test->client, 1, 3000), "a reset did not end send");
	reply = finish(test->client, 1);
	expect(reply.ret != 5000000, "all was taken");
	note("then: %d",
	     on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)).ret == -1);
}

static long long events_of(struct test *test, const struct pair *pair)
{
	return poll_events(test->server, pair->server, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0);
}

static void closed_by_client(struct test *test, const struct pair *pair)
{
	expect_ret(on(test->client, rq_close(pair->client)), 0);
	expect_ret(on(test->server, rq_recv(pair->server, 1, 0, UP, 0)), 0);
}

/* A send() to a peer that has closed succeeds; the reset that answers it ends the connection. */
static void send_after_peer_close(struct test *test)
{
	struct pair pair = connect_pair(test);

	closed_by_client(test, &pair);
	note("closed: %#llx", events_of(test, &pair));
	expect_ret(on(test->server, rq_send(pair.server, 0, 0, DOWN, 0)), 0);
	expect_ret(on(test->server, rq_send(pair.server, 100, 0, DOWN, 0)), 100);
	sleep_ms(200);
	note("reset: %#llx", events_of(test, &pair));
	note_reply("peer", on(test->server, rq_peername(pair.server)));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_sigpipes()), 0);
	for (int i = 0; i < 2; i++) {
		expect_error(on(test->server, rq_send(pair.server, 100, 0, DOWN, 0)), EPIPE);
		expect_ret(on(test->server, rq_sigpipes()), 1);
	}
	note("told: %#llx", events_of(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	note_reply("shutdown", on(test->server, rq_shutdown(pair.server, SHUT_WR)));
}

static void send_after_peer_close_by_option(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	closed_by_client(test, &pair);
	expect_ret(on(test->server, rq_send(pair.server, 100, MSG_OOB, DOWN, 0)), 100);
	sleep_ms(200);
	for (int i = 0; i < 2; i++) {
		reply = expect_ret(on(test->server,
				      rq_get(pair.server, SOL_SOCKET, SO_ERROR, OPTION_INT)), 0);
		expect(reply.values[0] == (i ? 0 : EPIPE), "SO_ERROR %lld",
		       (long long)reply.values[0]);
	}
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	expect_error(on(test->server, rq_send(pair.server, 1, MSG_NOSIGNAL, DOWN, 0)), EPIPE);
}

/* A server refuses and closes, while the client still has something to send. */
static void refusal_is_read_after_a_send(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_send(pair.server, 50, 0, DOWN, 0)), 50);
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	sleep_ms(200);
	expect_ret(on(test->client, rq_send(pair.client, 1000, 0, UP, 0)), 1000);
	sleep_ms(200);
	expect_ret(on(test->client, rq_recv_loop(pair.client, -1, 20, DOWN, 0)), 50);
	expect_error(on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
}

static void both_close_at_once(struct test *test)
{
	for (int i = 0; i < 5; i++) {
		struct pair pair = connect_pair(test);

		exchange_both(test, &pair, 0);
		start(test->client, 1, rq_close(pair.client));
		start(test->server, 1, rq_close(pair.server));
		expect_ret(finish(test->client, 1), 0);
		expect_ret(finish(test->server, 1), 0);
	}
}

static void process_exit_ends_stream(struct test *test)
{
	struct pair pair = connect_pair(test);

	exchange_both(test, &pair, 0);
	start(test->server, 1, rq_recv(pair.server, 1, 0, UP, 100));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	exit_process(test->client);
	expect_ret(finish(test->server, 1), 0);
}

const struct test_case close_cases[] = {
	{ "close_in_flight", close_in_flight, FATE_SMC },
	{ "shutdown_in_flight", shutdown_in_flight, FATE_SMC },
	{ "exit_in_flight", exit_in_flight, FATE_SMC },
	{ "close_in_flight_server", close_in_flight_server, FATE_SMC },
	{ "exit_in_flight_server", exit_in_flight_server, FATE_SMC },
	{ "close_with_very_slow_reader", close_with_very_slow_reader, FATE_SMC },
	{ "close_lingers", close_lingers, FATE_SMC },
	{ "linger_is_kept", linger_is_kept, FATE_NONE },
	{ "linger_zero_resets", linger_zero_resets, FATE_SMC },
	{ "unread_data_resets", unread_data_resets, FATE_SMC },
	{ "reset_wakes_reader", reset_wakes_reader, FATE_SMC },
	{ "reset_wakes_writer", reset_wakes_writer, FATE_SMC },
	{ "send_after_peer_close", send_after_peer_close, FATE_SMC },
	{ "send_after_peer_close_by_option", send_after_peer_close_by_option, FATE_SMC },
	{ "refusal_is_read_after_a_send", refusal_is_read_after_a_send, FATE_SMC },
	{ "both_close_at_once", both_close_at_once, FATE_SMC },
	{ "process_exit_ends_stream", process_exit_ends_stream, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
