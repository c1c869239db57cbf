// SPDX-License-Identifier: GPL-2.0-only
/* No file descriptor left, bad pointers to accept(), more clients than the backlog. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "test.h"

static void accept_without_descriptors(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	expect_ret(on(test->client, rq_send(fd, 1000, 0, UP, 0)), 1000);
	expect(poll_events(test->server, listener, POLLIN, 5000) == POLLIN, "nobody came");
	expect_ret(on(test->server, rq_files_max(0)), 0);
	expect_error(on(test->server, rq_accept(listener, 0)), EMFILE);
	expect_error(on(test->server, rq_accept(listener, 0)), EMFILE);
	note("events %#llx", (long long)poll_events(test->server, listener, POLLIN, 0));
	expect_ret(on(test->server, rq_files_max(-1)), 0);
	/* accept() failed, but the connection is still in the queue, with its data. */
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 1000, MSG_WAITALL, UP, 0)), 1000);
	exchange(test->server, (int)reply.ret, test->client, fd, 1000, DOWN, 0);
}

static void waiting_accept_without_descriptors(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	expect_ret(on(test->server, rq_files_max(0)), 0);
	/* accept() fails even before anybody connects. */
	expect_error(on(test->server, rq_accept(listener, 0)), EMFILE);
	expect_ret(on(test->server, rq_files_max(-1)), 0);
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void socket_without_descriptors(struct test *test)
{
	expect_ret(on(test->client, rq_files_max(0)), 0);
	note_reply("socket", on(test->client, rq_socket(test, test->client, 0)));
	expect_ret(on(test->client, rq_files_max(-1)), 0);
	expect(on(test->client, rq_socket(test, test->client, 0)).ret >= 0, "socket");
}

/* accept() to a bad address closes the connection, on TCP as well. */
static void accept_to_a_bad_address(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);

	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	note_reply("bad", on(test->server, rq_accept_bad(listener, 100)));
	note_reply("peer", on(test->client, rq_recv(fd, 1, 0, DOWN, 0)));
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void accept_with_a_bad_length(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	note_reply("negative", on(test->server, rq_accept_bad(listener, -1)));
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	note_reply("nothing", on(test->server, rq_accept_bad(listener, 0)));
}

/* Backlog plus one clients connect before anybody accepts. */
static void backlog_is_served(struct test *test)
{
	const int backlog = 3;
	struct address address;
	int listener = new_listener(test, backlog, &address);
	int fds[4];

	for (int i = 0; i <= backlog; i++) {
		fds[i] = new_socket(test, test->client, 0);
		expect_ret(on(test->client, rq_connect(fds[i], &address)), 0);
		expect_ret(on(test->client, rq_send(fds[i], 100, 0, 100 + i, 0)), 100);
	}
	for (int i = 0; i <= backlog; i++) {
		struct reply reply = on(test->server, rq_accept(listener, 0));

		expect(reply.ret >= 0, "accept: errno %d", reply.error);
		expect_ret(on(test->server, rq_recv((int)reply.ret, 100, MSG_WAITALL, 100 + i, 0)),
			   100);
	}
	expect_ret(on(test->server, rq_fcntl(listener, F_SETFL, O_NONBLOCK)), 0);
	expect_error(on(test->server, rq_accept(listener, 0)), EAGAIN);
}

/* Longer than the client of a handshake waits for its server. */
#define BUSY_MS 7000

/* TCP's own connect() succeeds before accept(). */
static int connect_to_busy(struct test *test, enum mode mode, const struct address *address, int id)
{
	struct request request = rq_socket(test, test->client, 0);
	struct reply reply;
	int fd;

	if (mode == MODE_TCP)
		request.args[0] = MODE_TCP;
	reply = on(test->client, request);
	expect(reply.ret >= 0, "socket %d: errno %d", id, reply.error);
	fd = (int)reply.ret;
	reply = expect_ret(on(test->client, rq_connect(fd, address)), 0);
	expect(reply.elapsed_ms < 2500, "connect %d took %u ms", id, reply.elapsed_ms);
	expect_ret(on(test->client, rq_send(fd, 100, 0, 100 + id, 0)), 100);
	return fd;
}

static void accept_and_check(struct test *test, int listener, int fd, int id)
{
	struct reply reply = on(test->server, rq_accept(listener, 0));

	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 100, MSG_WAITALL, 100 + id, 0)), 100);
	exchange(test->server, (int)reply.ret, test->client, fd, 1000, DOWN, 0);
}

static void nobody_is_left(struct test *test, int listener)
{
	expect_ret(on(test->server, rq_fcntl(listener, F_SETFL, O_NONBLOCK)), 0);
	expect_error(on(test->server, rq_accept(listener, 0)), EAGAIN);
}

