// SPDX-License-Identifier: GPL-2.0-only
/* IPv6 sockets that speak IPv4: v4-mapped addresses, and IPV6_V6ONLY, which forbids them. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "test.h"

static struct address mapped(const struct address *address)
{
	struct address other = { .length = sizeof(struct sockaddr_in6) };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&other.storage;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = ((const struct sockaddr_in *)&address->storage)->sin_port;
	in6->sin6_addr.s6_addr[10] = 0xff;
	in6->sin6_addr.s6_addr[11] = 0xff;
	memcpy(&in6->sin6_addr.s6_addr[12],
	       &((const struct sockaddr_in *)&address->storage)->sin_addr, 4);
	return other;
}

static bool is_mapped(const struct address *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->storage;

	return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
}

static void need_ipv4(const struct test *test)
{
	if (test->family != AF_INET)
		skip_case("the hosts are met by IPv6");
}

/* A socket of the other family than the case's. */
static int socket_of(struct test *test, struct host *host, int family)
{
	struct test other = *test;
	struct reply reply;

	other.family = family;
	reply = on(host, rq_socket(&other, host, 0));
	expect(reply.ret >= 0, "socket: errno %d", reply.error);
	return (int)reply.ret;
}

static int dual_listener(struct test *test, struct address *address, int v6_only)
{
	int fd = socket_of(test, test->server, AF_INET6);
	struct address any;
	struct reply reply;

	address_make(&any, AF_INET6, NULL, 0);
	expect_ret(on(test->server, rq_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6_only)), 0);
	expect_ret(on(test->server, rq_bind(fd, &any)), 0);
	expect_ret(on(test->server, rq_listen(fd, 8)), 0);
	reply = expect_ret(on(test->server, rq_sockname(fd)), 0);
	*address = test->server_address;
	address_set_port(address, address_port(&reply.address));
	return fd;
}

static int accept_one(struct test *test, int listener, struct address *peer)
{
	struct reply reply = on(test->server, rq_accept(listener, 0));

	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	*peer = reply.address;
	return (int)reply.ret;
}

static void dual_listener_takes_ipv4(struct test *test)
{
	struct address address;
	struct address peer;
	int listener;
	int client;
	int server;

	need_ipv4(test);
	listener = dual_listener(test, &address, 0);
	client = new_socket(test, test->client, 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = accept_one(test, listener, &peer);
	expect(is_mapped(&peer), "the client's name is not mapped");
	peer = expect_ret(on(test->server, rq_sockname(server)), 0).address;
	expect(is_mapped(&peer), "our own name is not mapped");
	exchange(test->client, client, test->server, server, 5000, UP, 0);
	exchange(test->server, server, test->client, client, 5000, DOWN, 0);
}

static void mapped_client(struct test *test)
{
	struct address address;
	struct address other;
	struct address peer;
	int listener;
	int client;
	int server;

	need_ipv4(test);
	listener = new_listener(test, 8, &address);
	other = mapped(&address);
	client = socket_of(test, test->client, AF_INET6);
	expect_ret(on(test->client, rq_connect(client, &other)), 0);
	peer = expect_ret(on(test->client, rq_peername(client)), 0).address;
	expect(is_mapped(&peer), "the server's name is not mapped");
	server = accept_one(test, listener, &peer);
	expect(peer.storage.ss_family == AF_INET, "the client's family is %d",
	       peer.storage.ss_family);
	exchange(test->client, client, test->server, server, 5000, UP, 0);
	exchange(test->server, server, test->client, client, 5000, DOWN, 0);
}

static void mapped_at_both_ends(struct test *test)
{
	struct address address;
	struct address other;
	struct address peer;
	int listener;
	int client;
	int server;

	need_ipv4(test);
	listener = dual_listener(test, &address, 0);
	other = mapped(&address);
	client = socket_of(test, test->client, AF_INET6);
	expect_ret(on(test->client, rq_connect(client, &other)), 0);
	server = accept_one(test, listener, &peer);
	expect(is_mapped(&peer), "the client's name is not mapped");
	exchange(test->client, client, test->server, server, 5000, UP, 0);
	exchange(test->server, server, test->client, client, 5000, DOWN, 0);
}

static void mapped_refused(struct test *test)
{
	struct address address;
	struct address other;

	need_ipv4(test);
	address = closed_port(test);
	other = mapped(&address);
	expect_error(on(test->client,
			rq_connect(socket_of(test, test->client, AF_INET6), &other)),
		     ECONNREFUSED);
}

static void v6_only_client(struct test *test)
{
	struct address address;
	struct address other;
	int client;

	need_ipv4(test);
	new_listener(test, 8, &address);
	other = mapped(&address);
	client = socket_of(test, test->client, AF_INET6);
	expect_ret(on(test->client, rq_set_int(client, IPPROTO_IPV6, IPV6_V6ONLY, 1)), 0);
	note_reply("mapped", on(test->client, rq_connect(client, &other)));
	note_reply("IPv4", on(test->client, rq_connect(client, &address)));
}

static void v6_only_listener(struct test *test)
{
	struct address address;

	need_ipv4(test);
	dual_listener(test, &address, 1);
	expect_error(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)),
		     ECONNREFUSED);
}

