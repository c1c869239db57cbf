// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "test.h"

static void bind_names(struct test *test)
{
	int fd = new_socket(test, test->server, 0);
	int second = new_socket(test, test->server, 0);
	struct address any;
	struct reply reply;

	address_make(&any, test->family, NULL, 0);
	expect_ret(on(test->server, rq_bind(fd, &any)), 0);
	reply = expect_ret(on(test->server, rq_sockname(fd)), 0);
	expect(address_port(&reply.address) != 0, "no port after bind");
	expect(reply.address.storage.ss_family == test->family, "another family");
	expect_error(on(test->server, rq_bind(fd, &any)), EINVAL);
	expect_error(on(test->server, rq_peername(fd)), ENOTCONN);
	expect_ret(on(test->server, rq_listen(fd, 1)), 0);
	address_set_port(&any, address_port(&reply.address));
	expect_error(on(test->server, rq_bind(second, &any)), EADDRINUSE);
}

static void bind_reuse(struct test *test)
{
	struct pair pair = connect_pair(test);
	int fd = new_socket(test, test->server, 0);
	struct address any;

	/* The closed listener's connection still holds the port. */
	expect_ret(on(test->server, rq_close(pair.listener)), 0);
	address_make(&any, test->family, NULL, address_port(&pair.address));
	expect_error(on(test->server, rq_bind(fd, &any)), EADDRINUSE);
	expect_ret(on(test->server, rq_close(fd)), 0);
	exchange_both(test, &pair, 0);
}

static void bind_bad_address(struct test *test)
{
	int fd = new_socket(test, test->server, 0);
	struct address address = test->nowhere;

	note_reply("not ours", on(test->server, rq_bind(fd, &address)));
	address.storage.ss_family = AF_UNIX;
	note_reply("other family", on(test->server, rq_bind(fd, &address)));
	address = test->server_address;
	address.length = 4;
	note_reply("short", on(test->server, rq_bind(fd, &address)));
}

static void listen_picks_port(struct test *test)
{
	int fd = new_socket(test, test->server, 0);
	struct address address = test->server_address;
	struct reply reply;

	expect_ret(on(test->server, rq_listen(fd, 4)), 0);
	reply = expect_ret(on(test->server, rq_sockname(fd)), 0);
	address_set_port(&address, address_port(&reply.address));
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	reply = on(test->server, rq_accept(fd, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
}

static void listen_again(struct test *test)
{
	struct address address;
	int fd = new_listener(test, 1, &address);
	struct pair pair;

	expect_ret(on(test->server, rq_listen(fd, 50)), 0);
	pair = connect_pair(test);
	expect_error(on(test->server, rq_listen(pair.server, 1)), EINVAL);
	expect_error(on(test->client, rq_listen(pair.client, 1)), EINVAL);
	exchange_both(test, &pair, 0);
}

static void accept_flags(struct test *test)
{
	static const int flags[] = { 0, SOCK_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC };
	struct address address;
	int listener = new_listener(test, 8, &address);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct reply reply;

		expect_ret(
			on(test->client, rq_connect(new_socket(test, test->client, 0), &address)),
			0);
		reply = on(test->server, rq_accept(listener, flags[i]));
		expect(reply.ret >= 0, "accept: errno %d", reply.error);
		expect(reply.values[0] == !!(flags[i] & SOCK_NONBLOCK), "O_NONBLOCK is %lld",
		       (long long)reply.values[0]);
		expect(reply.values[1] == !!(flags[i] & SOCK_CLOEXEC), "FD_CLOEXEC is %lld",
		       (long long)reply.values[1]);
	}
	expect_error(on(test->server, rq_accept(listener, 0x40)), EINVAL);
}

static void accept_nothing(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	expect_error(on(test->server, rq_accept(new_socket(test, test->server, 0), 0)), EINVAL);
	expect_ret(on(test->server, rq_set_timeout(listener, SO_RCVTIMEO, 500)), 0);
	reply = expect_error(on(test->server, rq_accept(listener, 0)), EAGAIN);
	expect(reply.elapsed_ms >= 400 && reply.elapsed_ms < 2000, "accept took %u ms",
	       reply.elapsed_ms);
	expect_ret(on(test->server, rq_fcntl(listener, F_SETFL, O_NONBLOCK)), 0);
	expect_error(on(test->server, rq_accept(listener, 0)), EAGAIN);
}

static void accept_polled(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int epoll = (int)on(test->server, rq_epoll_create()).ret;

	expect_ret(on(test->server, rq_epoll_add(epoll, listener, EPOLLIN)), 0);
	expect(poll_events(test->server, listener, POLLIN | POLLOUT, 0) == 0, "an early event");
	expect_ret(on(test->server, rq_epoll_wait(epoll, 0)), 0);
	start(test->server, 1, rq_poll(listener, POLLIN | POLLOUT, 10000));
	start(test->server, 2, rq_epoll_wait(epoll, 10000));
	expect(still_running(test->server, 1, 200), "poll did not wait");
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	note_reply("connected", finish(test->server, 1));
	note_reply("connected", finish(test->server, 2));
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
	expect(poll_events(test->server, listener, POLLIN, 0) == 0, "still readable");
}

static void accept_wakes(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	start(test->server, 1, rq_accept(listener, 0));
	expect(still_running(test->server, 1, 200), "accept did not wait");
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	reply = finish(test->server, 1);
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
}

static void accept_later(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fds[5];

	for (int i = 0; i < 5; i++) {
		fds[i] = new_socket(test, test->client, 0);
		expect_ret(on(test->client, rq_connect(fds[i], &address)), 0);
		expect_ret(on(test->client, rq_send(fds[i], 500, 0, 100 + i, 0)), 500);
	}
	for (int i = 0; i < 5; i++) {
		struct reply reply = on(test->server, rq_accept(listener, 0));

		expect(reply.ret >= 0, "accept %d: errno %d", i, reply.error);
		expect_ret(on(test->server, rq_recv((int)reply.ret, 500, MSG_WAITALL, 100 + i, 0)),
			   500);
	}
}

static void accept_after_close(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	expect_ret(on(test->client, rq_send(fd, 5000, 0, UP, 0)), 5000);
	expect_ret(on(test->client, rq_close(fd)), 0);
	sleep_ms(300);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv_loop((int)reply.ret, -1, 1000, UP, 0)), 5000);
}

