// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

static void receive_timeout(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->server, rq_set_timeout(pair.server, SO_RCVTIMEO, 600)), 0);
	note_reply("SO_RCVTIMEO",
		   on(test->server, rq_get(pair.server, SOL_SOCKET, SO_RCVTIMEO, OPTION_TIMEVAL)));
	reply = expect_error(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), EAGAIN);
	expect(reply.elapsed_ms >= 500 && reply.elapsed_ms < 2500, "recv took %u ms",
	       reply.elapsed_ms);
	exchange_both(test, &pair, 0);
}

static void send_timeout(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;
	int64_t sent = 0;

	expect_ret(on(test->client, rq_set_timeout(pair.client, SO_SNDTIMEO, 800)), 0);
	/* Each send() fills the buffers and then blocks; TCP finds more room while it waits. */
	do {
		reply = on(test->client, rq_send(pair.client, 5000000, 0, UP, sent));
		expect(reply.ret < 5000000, "send took all");
		if (reply.ret > 0)
			sent += reply.ret;
	} while (reply.ret > 0);
	expect_error(reply, EAGAIN);
	expect(sent > 0, "nothing was taken");
	expect(reply.elapsed_ms >= 600 && reply.elapsed_ms < 3000, "send took %u ms",
	       reply.elapsed_ms);
	expect_ret(on(test->server, rq_recv_loop(pair.server, sent, 65536, UP, 0)), sent);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void buffer_sizes(struct test *test)
{
	static const int options[] = { SO_SNDBUF, SO_RCVBUF };
	int fd = new_socket(test, test->client, 0);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		expect_ret(on(test->client, rq_set_int(fd, SOL_SOCKET, options[i], 40000)), 0);
		note_reply("40000",
			   on(test->client, rq_get(fd, SOL_SOCKET, options[i], OPTION_INT)));
		expect_ret(on(test->client, rq_set_int(fd, SOL_SOCKET, options[i], 1)), 0);
		note_reply("1", on(test->client, rq_get(fd, SOL_SOCKET, options[i], OPTION_INT)));
	}
}

/* Sizes from the least to the most that is granted carry data all the same. */
static void buffer_sizes_work(struct test *test)
{
	static const int sizes[] = { 1, 16384, 200000, 1000000, 100000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pair pair =
			connect_pair_with(test, (struct pair_options){ sizes[i], sizes[i] });

		exchange(test->client, pair.client, test->server, pair.server, 300000, UP, 0);
		exchange(test->server, pair.server, test->client, pair.client, 300000, DOWN, 0);
	}
}

/* Buffers changed on a connection must not disturb what is under way. */
static void buffer_sizes_change(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->client, 1, rq_send(pair.client, 800000, 0, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 100000, 10000, UP, 0)), 100000);
	expect_ret(on(test->client, rq_set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 20000)), 0);
	expect_ret(on(test->server, rq_set_int(pair.server, SOL_SOCKET, SO_RCVBUF, 200000)), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 700000, 65536, UP, 100000)), 700000);
	expect_ret(finish(test->client, 1), 800000);
}

static void nodelay(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_NODELAY, 1)), 0);
	note_reply("TCP_NODELAY",
		   on(test->client, rq_get(pair.client, IPPROTO_TCP, TCP_NODELAY, OPTION_INT)));
	exchange_both(test, &pair, 0);
	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_NODELAY, 0)), 0);
	note_reply("TCP_NODELAY",
		   on(test->client, rq_get(pair.client, IPPROTO_TCP, TCP_NODELAY, OPTION_INT)));
	exchange_both(test, &pair, 100);
}

/* Corked bytes are sent when the cork is removed, at the latest. */
static void cork(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_CORK, 1)), 0);
	note_reply("TCP_CORK",
		   on(test->client, rq_get(pair.client, IPPROTO_TCP, TCP_CORK, OPTION_INT)));
	for (int i = 0; i < 10; i++)
		expect_ret(on(test->client, rq_send(pair.client, 30, 0, UP, i * 30)), 30);
	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_CORK, 0)), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 300, 300, UP, 0)), 300);
}

