// SPDX-License-Identifier: GPL-2.0-only
/* Many messages in one call, pieces of every size, control data, flags that TCP knows or not. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>

#include "test.h"

#ifndef MSG_BATCH
#define MSG_BATCH 0x40000
#endif
#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

static void arrived(struct test *test, const struct pair *pair)
{
	expect(poll_events(test->server, pair->server, POLLIN, 5000) == POLLIN, "nothing came");
	sleep_ms(100);
}

static void expect_messages(struct reply reply, int64_t messages, int64_t bytes)
{
	expect_ret(reply, messages);
	expect(reply.values[0] == bytes, "%lld bytes, not %lld", (long long)reply.values[0],
	       (long long)bytes);
	if (reply.op == OP_RECV_MMSG)
		expect(reply.values[1] == bytes, "wrong byte at %lld",
		       (long long)reply.values[1]);
}

static void sendmmsg_all(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_messages(on(test->client, rq_send_mmsg(pair.client, 8, 700, 0, UP, 0)), 8, 5600);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 5600, 5600, UP, 0)), 5600);
	expect_messages(on(test->client, rq_send_mmsg(pair.client, 8, 1, MSG_MORE, UP, 5600)), 8,
			8);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 5608)), 10);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 18, 100, UP, 5600)), 18);
}

static void sendmmsg_until_full(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	struct reply reply;

	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 65536, UP, 0)),
		   filled.ret);
	expect(poll_events(test->client, pair.client, POLLOUT, 5000) == POLLOUT, "not writable");
	reply = on(test->client,
		   rq_send_mmsg(pair.client, 4, 1000000, MSG_DONTWAIT, UP, filled.ret));
	/* The last message may have been sent in part. */
	expect(reply.ret >= 1 && reply.ret < 4, "%lld messages", (long long)reply.ret);
	expect_ret(on(test->server, rq_recv_loop(pair.server, reply.values[0], 65536, UP,
						 filled.ret)),
		   reply.values[0]);
}

static void sendmmsg_to_a_closed_one(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_error(on(test->client, rq_send_mmsg(pair.client, 4, 10, MSG_NOSIGNAL, UP, 0)),
		     EPIPE);
	note_reply("none", on(test->client, rq_send_mmsg(pair.client, 0, 10, MSG_NOSIGNAL, UP, 0)));
}

static void recvmmsg_fills(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 1000, 0, UP, 0)), 1000);
	arrived(test, &pair);
	expect_messages(on(test->server,
			   rq_recv_mmsg(pair.server, 5, 100, MSG_DONTWAIT, -1, UP, 0)),
			5, 500);
	expect_messages(on(test->server,
			   rq_recv_mmsg(pair.server, 8, 100, MSG_DONTWAIT, -1, UP, 500)),
			5, 500);
	expect_error(on(test->server, rq_recv_mmsg(pair.server, 8, 100, MSG_DONTWAIT, -1, UP, 0)),
		     EAGAIN);
}

static void recvmmsg_waits_for_one(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv_mmsg(pair.server, 8, 100, MSG_WAITFORONE, -1, UP, 0));
	expect(still_running(test->server, 1, 300), "recvmmsg did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 40, 0, UP, 0)), 40);
	expect_messages(finish(test->server, 1), 1, 40);
}

static void recvmmsg_waits_for_all(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv_mmsg(pair.server, 3, 100, MSG_WAITALL, -1, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 250, 0, UP, 0)), 250);
	expect(still_running(test->server, 1, 300), "recvmmsg did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 50, 0, UP, 250)), 50);
	expect_messages(finish(test->server, 1), 3, 300);
}

static void recvmmsg_at_the_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 150, 0, UP, 0)), 150);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(poll_events(test->server, pair.server, POLLRDHUP, 5000) & POLLRDHUP, "no end");
	note_reply("end", on(test->server, rq_recv_mmsg(pair.server, 4, 100, 0, -1, UP, 0)));
	note_reply("again", on(test->server, rq_recv_mmsg(pair.server, 4, 100, 0, -1, UP, 150)));
}

static void recvmmsg_timeout(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	arrived(test, &pair);
	/* The timeout is checked only after each message, so the second one must arrive. */
	start(test->server, 1, rq_recv_mmsg(pair.server, 8, 100, 0, 200, UP, 0));
	sleep_ms(500);
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 100)), 100);
	expect_messages(finish(test->server, 1), 2, 200);
}

static void pieces_of_every_size(struct test *test)
{
	static const int64_t lengths[] = { 1, 2, 15, 16, 17, 100, 4097, 70000 };
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		/* More pieces than bytes: most of them are empty. */
		start(test->server, 1,
		      rq_recv_by(pair.server, RECV_RECVMSG, lengths[i], MSG_WAITALL, 16, UP,
				 offset));
		expect_ret(on(test->client, rq_send_by(pair.client, SEND_SENDMSG, lengths[i], 0, 16,
						       UP, offset)),
			   lengths[i]);
		expect_ret(finish(test->server, 1), lengths[i]);
		offset += lengths[i];
	}
}

