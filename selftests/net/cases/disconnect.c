// SPDX-License-Identifier: GPL-2.0-only
/* connect() with AF_UNSPEC: the connection is gone, the socket is as good as new. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "test.h"

#define ALL_EVENTS (POLLIN | POLLOUT | POLLRDHUP)

static struct address nobody(const struct test *test)
{
	struct address address = test->server_address;

	memset(&address.storage, 0, sizeof(address.storage));
	address.storage.ss_family = AF_UNSPEC;
	return address;
}

static struct reply disconnect(struct test *test, struct host *host, int fd)
{
	struct address address = nobody(test);

	return on(host, rq_connect(fd, &address));
}

/* Connects once more, accepts, and carries data. */
static void connect_again(struct test *test, int fd, int listener, const struct address *address)
{
	struct reply reply;

	expect_ret(on(test->client, rq_connect(fd, address)), 0);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 5000, UP, 0);
	exchange(test->server, (int)reply.ret, test->client, fd, 5000, DOWN, 0);
	expect_ret(on(test->server, rq_close((int)reply.ret)), 0);
	expect_ret(on(test->client, rq_recv(fd, 1, 0, DOWN, 0)), 0);
}

static void disconnect_fresh(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);

	expect_ret(disconnect(test, test->client, fd), 0);
	expect_ret(disconnect(test, test->client, fd), 0);
	connect_again(test, fd, listener, &address);
}

static void disconnect_and_connect_again(struct test *test)
{
	struct pair pair = connect_pair(test);

	exchange_both(test, &pair, 0);
	for (int i = 0; i < 3; i++) {
		note_reply("disconnect", disconnect(test, test->client, pair.client));
		note_reply("peer's name", on(test->client, rq_peername(pair.client)));
		connect_again(test, pair.client, pair.listener, &pair.address);
	}
}

static void disconnect_state(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(disconnect(test, test->client, pair.client), 0);
	note("events %#llx", (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
	note_reply("SO_ERROR",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_ERROR, OPTION_INT)));
	note_reply("recv", on(test->client, rq_recv(pair.client, 1, MSG_DONTWAIT, DOWN, 0)));
	note_reply("send", on(test->client, rq_send(pair.client, 1, MSG_NOSIGNAL, UP, 0)));
	note_reply("shutdown", on(test->client, rq_shutdown(pair.client, SHUT_RDWR)));
	note("events %#llx", (long long)poll_events(test->client, pair.client, ALL_EVENTS, 0));
}

static void disconnect_is_a_reset(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1, 0, UP, 0));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	expect_ret(disconnect(test, test->client, pair.client), 0);
	expect(!still_running(test->server, 1, 3000), "nobody told the other side");
	expect_error(finish(test->server, 1), ECONNRESET);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
	note_reply("send", on(test->server, rq_send(pair.server, 1, MSG_NOSIGNAL, DOWN, 0)));
}

static void disconnect_throws_data_away(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_send(pair.server, 3000, 0, DOWN, 0)), 3000);
	expect(poll_events(test->client, pair.client, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(disconnect(test, test->client, pair.client), 0);
	connect_again(test, pair.client, pair.listener, &pair.address);
}

static void disconnect_of_the_accepted_side(struct test *test)
{
	struct pair pair = connect_pair(test);

	exchange_both(test, &pair, 0);
	note_reply("disconnect", disconnect(test, test->server, pair.server));
	expect_error(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), ECONNRESET);
	note_reply("recv", on(test->server, rq_recv(pair.server, 1, 0, UP, 0)));
}

static void disconnect_after_shutdown(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_RDWR)), 0);
	expect_ret(disconnect(test, test->client, pair.client), 0);
	connect_again(test, pair.client, pair.listener, &pair.address);
}

static void disconnect_after_the_peer_closed(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_ret(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), 0);
	expect_ret(disconnect(test, test->client, pair.client), 0);
	connect_again(test, pair.client, pair.listener, &pair.address);
}

static void disconnect_after_a_reset(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_set_linger(pair.server, true, 0)), 0);
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	expect_error(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), ECONNRESET);
	note_reply("connect", on(test->client, rq_connect(pair.client, &pair.address)));
	expect_ret(disconnect(test, test->client, pair.client), 0);
	connect_again(test, pair.client, pair.listener, &pair.address);
}