/* A cork holds back small pieces, but no full buffer, and for 200 ms at most. */
static void cork_is_no_trap(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_int(pair.client, IPPROTO_TCP, TCP_CORK, 1)), 0);
	start(test->client, 1, rq_send(pair.client, 500000, 0, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 500000, 65536, UP, 0)), 500000);
	expect_ret(finish(test->client, 1), 500000);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 500000)), 10);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, -1, 100, UP, 500000)), 10);
}

static void more(struct test *test)
{
	struct pair pair = connect_pair(test);

	for (int i = 0; i < 9; i++)
		expect_ret(on(test->client, rq_send(pair.client, 30, MSG_MORE, UP, i * 30)), 30);
	expect_ret(on(test->client, rq_send(pair.client, 30, 0, UP, 270)), 30);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 300, 300, UP, 0)), 300);
}

static int64_t ioctl_int(struct host *host, int fd, int64_t command)
{
	return expect_ret(on(host, rq_ioctl_int(fd, command)), 0).values[0];
}

/*
 * Checks within the 200 ms of a cork that the bytes are held; repeats where the check took longer.
 */
static bool holds(struct host *host, int fd, int64_t offset)
{
	for (int i = 0; i < 10; i++) {
		expect_ret(on(host, rq_send(fd, 5, 0, UP, offset + i * 5)), 5);
		if (ioctl_int(host, fd, SIOCOUTQNSD) != 0)
			return true;
	}
	return false;
}

/* The cork is set before connect(), and on the listener, from which accepted sockets inherit it. */
static void cork_before_the_connection(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);
	int server;

	expect_ret(on(test->server, rq_set_int(listener, IPPROTO_TCP, TCP_CORK, 1)), 0);
	expect_ret(on(test->client, rq_set_int(client, IPPROTO_TCP, TCP_CORK, 1)), 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	expect(holds(test->client, client, 0), "the client holds nothing");
	expect(holds(test->server, server, 0), "the server holds nothing");
}

static void bytes_readable(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect(ioctl_int(test->server, pair.server, FIONREAD) == 0, "bytes before any were sent");
	expect_ret(on(test->client, rq_send(pair.client, 1234, 0, UP, 0)), 1234);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect(ioctl_int(test->server, pair.server, FIONREAD) == 1234, "FIONREAD");
	expect(ioctl_int(test->server, pair.server, SIOCINQ) == 1234, "SIOCINQ");
	expect_ret(on(test->server, rq_recv(pair.server, 34, 0, UP, 0)), 34);
	expect(ioctl_int(test->server, pair.server, SIOCINQ) == 1200, "SIOCINQ after a read");
	expect_ret(on(test->server, rq_recv(pair.server, 1200, 0, UP, 34)), 1200);
	expect(ioctl_int(test->server, pair.server, SIOCINQ) == 0, "SIOCINQ when empty");
	note_reply("listener", on(test->server, rq_ioctl_int(pair.listener, SIOCINQ)));
	note_reply("unconnected", on(test->server, rq_ioctl_int(new_socket(test, test->server, 0),
								SIOCINQ)));
}

static void bytes_unsent(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled;
	int64_t left = -1;

	expect(ioctl_int(test->client, pair.client, SIOCOUTQ) == 0, "bytes before any were sent");
	filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	expect(ioctl_int(test->client, pair.client, SIOCOUTQ) > 0, "full, but SIOCOUTQ is 0");
	expect(ioctl_int(test->client, pair.client, SIOCOUTQNSD) > 0, "full, but SIOCOUTQNSD is 0");
	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 65536, UP, 0)),
		   filled.ret);
	for (int i = 0; i < 50 && left; i++) {
		left = ioctl_int(test->client, pair.client, SIOCOUTQ);
		sleep_ms(100);
	}
	expect(left == 0, "%lld bytes in SIOCOUTQ after all were read", (long long)left);
	expect(ioctl_int(test->client, pair.client, SIOCOUTQNSD) == 0, "SIOCOUTQNSD when drained");
	note_reply("listener", on(test->server, rq_ioctl_int(pair.listener, SIOCOUTQ)));
}

static void socket_facts(struct test *test)
{
	static const int options[] = { SO_TYPE, SO_ACCEPTCONN, SO_ERROR, SO_KEEPALIVE, SO_REUSEADDR,
				       SO_BROADCAST, SO_OOBINLINE, SO_PRIORITY };
	struct pair pair = connect_pair(test);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		note_reply("client", on(test->client, rq_get(pair.client, SOL_SOCKET, options[i],
							     OPTION_INT)));
		note_reply("server", on(test->server, rq_get(pair.server, SOL_SOCKET, options[i],
							     OPTION_INT)));
	}
}