/* In the queue a client without SMC stands before one with SMC, and nobody accepts. */
static void busy_server_is_connected_to(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 3, &address);
	int plain = connect_to_busy(test, MODE_TCP, &address, 0);
	int fd = connect_to_busy(test, test->client_mode, &address, 1);

	sleep_ms(BUSY_MS);
	expect(poll_events(test->server, listener, POLLIN, 0) == POLLIN, "nobody came");
	accept_and_check(test, listener, plain, 0);
	accept_and_check(test, listener, fd, 1);
	nobody_is_left(test, listener);
}

/* The same, while the server is busy with a connection that it has accepted. */
static void server_busy_with_one_is_connected_to(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 3, &address);
	int fds[4];

	for (int i = 0; i < 3; i++)
		fds[i] = connect_to_busy(test, i < 2 ? MODE_TCP : test->client_mode, &address, i);
	accept_and_check(test, listener, fds[0], 0);
	fds[3] = connect_to_busy(test, test->client_mode, &address, 3);
	sleep_ms(BUSY_MS);
	for (int i = 1; i < 4; i++)
		accept_and_check(test, listener, fds[i], i);
	nobody_is_left(test, listener);
}

/*
 * Clients beyond the backlog are accepted when there is room again. With SMC there is room for all
 * of them.
 */
static void server_busy_with_many_is_connected_to(struct test *test)
{
	const int backlog = 3;
	const int clients = test->server_mode == MODE_TCP ? backlog + 1 : 2 * backlog;
	struct address address;
	int listener = new_listener(test, backlog, &address);
	int fds[2 * 3];

	for (int i = 0; i < clients; i++)
		fds[i] = connect_to_busy(test, test->client_mode, &address, i);
	sleep_ms(BUSY_MS);
	for (int i = 0; i < clients; i++)
		accept_and_check(test, listener, fds[i], i);
	nobody_is_left(test, listener);
}

/* Closing the listener resets all connections in its queue, with SMC and without. */
static void busy_listener_close_resets(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 3, &address);
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = connect_to_busy(test, i != 1 ? MODE_TCP : test->client_mode, &address, i);
	sleep_ms(500);
	expect_ret(on(test->server, rq_close(listener)), 0);
	for (int i = 0; i < 3; i++)
		expect_error(on(test->client, rq_recv(fds[i], 1, 0, DOWN, 0)), ECONNRESET);
}

/* Connections that were reset before accept() are still accepted. */
static void accept_after_reset(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	sleep_ms(200);
	expect_ret(on(test->client, rq_set_linger(fd, true, 0)), 0);
	expect_ret(on(test->client, rq_close(fd)), 0);
	sleep_ms(300);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_error(on(test->server, rq_recv((int)reply.ret, 1, 0, UP, 0)), ECONNRESET);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 1, 0, UP, 0)), 0);
}

static void listen_values(struct test *test)
{
	static const int backlogs[] = { 0, -1, 1000000, 1 };
	int fd = new_socket(test, test->server, 0);

	for (size_t i = 0; i < sizeof(backlogs) / sizeof(backlogs[0]); i++)
		note_reply("listen", on(test->server, rq_listen(fd, backlogs[i])));
	note_reply("SO_ACCEPTCONN",
		   on(test->server, rq_get(fd, SOL_SOCKET, SO_ACCEPTCONN, OPTION_INT)));
}

const struct test_case limit_cases[] = {
	{ "accept_without_descriptors", accept_without_descriptors, FATE_SMC },
	{ "waiting_accept_without_descriptors", waiting_accept_without_descriptors, FATE_SMC },
	{ "socket_without_descriptors", socket_without_descriptors, FATE_NONE },
	{ "accept_to_a_bad_address", accept_to_a_bad_address, FATE_SMC },
	{ "accept_with_a_bad_length", accept_with_a_bad_length, FATE_SMC },
	{ "backlog_is_served", backlog_is_served, FATE_SMC },
	{ "busy_server_is_connected_to", busy_server_is_connected_to, FATE_MIXED },
	{ "server_busy_with_one_is_connected_to", server_busy_with_one_is_connected_to,
	  FATE_MIXED },
	{ "server_busy_with_many_is_connected_to", server_busy_with_many_is_connected_to,
	  FATE_MIXED },
	{ "busy_listener_close_resets", busy_listener_close_resets, FATE_MIXED },
	{ "accept_after_reset", accept_after_reset, FATE_SMC },
	{ "listen_values", listen_values, FATE_NONE },
	{ NULL, NULL, FATE_NONE },
};
