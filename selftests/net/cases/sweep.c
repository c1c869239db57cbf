// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every option number and many ioctls, in every state of a socket: what TCP refuses is refused in
 * the same way, what it knows has the same value. Left out is what differs by nature.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "test.h"

#define OPTIONS_MAX 90
#ifndef IP_PROTOCOL
#define IP_PROTOCOL 52
#endif

enum state { STATE_FRESH, STATE_LISTENING, STATE_CONNECTED, STATE_CLOSED };

/* A socket of the client's (or the listener of the server's) in that state, and its host. */
static int socket_in(struct test *test, enum state state, struct host **host)
{
	struct pair pair;

	*host = test->client;
	switch (state) {
	case STATE_FRESH:
		return new_socket(test, test->client, 0);
	case STATE_LISTENING:
		*host = test->server;
		return new_listener(test, 4, &pair.address);
	case STATE_CONNECTED:
		return connect_pair(test).client;
	case STATE_CLOSED:
		pair = connect_pair(test);
		expect_ret(on(test->server, rq_set_linger(pair.server, true, 0)), 0);
		expect_ret(on(test->server, rq_close(pair.server)), 0);
		expect_error(on(test->client, rq_recv(pair.client, 1, 0, DOWN, 0)), ECONNRESET);
		return pair.client;
	}
	return -1;
}

/* Values that change from run to run, or depend on memory, time or place. */
static bool value_varies(int level, int option)
{
	static const int of_socket[] = {
		SO_COOKIE, SO_INCOMING_NAPI_ID, SO_INCOMING_CPU, SO_MEMINFO, SO_SNDBUF,
		SO_RCVBUF, SO_PEERCRED,		SO_PEERSEC,	 SO_PEERNAME,
	};
	static const int of_tcp[] = {
		TCP_INFO,	 TCP_MAXSEG, TCP_WINDOW_CLAMP, TCP_TIMESTAMP, TCP_CC_INFO,
		TCP_SAVED_SYN,	 TCP_QUEUE_SEQ, TCP_CONGESTION, TCP_QUICKACK, TCP_TX_DELAY,
	};

	if (level == SOL_SOCKET) {
		for (size_t i = 0; i < sizeof(of_socket) / sizeof(of_socket[0]); i++)
			if (of_socket[i] == option)
				return true;
	} else if (level == IPPROTO_TCP) {
		for (size_t i = 0; i < sizeof(of_tcp) / sizeof(of_tcp[0]); i++)
			if (of_tcp[i] == option)
				return true;
	} else if (level == IPPROTO_IP) {
		return option == IP_MTU || option == IP_PROTOCOL;
	} else if (level == IPPROTO_IPV6) {
		return option == IPV6_MTU || option == IPV6_PATHMTU;
	}
	return false;
}

/* Options that SMC does not have: Documentation/compatibility.md. */
static bool is_known_to_differ(int level, int option)
{
	if (level == IPPROTO_TCP)
		return option == TCP_ULP || option == TCP_REPAIR || option == TCP_FASTOPEN ||
		       option == TCP_FASTOPEN_CONNECT || option == TCP_FASTOPEN_KEY ||
		       option == TCP_FASTOPEN_NO_COOKIE || option == TCP_ZEROCOPY_RECEIVE;
	/* IPV6_ADDRFORM. */
	return level == IPPROTO_IPV6 && option == 1;
}

static void get_all(struct test *test, enum state state, int level)
{
	struct host *host;
	int fd = socket_in(test, state, &host);

	for (int option = 0; option <= OPTIONS_MAX; option++) {
		struct reply reply;

		if (is_known_to_differ(level, option))
			continue;
		reply = on(host, rq_get(fd, level, option, OPTION_INT));
		/* Unknown options nearly all fail alike, so only the number is noted. */
		if (reply.ret < 0 && reply.error == ENOPROTOOPT)
			note("%d", option);
		else if (reply.ret < 0)
			note("%d: errno %d", option, reply.error);
		else if (value_varies(level, option))
			note("%d: some value", option);
		else
			note("%d: %lld", option, (long long)reply.values[0]);
	}
}

static void set_all(struct test *test, enum state state, int level, int value)
{
	struct host *host;
	int fd = socket_in(test, state, &host);

	for (int option = 0; option <= OPTIONS_MAX; option++) {
		struct reply reply;

		/* Device 1 is the loopback device: without it the connection could not even end. */
		if (is_known_to_differ(level, option) ||
		    (level == SOL_SOCKET && option == SO_BINDTOIFINDEX))
			continue;
		reply = on(host, rq_set_int(fd, level, option, value));
		note("%d: %lld %d", option, (long long)reply.ret, reply.ret ? reply.error : 0);
	}
	if (state == STATE_CONNECTED)
		note("events %#llx", (long long)poll_events(host, fd, POLLIN | POLLOUT, 0));
}