/* Options of TCP and IP reach the TCP socket underneath, with any length. */
static void other_levels(struct test *test)
{
	int level = test->family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
	int traffic = test->family == AF_INET6 ? IPV6_TCLASS : IP_TOS;
	int fd = new_socket(test, test->client, 0);

	note_reply("traffic class", on(test->client, rq_set_int(fd, level, traffic, 0x20)));
	note_reply("traffic class", on(test->client, rq_get(fd, level, traffic, OPTION_INT)));
	if (test->family == AF_INET) {
		note_reply("one byte", on(test->client, rq_set_byte(fd, level, traffic, 0x10)));
		note_reply("one byte", on(test->client, rq_get(fd, level, traffic, OPTION_INT)));
	}
	note_reply("TCP_KEEPIDLE", on(test->client, rq_set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 77)));
	note_reply("TCP_KEEPIDLE",
		   on(test->client, rq_get(fd, IPPROTO_TCP, TCP_KEEPIDLE, OPTION_INT)));
	note_reply("unknown", on(test->client, rq_set_int(fd, SOL_SOCKET, 9999, 1)));
	note_reply("unknown", on(test->client, rq_get(fd, SOL_SOCKET, 9999, OPTION_INT)));
	note_reply("unknown", on(test->client, rq_set_int(fd, IPPROTO_TCP, 9999, 1)));
}

/*
 * 23 is TCP_FASTOPEN at one level and IP_CHECKSUM or IPV6_MTU_DISCOVER at another, 33 and 34
 * are fast open's and multicast's: those of IP must not be taken for TCP's.
 */
static void option_numbers_belong_to_levels(struct test *test)
{
	int level = test->family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	on(test->client, rq_set_int(fd, level, 23, 1));
	on(test->client, rq_set_int(fd, level, 33, 1));
	on(test->client, rq_set_int(fd, level, 34, 1));
	expect_ret(on(test->client, rq_connect(fd, &address)), 0);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	note_reply("connected", on(test->client, rq_set_int(fd, level, 23, 1)));
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

static void names(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply client = expect_ret(on(test->client, rq_sockname(pair.client)), 0);
	struct reply server = expect_ret(on(test->server, rq_peername(pair.server)), 0);

	expect(client.address.length == server.address.length, "lengths differ");
	expect(client.address.storage.ss_family == test->family, "family %d",
	       client.address.storage.ss_family);
	expect(address_port(&client.address) == address_port(&server.address), "ports %u and %u",
	       address_port(&client.address), address_port(&server.address));
	client = expect_ret(on(test->client, rq_peername(pair.client)), 0);
	server = expect_ret(on(test->server, rq_sockname(pair.server)), 0);
	expect(address_port(&client.address) == address_port(&pair.address), "port %u",
	       address_port(&client.address));
	expect(address_port(&server.address) == address_port(&pair.address), "port %u",
	       address_port(&server.address));
}

const struct test_case option_cases[] = {
	{ "receive_timeout", receive_timeout, FATE_SMC },
	{ "send_timeout", send_timeout, FATE_SMC },
	{ "buffer_sizes", buffer_sizes, FATE_NONE },
	{ "buffer_sizes_work", buffer_sizes_work, FATE_SMC },
	{ "buffer_sizes_change", buffer_sizes_change, FATE_SMC },
	{ "nodelay", nodelay, FATE_SMC },
	{ "cork", cork, FATE_SMC },
	{ "cork_is_no_trap", cork_is_no_trap, FATE_SMC },
	{ "more", more, FATE_SMC },
	{ "cork_before_the_connection", cork_before_the_connection, FATE_SMC },
	{ "bytes_readable", bytes_readable, FATE_SMC },
	{ "bytes_unsent", bytes_unsent, FATE_SMC },
	{ "socket_facts", socket_facts, FATE_SMC },
	{ "other_levels", other_levels, FATE_NONE },
	{ "option_numbers_belong_to_levels", option_numbers_belong_to_levels, FATE_SMC },
	{ "names", names, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
