// SPDX-License-Identifier: GPL-2.0-only
/* Requests that only TCP can meet: the socket becomes TCP, and nobody notices. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "test.h"

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif

static void fastopen_send(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_send_to(fd, &address, 1000, MSG_FASTOPEN, UP, 0)), 1000);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 1000, MSG_WAITALL, UP, 0)), 1000);
	exchange(test->server, (int)reply.ret, test->client, fd, 5000, DOWN, 0);
	exchange(test->client, fd, test->server, (int)reply.ret, 5000, UP, 1000);
	expect_ret(on(test->client, rq_close(fd)), 0);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 1, 0, UP, 0)), 0);
}

static void fastopen_connect(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_set_int(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), 0);
	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	expect_ret(on(test->client, rq_send(fd, 1000, 0, UP, 0)), 1000);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect_ret(on(test->server, rq_recv((int)reply.ret, 1000, MSG_WAITALL, UP, 0)), 1000);
	exchange(test->server, (int)reply.ret, test->client, fd, 5000, DOWN, 0);
}

static void fastopen_on_connected(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply = on(test->client, rq_send_to(pair.client, &pair.address, 100,
							 MSG_FASTOPEN, UP, 0));

	expect(reply.ret == -1, "fast open on a connection returned %lld", (long long)reply.ret);
	exchange_both(test, &pair, 0);
}

const struct test_case fallback_cases[] = {
	{ "fastopen_send", fastopen_send, FATE_TCP_ONLY },
	{ "fastopen_connect", fastopen_connect, FATE_TCP_ONLY },
	{ "fastopen_on_connected", fastopen_on_connected, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