/* Both families on one port, where the IPv6 listener leaves IPv4 alone. */
static void listeners_side_by_side(struct test *test)
{
	struct address address;
	struct address any;
	struct address peer;
	struct reply bound;
	int tries = 8;
	int second;
	int client;
	int server;

	need_ipv4(test);
	/* A port that is free for IPv6 may still be an earlier case's for IPv4. */
	do {
		dual_listener(test, &address, 1);
		second = new_socket(test, test->server, 0);
		address_make(&any, AF_INET, NULL, address_port(&address));
		bound = on(test->server, rq_bind(second, &any));
	} while (bound.ret < 0 && bound.error == EADDRINUSE && --tries);
	expect_ret(bound, 0);
	expect_ret(on(test->server, rq_listen(second, 8)), 0);
	client = new_socket(test, test->client, 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = accept_one(test, second, &peer);
	expect(peer.storage.ss_family == AF_INET, "the client's family is %d",
	       peer.storage.ss_family);
	exchange(test->client, client, test->server, server, 1000, UP, 0);
}

/* An IPv4 address for an IPv6 socket, and the other way round. */
static void other_family(struct test *test)
{
	struct address six;
	struct address four;

	address_make(&six, AF_INET6, "fd09::1234", 9);
	address_make(&four, AF_INET, "127.0.0.1", 9);
	note_reply("IPv6 to IPv4",
		   on(test->client, rq_connect(socket_of(test, test->client, AF_INET), &six)));
	note_reply("IPv4 to IPv6",
		   on(test->client, rq_connect(socket_of(test, test->client, AF_INET6), &four)));
	note_reply("bind",
		   on(test->client, rq_bind(socket_of(test, test->client, AF_INET6), &four)));
	note_reply("bind",
		   on(test->client, rq_bind(socket_of(test, test->client, AF_INET), &six)));
}

const struct test_case mapped_cases[] = {
	{ "dual_listener_takes_ipv4", dual_listener_takes_ipv4, FATE_SMC },
	{ "mapped_client", mapped_client, FATE_SMC },
	{ "mapped_at_both_ends", mapped_at_both_ends, FATE_SMC },
	{ "mapped_refused", mapped_refused, FATE_NONE },
	{ "v6_only_client", v6_only_client, FATE_NONE },
	{ "v6_only_listener", v6_only_listener, FATE_NONE },
	{ "listeners_side_by_side", listeners_side_by_side, FATE_SMC },
	{ "other_family", other_family, FATE_NONE },
	{ NULL, NULL, FATE_NONE },
};
