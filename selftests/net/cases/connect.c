// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <poll.h>

#include "test.h"

/* Longer than any handshake that goes well, shorter than any timeout inside the module. */
#define PROMPT_MS 2500

#define ALL_EVENTS (POLLIN | POLLOUT | POLLRDHUP)

static void connect_blocking(struct test *test)
{
	struct pair pair = connect_pair(test);

	exchange_both(test, &pair, 0);
}

/* A handshake that goes well is done long before any of its timeouts. */
static void connect_prompt(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	reply = expect_ret(
		on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect(reply.elapsed_ms < PROMPT_MS, "connect took %u ms", reply.elapsed_ms);
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void connect_nonblocking(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 10000));
	reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)), 0);
	expect(reply.values[0] == 0, "SO_ERROR %lld", (long long)reply.values[0]);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

/* Programs may call connect() again to learn the outcome. */
static void connect_nonblocking_ask_again(struct test *test)
{
	struct address address;
	struct reply reply;
	int listener;
	int fd;

	listener = new_listener(test, 8, &address);
	fd = connect_in_background(test, &address);
	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable");
	reply = on(test->client, rq_connect(fd, &address));
	expect(reply.ret == 0 || reply.error == EISCONN, "asked again: errno %d", reply.error);
	expect_error(on(test->client, rq_connect(fd, &address)), EISCONN);
	/*
	 * The client may have finished before the server has, which counts the connection only
	 * then.
	 */
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

/*
 * send() with MSG_FASTOPEN connects first; a repeated one reports the outcome of that connect,
 * once.
 */
static void connect_nonblocking_ask_by_send(struct test *test)
{
	const int flags = MSG_FASTOPEN | MSG_NOSIGNAL;
	struct address address;
	struct reply reply;
	int listener;
	int fd;

	listener = new_listener(test, 8, &address);
	fd = connect_in_background(test, &address);
	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable");
	expect_ret(on(test->client, rq_send(fd, 100, flags, UP, 0)), 100);
	expect_error(on(test->client, rq_send(fd, 100, flags, UP, 100)), EISCONN);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv_loop((int)reply.ret, 100, 100, UP, 0)), 100);
}

/* shutdown() finds the connection established, though connect() was not called again. */
static void connect_nonblocking_shut_down(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable");
	expect_ret(on(test->client, rq_shutdown(fd, SHUT_RD)), 0);
	expect_error(on(test->client, rq_connect(fd, &address)), EISCONN);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

/*
 * A connection is established and reset before connect() is called again; the next attempt works.
 */
static void connect_nonblocking_reset(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable");
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_set_linger((int)reply.ret, true, 0)), 0);
	expect_ret(on(test->server, rq_close((int)reply.ret)), 0);
	expect(poll_events(test->client, fd, POLLIN, 10000) & POLLHUP, "no reset");
	expect_error(on(test->client, rq_connect(fd, &address)), ECONNRESET);
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 0));
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable again");
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

/* shutdown() of an unconnected socket applies to its later connection, as on TCP. */
static void connect_after_shutdown(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_error(on(test->client, rq_shutdown(fd, SHUT_WR)), ENOTCONN);
	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 0));
	expect_error(on(test->client, rq_send(fd, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_send((int)reply.ret, 500, 0, DOWN, 0)), 500);
	expect_ret(on(test->client, rq_recv_loop(fd, 500, 100, DOWN, 0)), 500);
}

static void connect_nonblocking_pending(struct test *test)
{
	struct address nowhere = test->nowhere;
	int fd;

	address_set_port(&nowhere, 9);
	fd = connect_in_background(test, &nowhere);
	expect_error(on(test->client, rq_connect(fd, &nowhere)), EALREADY);
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 0));
	note_reply("pending", on(test->client, rq_peername(fd)));
	note_reply("pending", on(test->client, rq_send(fd, 1, MSG_NOSIGNAL, UP, 0)));
	note_reply("pending", on(test->client, rq_recv(fd, 1, 0, UP, 0)));
	expect_ret(on(test->client, rq_close(fd)), 0);
}

static void connect_refused(struct test *test)
{
	struct address address = closed_port(test);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_error(on(test->client, rq_connect(fd, &address)), ECONNREFUSED);
	reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)), 0);
	note("SO_ERROR %lld", (long long)reply.values[0]);
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 0));
	expect_error(on(test->client, rq_peername(fd)), ENOTCONN);
}

static void connect_refused_nonblocking(struct test *test)
{
	struct address address = closed_port(test);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 10000));
	reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)), 0);
	expect(reply.values[0] == ECONNREFUSED, "SO_ERROR %lld", (long long)reply.values[0]);
	reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)), 0);
	expect(reply.values[0] == 0, "SO_ERROR again %lld", (long long)reply.values[0]);
}