static void disconnect_while_connecting(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct address nowhere = test->nowhere;
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);

	address_set_port(&nowhere, 9);
	expect_error(on(test->client, rq_connect(fd, &nowhere)), EINPROGRESS);
	note_reply("disconnect", disconnect(test, test->client, fd));
	note("events %#llx", (long long)poll_events(test->client, fd, ALL_EVENTS, 0));
	note_reply("SO_ERROR", on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)));
	expect_error(on(test->client, rq_connect(fd, &address)), EINPROGRESS);
	expect(poll_events(test->client, fd, POLLOUT, 5000) == POLLOUT, "not writable");
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void disconnect_a_listener(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int waiting = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_connect(waiting, &address)), 0);
	sleep_ms(300);
	expect_ret(disconnect(test, test->server, listener), 0);
	/* Connections that were not accepted are reset. */
	expect_error(on(test->client, rq_recv(waiting, 1, 0, DOWN, 0)), ECONNRESET);
	note_reply("accept", on(test->server, rq_accept(listener, 0)));
	expect_error(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)),
		     ECONNREFUSED);
	expect_ret(on(test->server, rq_listen(listener, 8)), 0);
	reply = expect_ret(on(test->server, rq_sockname(listener)), 0);
	address_set_port(&address, address_port(&reply.address));
	connect_again(test, new_socket(test, test->client, 0), listener, &address);
}

static void listener_shutdown_resets(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int waiting = new_socket(test, test->client, 0);

	expect_ret(on(test->client, rq_connect(waiting, &address)), 0);
	sleep_ms(300);
	expect_ret(on(test->server, rq_shutdown(listener, SHUT_RD)), 0);
	expect_error(on(test->client, rq_recv(waiting, 1, 0, DOWN, 0)), ECONNRESET);
	note("events %#llx", (long long)poll_events(test->server, listener, ALL_EVENTS, 0));
	note_reply("accept", on(test->server, rq_accept(listener, 0)));
}

static void disconnect_keeps_options(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_NODELAY, 1)), 0);
	expect_ret(on(test->client, rq_set_int(pair.client, SOL_SOCKET, SO_KEEPALIVE, 1)), 0);
	expect_ret(on(test->client, rq_set_int(pair.client, SOL_SOCKET, SO_RCVLOWAT, 7)), 0);
	expect_ret(disconnect(test, test->client, pair.client), 0);
	note_reply("TCP_NODELAY",
		   on(test->client, rq_get(pair.client, IPPROTO_TCP, TCP_NODELAY, OPTION_INT)));
	note_reply("SO_KEEPALIVE",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_KEEPALIVE, OPTION_INT)));
	note_reply("SO_RCVLOWAT",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_RCVLOWAT, OPTION_INT)));
	connect_again(test, pair.client, pair.listener, &pair.address);
}

/* A reader that sleeps when the connection is ended wakes up. */
static void disconnect_wakes_a_reader(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	start(test->client, 1, rq_recv(pair.client, 1, 0, DOWN, 0));
	expect(still_running(test->client, 1, 300), "recv did not wait");
	reply = disconnect(test, test->client, pair.client);
	if (reply.error == EBUSY)
		skip_case("this TCP does not disconnect while another thread reads");
	expect_ret(reply, 0);
	expect(!still_running(test->client, 1, 3000), "the reader sleeps on");
	expect(finish(test->client, 1).ret <= 0, "it read something");
	connect_again(test, pair.client, pair.listener, &pair.address);
}

static void disconnect_then_listen(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct address address;
	struct reply reply;
	int fd;

	/* The server's side of the old connection becomes a listener. */
	expect_ret(disconnect(test, test->server, pair.server), 0);
	expect_ret(on(test->server, rq_close(pair.listener)), 0);
	expect_ret(on(test->server, rq_listen(pair.server, 8)), 0);
	reply = expect_ret(on(test->server, rq_sockname(pair.server)), 0);
	address = test->server_address;
	address_set_port(&address, address_port(&reply.address));
	fd = new_socket(test, test->client, 0);
	connect_again(test, fd, pair.server, &address);
}

const struct test_case disconnect_cases[] = {
	{ "disconnect_fresh", disconnect_fresh, FATE_SMC },
	{ "disconnect_and_connect_again", disconnect_and_connect_again, FATE_SMC },
	{ "disconnect_state", disconnect_state, FATE_SMC },
	{ "disconnect_is_a_reset", disconnect_is_a_reset, FATE_SMC },
	{ "disconnect_throws_data_away", disconnect_throws_data_away, FATE_SMC },
	{ "disconnect_of_the_accepted_side", disconnect_of_the_accepted_side, FATE_SMC },
	{ "disconnect_after_shutdown", disconnect_after_shutdown, FATE_SMC },
	{ "disconnect_after_the_peer_closed", disconnect_after_the_peer_closed, FATE_SMC },
	{ "disconnect_after_a_reset", disconnect_after_a_reset, FATE_SMC },
	{ "disconnect_while_connecting", disconnect_while_connecting, FATE_SMC },
	{ "disconnect_a_listener", disconnect_a_listener, FATE_SMC },
	{ "listener_shutdown_resets", listener_shutdown_resets, FATE_UNACCEPTED },
	{ "disconnect_keeps_options", disconnect_keeps_options, FATE_SMC },
	{ "disconnect_wakes_a_reader", disconnect_wakes_a_reader, FATE_SMC },
	{ "disconnect_then_listen", disconnect_then_listen, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