static void pieces_of_nothing(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send_by(pair.client, SEND_WRITEV, 0, 0, 5, UP, 0)), 0);
	expect_ret(on(test->client, rq_send_by(pair.client, SEND_SENDMSG, 0, 0, 5, UP, 0)), 0);
	expect_ret(on(test->client, rq_send_by(pair.client, SEND_WRITE, 0, 0, 1, UP, 0)), 0);
	note_reply("empty", on(test->server, rq_recv_by(pair.server, RECV_RECVMSG, 0, MSG_DONTWAIT,
							5, UP, 0)));
	expect_ret(on(test->server, rq_recv_by(pair.server, RECV_READ, 0, 0, 1, UP, 0)), 0);
	expect_ret(on(test->server, rq_recv_by(pair.server, RECV_READV, 0, 0, 5, UP, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	arrived(test, &pair);
	note_reply("some", on(test->server, rq_recv_by(pair.server, RECV_RECVMSG, 0, MSG_DONTWAIT,
						       5, UP, 0)));
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 10);
}

static void trunc_throws_away(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	start(test->client, 1, rq_send(pair.client, 300000, 0, UP, 0));
	expect(on(test->server, rq_recv(pair.server, 200000, MSG_TRUNC | MSG_WAITALL, UP, 0)).ret ==
		       200000,
	       "MSG_TRUNC did not take 200000 bytes");
	expect_ret(on(test->server, rq_recv_loop(pair.server, 100000, 65536, UP, 200000)), 100000);
	expect_ret(finish(test->client, 1), 300000);
}

static void trunc_needs_no_memory(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->client, rq_send(pair.client, 3000, 0, UP, 0)), 3000);
	arrived(test, &pair);
	reply = on(test->server, rq_recv_bad(pair.server, 0, MSG_TRUNC, SEED_ANY, 0));
	note("taken %lld", (long long)reply.ret);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void trunc_and_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 300, 0, UP, 0)), 300);
	arrived(test, &pair);
	expect(on(test->server, rq_recv(pair.server, 200, MSG_TRUNC | MSG_PEEK, UP, 0)).ret == 200,
	       "MSG_TRUNC with MSG_PEEK");
	note_reply("facts", on(test->server, rq_recv_facts(pair.server, 200, MSG_TRUNC | MSG_PEEK,
							   UP, 0)));
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 300);
}

/* recvmsg() returns no name, no control data, and these flags. */
static void facts_of_messages(struct test *test)
{
	static const int flags[] = { 0, MSG_PEEK, MSG_DONTWAIT, MSG_WAITALL, MSG_CMSG_CLOEXEC };
	struct pair pair = connect_pair(test);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
		arrived(test, &pair);
		note_reply("facts",
			   on(test->server, rq_recv_facts(pair.server, 100, flags[i], UP, 0)));
		if (flags[i] == MSG_PEEK)
			expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 100);
	}
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	note_reply("end", on(test->server, rq_recv_facts(pair.server, 100, 0, UP, 0)));
}

static void tcp_inq_tells(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_set_int(pair.server, IPPROTO_TCP, TCP_INQ, 1)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 300, 0, UP, 0)), 300);
	arrived(test, &pair);
	note_reply("part", on(test->server, rq_recv_facts(pair.server, 100, 0, UP, 0)));
	note_reply("rest", on(test->server, rq_recv_facts(pair.server, 1000, 0, UP, 100)));
	expect_ret(on(test->server, rq_set_int(pair.server, IPPROTO_TCP, TCP_INQ, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 300, 0, UP, 300)), 300);
	arrived(test, &pair);
	note_reply("off", on(test->server, rq_recv_facts(pair.server, 100, 0, UP, 300)));
}

static void send_to_a_name(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct address nowhere = test->nowhere;

	/* On a connected socket TCP ignores the address. */
	address_set_port(&nowhere, 9);
	expect_ret(on(test->client, rq_send_to(pair.client, &nowhere, 100, 0, UP, 0)), 100);
	nowhere.storage.ss_family = AF_UNIX;
	note_reply("other family",
		   on(test->client, rq_send_to(pair.client, &nowhere, 100, 0, UP, 100)));
	nowhere.length = 2;
	note_reply("short", on(test->client, rq_send_to(pair.client, &nowhere, 100, 0, UP, 200)));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 300, 300, UP, 0)), 300);
}

static void send_to_unconnected(struct test *test)
{
	int fd = new_socket(test, test->client, 0);
	struct address address = test->server_address;

	address_set_port(&address, 9);
	note_reply("fresh", on(test->client, rq_send_to(fd, &address, 100, MSG_NOSIGNAL, UP, 0)));
	expect_error(on(test->client, rq_peername(fd)), ENOTCONN);
}