/* MSG_FASTOPEN reports a refusal, too; the socket can listen afterwards. */
static void connect_refused_told_by_send(struct test *test)
{
	struct address address = closed_port(test);
	int fd = connect_in_background(test, &address);

	expect(poll_events(test->client, fd, POLLIN, 10000) & POLLERR, "not refused");
	expect_error(on(test->client, rq_send(fd, 1, MSG_FASTOPEN | MSG_NOSIGNAL, UP, 0)),
		     ECONNREFUSED);
	expect_ret(on(test->client, rq_listen(fd, 4)), 0);
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 300));
	expect_error(on(test->client, rq_accept(fd, 0)), EAGAIN);
}

/* A refusal must leave a socket that can be connected elsewhere. */
static void retry(struct test *test, int type_flags)
{
	struct address closed = closed_port(test);
	struct address open;
	int listener = new_listener(test, 8, &open);
	int fd = new_socket(test, test->client, type_flags);
	struct reply reply = on(test->client, rq_connect(fd, &closed));

	expect(reply.ret == -1, "connected to a closed port");
	if (reply.error == EINPROGRESS) {
		poll_events(test->client, fd, POLLOUT, 10000);
		reply = expect_ret(on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)),
				   0);
		reply.error = (int)reply.values[0];
	}
	expect(reply.error == ECONNREFUSED, "closed port: errno %d", reply.error);
	reply = on(test->client, rq_connect(fd, &open));
	/* On TCP one ECONNABORTED may report the end of the first attempt. */
	if (reply.error == ECONNABORTED)
		reply = on(test->client, rq_connect(fd, &open));
	if (type_flags)
		expect_error(reply, EINPROGRESS);
	else
		expect_ret(reply, 0);
	expect(poll_events(test->client, fd, POLLOUT, 10000) == POLLOUT, "not writable");
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

static void connect_retry(struct test *test)
{
	retry(test, 0);
}

static void connect_retry_nonblocking(struct test *test)
{
	retry(test, SOCK_NONBLOCK);
}

static void connect_twice(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_error(on(test->client, rq_connect(pair.client, &pair.address)), EISCONN);
	exchange_both(test, &pair, 0);
}

static void connect_on_listener(struct test *test)
{
	struct address address;
	int fd = new_listener(test, 8, &address);

	expect_error(on(test->server, rq_connect(fd, &address)), EISCONN);
}

static void connect_bad_address(struct test *test)
{
	int fd = new_socket(test, test->client, 0);
	struct address other = test->server_address;
	struct request request = rq_connect(fd, &test->server_address);

	other.storage.ss_family = AF_UNIX;
	note_reply("other family", on(test->client, rq_connect(fd, &other)));
	request.args[0] = 2; /* only the address family */
	note_reply("short address", on(test->client, request));
	request.args[0] = 1;
	note_reply("shorter address", on(test->client, request));
	other.storage.ss_family = AF_UNSPEC;
	note_reply("no family", on(test->client, rq_connect(fd, &other)));
}

/* While one thread waits in connect(), the others must get answers. */
static void connect_leaves_socket_usable(struct test *test)
{
	struct address nowhere = test->nowhere;
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	address_set_port(&nowhere, 9);
	start(test->client, 1, rq_connect(fd, &nowhere));
	expect(still_running(test->client, 1, 300), "connect to nowhere came back");
	reply = expect_ret(on(test->client, rq_set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1)), 0);
	expect(reply.elapsed_ms < 1000, "setsockopt took %u ms", reply.elapsed_ms);
	reply = expect_ret(on(test->client, rq_sockname(fd)), 0);
	expect(reply.elapsed_ms < 1000, "getsockname took %u ms", reply.elapsed_ms);
	reply = on(test->client, rq_shutdown(fd, SHUT_RDWR));
	expect(reply.elapsed_ms < 1000, "shutdown took %u ms", reply.elapsed_ms);
	if (reply.error == EBUSY)
		skip_case("this TCP cannot be shut down while another thread connects");
	note_reply("while connecting", reply);
	expect(!still_running(test->client, 1, 1000), "shutdown did not end connect");
	reply = finish(test->client, 1);
	note("connect: %d", reply.error);
}

static void connect_interrupted(struct test *test)
{
	struct address nowhere = test->nowhere;
	int fd = new_socket(test, test->client, 0);

	address_set_port(&nowhere, 9);
	start(test->client, 1, rq_connect(fd, &nowhere));
	expect(still_running(test->client, 1, 300), "connect to nowhere came back");
	expect_ret(on(test->client, rq_interrupt(1)), 0);
	expect(!still_running(test->client, 1, 2000), "a signal did not end connect");
	expect_error(finish(test->client, 1), EINTR);
	expect_ret(on(test->client, rq_close(fd)), 0);
}

static void connect_timeout(struct test *test)
{
	struct address nowhere = test->nowhere;
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	address_set_port(&nowhere, 9);
	expect_ret(on(test->client, rq_set_timeout(fd, SO_SNDTIMEO, 700)), 0);
	reply = expect_error(on(test->client, rq_connect(fd, &nowhere)), EINPROGRESS);
	expect(reply.elapsed_ms >= 600 && reply.elapsed_ms < 2000, "connect took %u ms",
	       reply.elapsed_ms);
}