static void accept_interrupted(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	start(test->server, 1, rq_accept(listener, 0));
	expect(still_running(test->server, 1, 200), "accept did not wait");
	expect_ret(on(test->server, rq_interrupt(1)), 0);
	expect(!still_running(test->server, 1, 2000), "a signal did not end accept");
	expect_error(finish(test->server, 1), EINTR);
}

/* Connections that nobody accepted end with the listener. */
static void listener_close_resets(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);

	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	expect_ret(on(test->server, rq_close(listener)), 0);
	expect_error(on(test->client, rq_recv(fd, 1, 0, DOWN, 0)), ECONNRESET);
}

static void listener_shutdown(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	start(test->server, 1, rq_accept(listener, 0));
	expect(still_running(test->server, 1, 200), "accept did not wait");
	expect_ret(on(test->server, rq_shutdown(listener, SHUT_RDWR)), 0);
	expect(!still_running(test->server, 1, 2000), "shutdown did not end accept");
	expect_error(finish(test->server, 1), EINVAL);
	expect_error(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)),
		     ECONNREFUSED);
	/* It can listen again, on another port where the first was not chosen by bind(). */
	expect_ret(on(test->server, rq_listen(listener, 8)), 0);
	reply = expect_ret(on(test->server, rq_sockname(listener)), 0);
	address_set_port(&address, address_port(&reply.address));
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect(on(test->server, rq_accept(listener, 0)).ret >= 0, "accept");
}

static void listener_has_no_data(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);

	note_reply("listener", on(test->server, rq_send(listener, 1, MSG_NOSIGNAL, UP, 0)));
	note_reply("listener", on(test->server, rq_recv(listener, 1, MSG_DONTWAIT, UP, 0)));
	note_reply("listener", on(test->server, rq_peername(listener)));
	note_reply("listener", on(test->server, rq_get(listener, SOL_SOCKET, SO_ACCEPTCONN,
						       OPTION_INT)));
}

const struct test_case accept_cases[] = {
	{ "bind_names", bind_names, FATE_NONE },
	{ "bind_reuse", bind_reuse, FATE_SMC },
	{ "bind_bad_address", bind_bad_address, FATE_NONE },
	{ "listen_picks_port", listen_picks_port, FATE_SMC },
	{ "listen_again", listen_again, FATE_SMC },
	{ "accept_flags", accept_flags, FATE_SMC },
	{ "accept_nothing", accept_nothing, FATE_NONE },
	{ "accept_polled", accept_polled, FATE_SMC },
	{ "accept_wakes", accept_wakes, FATE_SMC },
	{ "accept_later", accept_later, FATE_SMC },
	{ "accept_after_close", accept_after_close, FATE_SMC },
	{ "accept_interrupted", accept_interrupted, FATE_NONE },
	{ "listener_close_resets", listener_close_resets, FATE_UNACCEPTED },
	{ "listener_shutdown", listener_shutdown, FATE_SMC },
	{ "listener_has_no_data", listener_has_no_data, FATE_NONE },
	{ NULL, NULL, FATE_NONE },
};