static int ip_level(const struct test *test)
{
	return test->family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
}

/* One case for each state. */
#define SWEEP(name, call) \
	static void name##_fresh(struct test *test) \
	{ \
		enum state state = STATE_FRESH; \
		call; \
	} \
	static void name##_listening(struct test *test) \
	{ \
		enum state state = STATE_LISTENING; \
		call; \
	} \
	static void name##_connected(struct test *test) \
	{ \
		enum state state = STATE_CONNECTED; \
		call; \
	} \
	static void name##_closed(struct test *test) \
	{ \
		enum state state = STATE_CLOSED; \
		call; \
	}

SWEEP(get_socket_options, get_all(test, state, SOL_SOCKET))
SWEEP(get_tcp_options, get_all(test, state, IPPROTO_TCP))
SWEEP(get_ip_options, get_all(test, state, ip_level(test)))
SWEEP(set_socket_options, set_all(test, state, SOL_SOCKET, 1))
SWEEP(set_tcp_options, set_all(test, state, IPPROTO_TCP, 1))
SWEEP(set_ip_options, set_all(test, state, ip_level(test), 1))

static void ioctls(struct test *test, enum state state)
{
	static const int64_t commands[] = {
		FIONREAD,   SIOCOUTQ,	SIOCOUTQNSD, SIOCATMARK, SIOCGPGRP, FIOGETOWN,
		SIOCSPGRP,  FIONBIO,	FIOASYNC,    TIOCOUTQ,	 0x1234,    SIOCGSTAMP_OLD,
		SIOCGIFINDEX, TCGETS,
	};
	struct host *host;
	int fd = socket_in(test, state, &host);

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		note("%#llx", (unsigned long long)commands[i]);
		note_reply("ioctl", on(host, rq_ioctl_int(fd, commands[i])));
	}
}

SWEEP(ioctl, ioctls(test, state))

static void shutdowns(struct test *test, enum state state)
{
	static const int hows[] = { -1, 3, SHUT_RD, SHUT_WR, SHUT_RDWR, SHUT_WR };
	struct host *host;
	int fd = socket_in(test, state, &host);

	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		note_reply("shutdown", on(host, rq_shutdown(fd, hows[i])));
		note("events %#llx",
		     (long long)poll_events(host, fd, POLLIN | POLLOUT | POLLRDHUP, 0));
	}
	note_reply("recv", on(host, rq_recv(fd, 1, MSG_DONTWAIT, DOWN, 0)));
	note_reply("send", on(host, rq_send(fd, 1, MSG_DONTWAIT | MSG_NOSIGNAL, UP, 0)));
}

SWEEP(shutdown, shutdowns(test, state))

static void names_of(struct test *test, enum state state)
{
	struct host *host;
	int fd = socket_in(test, state, &host);
	struct reply reply = on(host, rq_sockname(fd));

	note("own %lld, %d, family %d, port %d", (long long)reply.ret,
	     (int)reply.address.length, reply.address.storage.ss_family,
	     address_port(&reply.address) != 0);
	reply = on(host, rq_peername(fd));
	note("peer %lld, errno %d", (long long)reply.ret, reply.ret ? reply.error : 0);
	note_reply("listen", on(host, rq_listen(fd, 3)));
	note_reply("bind", on(host, rq_bind(fd, &test->server_address)));
	note_reply("accept", on(host, rq_fcntl(fd, 4 /* F_SETFL */, 04000 /* O_NONBLOCK */)));
	note_reply("accept", on(host, rq_accept(fd, 0)));
}

SWEEP(names, names_of(test, state))

#define STATES(name) \
	{ #name "_fresh", name##_fresh, FATE_NONE }, \
	{ #name "_listening", name##_listening, FATE_NONE }, \
	{ #name "_connected", name##_connected, FATE_SMC }, \
	{ #name "_closed", name##_closed, FATE_SMC }

const struct test_case sweep_cases[] = {
	STATES(get_socket_options),
	STATES(get_tcp_options),
	STATES(get_ip_options),
	STATES(set_socket_options),
	STATES(set_tcp_options),
	STATES(set_ip_options),
	STATES(ioctl),
	STATES(shutdown),
	STATES(names),
	{ NULL, NULL, FATE_NONE },
};