/* Control data that makes no sense on a stream. */
static void control_data(struct test *test)
{
	struct pair pair = connect_pair(test);

	note_reply("of SOL_SOCKET",
		   on(test->client, rq_send_control(pair.client, 10, SOL_SOCKET, 9999, 4)));
	note_reply("rights",
		   on(test->client, rq_send_control(pair.client, 10, SOL_SOCKET, SCM_RIGHTS, 4)));
	note_reply("of IP",
		   on(test->client, rq_send_control(pair.client, 10, IPPROTO_IP, IP_TTL, 4)));
	note_reply("of nobody", on(test->client, rq_send_control(pair.client, 10, 12345, 1, 4)));
	exchange(test->server, pair.server, test->client, pair.client, 100, DOWN, 0);
}

/* Each flag alone: the same count, or the same error. */
static void send_flags(struct test *test)
{
	static const int flags[] = { MSG_PEEK,	MSG_DONTROUTE, MSG_CTRUNC, MSG_PROXY,
				     MSG_TRUNC, MSG_EOR,       MSG_WAITALL, MSG_FIN,
				     MSG_SYN,	MSG_CONFIRM,   MSG_RST,	   MSG_ERRQUEUE,
				     MSG_BATCH, 0x10000000,    MSG_CMSG_CLOEXEC };
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct reply reply =
			on(test->client, rq_send(pair.client, 100, flags[i], UP, offset));

		note("%#x", (unsigned int)flags[i]);
		note_reply("sent", reply);
		if (reply.ret <= 0)
			continue;
		expect_ret(on(test->server,
			      rq_recv_loop(pair.server, reply.ret, 1000, UP, offset)),
			   reply.ret);
		offset += reply.ret;
	}
}

static void recv_flags(struct test *test)
{
	static const int flags[] = { MSG_DONTROUTE, MSG_CTRUNC, MSG_PROXY, MSG_EOR,
				     MSG_FIN,	    MSG_SYN,	MSG_CONFIRM, MSG_RST,
				     MSG_NOSIGNAL,  MSG_MORE,	MSG_BATCH, 0x10000000,
				     MSG_FASTOPEN,  MSG_CMSG_CLOEXEC };
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, offset)), 100);
		arrived(test, &pair);
		note("%#x", (unsigned int)flags[i]);
		note_reply("received",
			   on(test->server, rq_recv(pair.server, 100, flags[i], UP, offset)));
		on(test->server, rq_recv_drain(pair.server, 1000, SEED_ANY, 0));
		offset += 100;
	}
}

static void error_queue_is_empty(struct test *test)
{
	struct pair pair = connect_pair(test);
	int fd = new_socket(test, test->client, 0);

	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	arrived(test, &pair);
	expect_error(on(test->server, rq_recv(pair.server, 100, MSG_ERRQUEUE, UP, 0)), EAGAIN);
	note_reply("fresh", on(test->client, rq_recv(fd, 100, MSG_ERRQUEUE, UP, 0)));
	note_reply("listener", on(test->server, rq_recv(pair.listener, 100, MSG_ERRQUEUE, UP, 0)));
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 100);
}

const struct test_case message_cases[] = {
	{ "sendmmsg_all", sendmmsg_all, FATE_SMC },
	{ "sendmmsg_until_full", sendmmsg_until_full, FATE_SMC },
	{ "sendmmsg_to_a_closed_one", sendmmsg_to_a_closed_one, FATE_SMC },
	{ "recvmmsg_fills", recvmmsg_fills, FATE_SMC },
	{ "recvmmsg_waits_for_one", recvmmsg_waits_for_one, FATE_SMC },
	{ "recvmmsg_waits_for_all", recvmmsg_waits_for_all, FATE_SMC },
	{ "recvmmsg_at_the_end", recvmmsg_at_the_end, FATE_SMC },
	{ "recvmmsg_timeout", recvmmsg_timeout, FATE_SMC },
	{ "pieces_of_every_size", pieces_of_every_size, FATE_SMC },
	{ "pieces_of_nothing", pieces_of_nothing, FATE_SMC },
	{ "trunc_throws_away", trunc_throws_away, FATE_SMC },
	{ "trunc_needs_no_memory", trunc_needs_no_memory, FATE_SMC },
	{ "trunc_and_peek", trunc_and_peek, FATE_SMC },
	{ "facts_of_messages", facts_of_messages, FATE_SMC },
	{ "tcp_inq_tells", tcp_inq_tells, FATE_SMC },
	{ "send_to_a_name", send_to_a_name, FATE_SMC },
	{ "send_to_unconnected", send_to_unconnected, FATE_NONE },
	{ "control_data", control_data, FATE_SMC },
	{ "send_flags", send_flags, FATE_SMC },
	{ "recv_flags", recv_flags, FATE_SMC },
	{ "error_queue_is_empty", error_queue_is_empty, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
