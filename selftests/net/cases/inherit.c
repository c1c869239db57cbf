// SPDX-License-Identifier: GPL-2.0-only
/* Options that were set before: kept by connect(), and taken over by accepted sockets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include "test.h"

struct option_value {
	int level;
	int option;
	int value;
};

static const struct option_value socket_options[] = {
	{ SOL_SOCKET, SO_KEEPALIVE, 1 },   { SOL_SOCKET, SO_OOBINLINE, 1 },
	{ SOL_SOCKET, SO_PRIORITY, 5 },	   { SOL_SOCKET, SO_MARK, 77 },
	{ SOL_SOCKET, SO_RCVLOWAT, 9 },	   { SOL_SOCKET, SO_REUSEADDR, 1 },
	{ SOL_SOCKET, SO_REUSEPORT, 1 },   { SOL_SOCKET, SO_DONTROUTE, 1 },
	{ SOL_SOCKET, SO_TIMESTAMP, 1 },   { SOL_SOCKET, SO_ZEROCOPY, 1 },
	{ SOL_SOCKET, SO_BUSY_POLL, 0 },   { SOL_SOCKET, SO_INCOMING_CPU, 0 },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, 1000000000 },
};

static const struct option_value tcp_options[] = {
	{ IPPROTO_TCP, TCP_NODELAY, 1 },      { IPPROTO_TCP, TCP_CORK, 1 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 77 },    { IPPROTO_TCP, TCP_KEEPINTVL, 7 },
	{ IPPROTO_TCP, TCP_KEEPCNT, 3 },      { IPPROTO_TCP, TCP_SYNCNT, 4 },
	{ IPPROTO_TCP, TCP_LINGER2, 12 },     { IPPROTO_TCP, TCP_WINDOW_CLAMP, 60000 },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 33000 }, { IPPROTO_TCP, TCP_NOTSENT_LOWAT, 4000 },
	{ IPPROTO_TCP, TCP_INQ, 1 },	      { IPPROTO_TCP, TCP_SAVE_SYN, 1 },
};

static const struct option_value ip_options[] = {
	{ IPPROTO_IP, IP_TOS, 0x10 },	  { IPPROTO_IP, IP_TTL, 33 },
	{ IPPROTO_IP, IP_FREEBIND, 1 },	  { IPPROTO_IP, IP_RECVTOS, 1 },
	{ IPPROTO_IP, IP_MINTTL, 1 },	  { IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO },
};

static const struct option_value ipv6_options[] = {
	{ IPPROTO_IPV6, IPV6_TCLASS, 0x10 },	 { IPPROTO_IPV6, IPV6_UNICAST_HOPS, 33 },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, 1 },	 { IPPROTO_IPV6, IPV6_MINHOPCOUNT, 1 },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO },
};

static void set_all(struct host *host, int fd, const struct option_value *options, size_t count)
{
	for (size_t i = 0; i < count; i++)
		note_reply("set", on(host, rq_set_int(fd, options[i].level, options[i].option,
						      options[i].value)));
}

static void note_all(struct host *host, int fd, const char *label,
		     const struct option_value *options, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* The processor that receives the bytes is random. */
		if (options[i].level == SOL_SOCKET && options[i].option == SO_INCOMING_CPU)
			continue;
		note("%s %d:%d", label, options[i].level, options[i].option);
		note_reply("get", on(host, rq_get(fd, options[i].level, options[i].option,
						  OPTION_INT)));
	}
}

static void inherits(struct test *test, const struct option_value *options, size_t count)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);
	int server;

	set_all(test->server, listener, options, count);
	set_all(test->client, client, options, count);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	expect(server >= 0, "accept");
	note_all(test->server, listener, "listener", options, count);
	note_all(test->server, server, "accepted", options, count);
	note_all(test->client, client, "connected", options, count);
	exchange(test->client, client, test->server, server, 1000, UP, 0);
	exchange(test->server, server, test->client, client, 1000, DOWN, 0);
}

#define INHERITS(test, options) inherits(test, options, sizeof(options) / sizeof((options)[0]))

static void inherit_socket_options(struct test *test)
{
	INHERITS(test, socket_options);
}

static void inherit_tcp_options(struct test *test)
{
	INHERITS(test, tcp_options);
}

static void inherit_ip_options(struct test *test)
{
	if (test->family == AF_INET6)
		INHERITS(test, ipv6_options);
	else
		INHERITS(test, ip_options);
}

static void inherit_times(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);
	int server;

	expect_ret(on(test->server, rq_set_timeout(listener, SO_RCVTIMEO, 5300)), 0);
	expect_ret(on(test->server, rq_set_timeout(listener, SO_SNDTIMEO, 4700)), 0);
	expect_ret(on(test->server, rq_set_linger(listener, true, 3)), 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	note_reply("SO_RCVTIMEO",
		   on(test->server, rq_get(server, SOL_SOCKET, SO_RCVTIMEO, OPTION_TIMEVAL)));
	note_reply("SO_SNDTIMEO",
		   on(test->server, rq_get(server, SOL_SOCKET, SO_SNDTIMEO, OPTION_TIMEVAL)));
	note_reply("SO_LINGER",
		   on(test->server, rq_get(server, SOL_SOCKET, SO_LINGER, OPTION_LINGER)));
}

static void inherit_buffers(struct test *test)
{
	struct pair pair = connect_pair_with(test, (struct pair_options){ 40000, 50000 });

	note_reply("SO_SNDBUF",
		   on(test->server, rq_get(pair.server, SOL_SOCKET, SO_SNDBUF, OPTION_INT)));
	note_reply("SO_RCVBUF",
		   on(test->server, rq_get(pair.server, SOL_SOCKET, SO_RCVBUF, OPTION_INT)));
	note_reply("SO_SNDBUF",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_SNDBUF, OPTION_INT)));
	note_reply("SO_RCVBUF",
		   on(test->client, rq_get(pair.client, SOL_SOCKET, SO_RCVBUF, OPTION_INT)));
}

/* Flags of the listener's descriptor are not inherited. */
static void inherit_no_descriptor_flags(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	expect_ret(on(test->server, rq_fcntl(listener, F_SETFL, O_NONBLOCK)), 0);
	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	expect(poll_events(test->server, listener, POLLIN, 5000) == POLLIN, "nobody came");
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0 && !reply.values[0], "accept: %lld, O_NONBLOCK %lld",
	       (long long)reply.ret, (long long)reply.values[0]);
}

const struct test_case inherit_cases[] = {
	{ "inherit_socket_options", inherit_socket_options, FATE_SMC },
	{ "inherit_tcp_options", inherit_tcp_options, FATE_SMC },
	{ "inherit_ip_options", inherit_ip_options, FATE_SMC },
	{ "inherit_times", inherit_times, FATE_SMC },
	{ "inherit_buffers", inherit_buffers, FATE_SMC },
	{ "inherit_no_descriptor_flags", inherit_no_descriptor_flags, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