/* A socket that connects to the address it is bound to is both ends of its connection. */
static int connect_to_itself(struct test *test, int type_flags)
{
	int fd = new_socket(test, test->client, type_flags);
	struct address address;
	struct reply reply;

	address_make(&address, test->family, test->family == AF_INET6 ? "::1" : "127.0.0.1", 0);
	expect_ret(on(test->client, rq_bind(fd, &address)), 0);
	reply = expect_ret(on(test->client, rq_sockname(fd)), 0);
	note_reply("connect", on(test->client, rq_connect(fd, &reply.address)));
	return fd;
}

static void connect_self(struct test *test)
{
	int fd = connect_to_itself(test, 0);

	expect_error(on(test->client, rq_recv(fd, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
	exchange(test->client, fd, test->client, fd, 5000, UP, 0);
	expect_ret(on(test->client, rq_shutdown(fd, SHUT_WR)), 0);
	expect_ret(on(test->client, rq_recv(fd, 1, 0, UP, 0)), 0);
}

static void connect_self_nonblocking(struct test *test)
{
	int fd = connect_to_itself(test, SOCK_NONBLOCK);

	expect(poll_events(test->client, fd, ALL_EVENTS, 5000) == POLLOUT, "not writable alone");
	note_reply("again", on(test->client, rq_connect(fd, &test->server_address)));
	expect_ret(on(test->client, rq_send(fd, 1000, 0, UP, 0)), 1000);
	expect(poll_events(test->client, fd, POLLIN, 5000) == POLLIN, "nothing to read");
	expect_ret(on(test->client, rq_recv(fd, 2000, 0, UP, 0)), 1000);
}

static void connect_then_close(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = connect_in_background(test, &address);
	struct reply reply;

	expect_ret(on(test->client, rq_close(fd)), 0);
	/* Whether or not the connection was established, the listener serves the next one. */
	fd = new_socket(test, test->client, 0);
	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	expect_ret(on(test->client, rq_send(fd, 1000, 0, UP, 0)), 1000);
	for (;;) {
		reply = on(test->server, rq_accept(listener, 0));
		expect(reply.ret >= 0, "accept: errno %d", reply.error);
		reply = on(test->server, rq_recv((int)reply.ret, 1000, MSG_WAITALL, UP, 0));
		if (reply.ret > 0)
			break;
	}
	expect_ret(reply, 1000);
}

/* CLC messages are not the user's data: they make no timestamps. */
static void connect_with_timestamps(struct test *test)
{
	const int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
			  SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE;
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);

	expect_ret(on(test->client, rq_set_int(client, SOL_SOCKET, SO_TIMESTAMPING, flags)), 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
	expect(poll_events(test->client, client, 0, 300) == 0, "an event before anything is sent");
	note_reply("flags",
		   on(test->client, rq_get(client, SOL_SOCKET, SO_TIMESTAMPING, OPTION_INT)));
}

const struct test_case connect_cases[] = {
	{ "connect_with_timestamps", connect_with_timestamps, FATE_SMC },
	{ "connect_blocking", connect_blocking, FATE_SMC },
	{ "connect_prompt", connect_prompt, FATE_SMC },
	{ "connect_nonblocking", connect_nonblocking, FATE_SMC },
	{ "connect_nonblocking_ask_again", connect_nonblocking_ask_again, FATE_SMC },
	{ "connect_nonblocking_ask_by_send", connect_nonblocking_ask_by_send, FATE_SMC },
	{ "connect_nonblocking_shut_down", connect_nonblocking_shut_down, FATE_SMC },
	{ "connect_nonblocking_reset", connect_nonblocking_reset, FATE_SMC },
	{ "connect_after_shutdown", connect_after_shutdown, FATE_TCP_ONLY },
	{ "connect_nonblocking_pending", connect_nonblocking_pending, FATE_NONE },
	{ "connect_refused", connect_refused, FATE_NONE },
	{ "connect_refused_nonblocking", connect_refused_nonblocking, FATE_NONE },
	{ "connect_refused_told_by_send", connect_refused_told_by_send, FATE_NONE },
	{ "connect_retry", connect_retry, FATE_SMC },
	{ "connect_retry_nonblocking", connect_retry_nonblocking, FATE_SMC },
	{ "connect_twice", connect_twice, FATE_SMC },
	{ "connect_on_listener", connect_on_listener, FATE_NONE },
	{ "connect_bad_address", connect_bad_address, FATE_NONE },
	{ "connect_leaves_socket_usable", connect_leaves_socket_usable, FATE_NONE },
	{ "connect_interrupted", connect_interrupted, FATE_NONE },
	{ "connect_timeout", connect_timeout, FATE_NONE },
	{ "connect_self", connect_self, FATE_TCP_ONLY },
	{ "connect_self_nonblocking", connect_self_nonblocking, FATE_TCP_ONLY },
	{ "connect_then_close", connect_then_close, FATE_CLOSED_EARLY },
	{ NULL, NULL, FATE_NONE },
};
