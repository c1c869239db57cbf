// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

static void every_call(struct test *test)
{
	static const enum send_call sends[] = { SEND_SEND, SEND_WRITE, SEND_WRITEV, SEND_SENDMSG };
	static const enum recv_call recvs[] = { RECV_RECV, RECV_READ, RECV_READV, RECV_RECVMSG,
						RECV_RECVFROM };
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++)
		for (size_t j = 0; j < sizeof(recvs) / sizeof(recvs[0]); j++) {
			expect_ret(on(test->client,
				      rq_send_by(pair.client, sends[i], 1001, 0, 7, UP, offset)),
				   1001);
			expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN,
			       "nothing came");
			expect_ret(on(test->server,
				      rq_recv_by(pair.server, recvs[j], 1001, 0, 5, UP, offset)),
				   1001);
			offset += 1001;
		}
}

static void recv_partial(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect_ret(on(test->server, rq_recv(pair.server, 4, 0, UP, 0)), 4);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 4)), 6);
	expect_error(on(test->server, rq_recv(pair.server, 100, MSG_DONTWAIT, UP, 10)), EAGAIN);
}

static void zero_length(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 0, 0, UP, 0)), 0);
	expect_error(on(test->server, rq_recv(pair.server, 0, MSG_DONTWAIT, UP, 0)), EAGAIN);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
	expect_ret(on(test->client, rq_send(pair.client, 3, 0, UP, 0)), 3);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->server, rq_recv(pair.server, 0, 0, UP, 0)), 0);
	/* recv() of 0 bytes returns 0 also after its timeout. */
	expect_ret(on(test->client, rq_set_timeout(pair.client, SO_RCVTIMEO, 200)), 0);
	expect_ret(on(test->client, rq_recv(pair.client, 0, 0, DOWN, 0)), 0);
	expect_error(on(test->client, rq_recv(pair.client, 0, MSG_DONTWAIT, DOWN, 0)), EAGAIN);
	expect_ret(on(test->server, rq_recv(pair.server, 3, 0, UP, 0)), 3);
}

/* A blocking send() takes all bytes, however small the buffers. */
static void send_completes(struct test *test)
{
	static const enum send_call calls[] = { SEND_SEND, SEND_WRITE, SEND_WRITEV, SEND_SENDMSG };
	const int64_t length = 1000003;
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		start(test->client, 1,
		      rq_send_by(pair.client, calls[i], length, 0, 11, UP, offset));
		expect_ret(
			on(test->server, rq_recv_slowly(pair.server, length, 50000, 5, UP, offset)),
			length);
		expect_ret(finish(test->client, 1), length);
		offset += length;
	}
}

static void send_waits_for_room(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	start(test->client, 1, rq_send(pair.client, 2000000, 0, UP, 0));
	expect(still_running(test->client, 1, 1000), "send did not wait");
	expect_ret(on(test->server, rq_recv_loop(pair.server, 2000000, 65536, UP, 0)), 2000000);
	expect_ret(finish(test->client, 1), 2000000);
}

static void send_nonblocking(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled;
	struct reply more;

	filled = on(test->client, rq_send_fill(pair.client, 9999, UP, 0));
	expect(filled.error == EAGAIN, "full socket: errno %d", filled.error);
	expect(filled.ret >= 65536, "only %lld bytes were taken", (long long)filled.ret);
	expect_ret(on(test->client, rq_fcntl(pair.client, F_SETFL, O_NONBLOCK)), 0);
	expect_ret(on(test->server, rq_recv_loop(pair.server, filled.ret, 30000, UP, 0)),
		   filled.ret);
	expect(poll_events(test->client, pair.client, POLLOUT, 5000) == POLLOUT, "not writable");
	/* A non-blocking send may take a part, and then just that part arrives. */
	more = on(test->client, rq_send(pair.client, 5000000, 0, UP, filled.ret));
	expect(more.ret > 0 && more.ret <= 5000000, "send returned %lld", (long long)more.ret);
	expect_ret(on(test->server, rq_recv_loop(pair.server, more.ret, 65536, UP, filled.ret)),
		   more.ret);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void recv_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_error(on(test->server, rq_recv(pair.server, 5, MSG_PEEK | MSG_DONTWAIT, UP, 0)),
		     EAGAIN);
	expect_ret(on(test->client, rq_send(pair.client, 300, 0, UP, 0)), 300);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->server, rq_recv(pair.server, 5, MSG_PEEK, UP, 0)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_PEEK, UP, 0)), 300);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 100);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_PEEK, UP, 100)), 200);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 100)), 200);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_PEEK | MSG_DONTWAIT, UP, 0)),
		     EAGAIN);
}

/* Peeks and reads at every position of a ring, over its end too. */
static void recv_peek_wraps(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int64_t offset = 0;

	for (int i = 0; i < 12; i++) {
		exchange(test->client, pair.client, test->server, pair.server, 13001, UP, offset);
		offset += 13001;
		expect_ret(on(test->client, rq_send(pair.client, 20000, 0, UP, offset)), 20000);
		expect_ret(on(test->server, rq_recv(pair.server, 20000, MSG_PEEK | MSG_WAITALL, UP,
						    offset)),
			   20000);
		expect_ret(on(test->server, rq_recv(pair.server, 20000, MSG_WAITALL, UP, offset)),
			   20000);
		offset += 20000;
	}
}

static void recv_dontwait(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
	expect_ret(on(test->server, rq_fcntl(pair.server, F_SETFL, O_NONBLOCK)), 0);
	expect_error(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), EAGAIN);
	expect_error(on(test->server, rq_recv_by(pair.server, RECV_READ, 1, 0, 1, UP, 0)), EAGAIN);
	expect_ret(on(test->server, rq_fcntl(pair.server, F_SETFL, 0)), 0);
	exchange_both(test, &pair, 0);
}

static void recv_waits(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1000, 0, UP, 0));
	expect(still_running(test->server, 1, 300), "recv did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 77, 0, UP, 0)), 77);
	expect_ret(finish(test->server, 1), 77);
}

static void recv_interrupted(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1000, 0, UP, 0));
	expect(still_running(test->server, 1, 300), "recv did not wait");
	expect_ret(on(test->server, rq_interrupt(1)), 0);
	expect(!still_running(test->server, 1, 2000), "a signal did not end recv");
	expect_error(finish(test->server, 1), EINTR);
	exchange_both(test, &pair, 0);
}

/* What was taken before the signal is not lost: the count says so. */
static void send_interrupted(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	start(test->client, 1, rq_send(pair.client, 5000000, 0, UP, 0));
	expect(still_running(test->client, 1, 700), "send did not wait");
	expect_ret(on(test->client, rq_interrupt(1)), 0);
	expect(!still_running(test->client, 1, 2000), "a signal did not end send");
	reply = finish(test->client, 1);
	expect(reply.ret > 0 && reply.ret < 5000000, "send returned %lld", (long long)reply.ret);
	expect_ret(on(test->server, rq_recv_loop(pair.server, reply.ret, 65536, UP, 0)), reply.ret);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void recv_waitall(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 1000, MSG_WAITALL, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 400, 0, UP, 0)), 400);
	expect(still_running(test->server, 1, 300), "MSG_WAITALL did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 600, 0, UP, 400)), 600);
	expect_ret(finish(test->server, 1), 1000);
	/* At the end of the stream MSG_WAITALL returns what there is. */
	start(test->server, 1, rq_recv(pair.server, 1000, MSG_WAITALL, UP, 1000));
	expect_ret(on(test->client, rq_send(pair.client, 250, 0, UP, 1000)), 250);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_ret(finish(test->server, 1), 250);
}

static void recv_waitall_large(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	start(test->client, 1, rq_send(pair.client, 700001, 0, UP, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 700001, MSG_WAITALL, UP, 0)), 700001);
	expect_ret(finish(test->client, 1), 700001);
}

static void recv_waitall_timeout(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_set_timeout(pair.server, SO_RCVTIMEO, 500)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 40, 0, UP, 0)), 40);
	expect_ret(on(test->server, rq_recv(pair.server, 1000, MSG_WAITALL, UP, 0)), 40);
}

static void recv_truncates(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 500, 0, UP, 0)), 500);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect(on(test->server, rq_recv(pair.server, 200, MSG_TRUNC, UP, 0)).ret == 200,
	       "MSG_TRUNC did not take 200 bytes");
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 200)), 300);
}

static void many_sizes(struct test *test)
{
	static const int64_t sizes[] = {1,     2,     3,      7,      43,     44,     45,
					4095,  4096,  4097,   16383,  16384,  16385,  65535,
					65536, 65537, 100003, 131071, 131072, 131073, 262147};
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exchange(test->client, pair.client, test->server, pair.server, sizes[i], UP,
			 offset);
		exchange(test->server, pair.server, test->client, pair.client, sizes[i], DOWN,
			 offset);
		offset += sizes[i];
	}
}

static void both_ways_at_once(struct test *test)
{
	const int64_t length = 1500001;
	struct pair pair = connect_pair(test);

	start(test->client, 1, rq_send_loop(pair.client, length, 70001, UP, 0));
	start(test->server, 1, rq_send_loop(pair.server, length, 12345, DOWN, 0));
	start(test->client, 2, rq_recv_loop(pair.client, length, 33333, DOWN, 0));
	start(test->server, 2, rq_recv_loop(pair.server, length, 65536, UP, 0));
	expect_ret(finish(test->client, 1), length);
	expect_ret(finish(test->server, 1), length);
	expect_ret(finish(test->client, 2), length);
	expect_ret(finish(test->server, 2), length);
}

static void tiny_writes(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->client, 1, rq_send_loop(pair.client, 3000, 1, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 3000, 4096, UP, 0)), 3000);
	expect_ret(finish(test->client, 1), 3000);
}

static void tiny_reads(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	start(test->client, 1, rq_send(pair.client, 150000, 0, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 150000, 29, UP, 0)), 150000);
	expect_ret(finish(test->client, 1), 150000);
}

static void unconnected(struct test *test)
{
	int fd = new_socket(test, test->client, 0);

	expect_error(on(test->client, rq_send(fd, 1, 0, UP, 0)), EPIPE);
	expect_ret(on(test->client, rq_sigpipes()), 1);
	expect_error(on(test->client, rq_send(fd, 1, MSG_NOSIGNAL, UP, 0)), EPIPE);
	expect_ret(on(test->client, rq_sigpipes()), 0);
	expect_error(on(test->client, rq_recv(fd, 1, 0, UP, 0)), ENOTCONN);
	expect_error(on(test->client, rq_shutdown(fd, SHUT_RDWR)), ENOTCONN);
	expect_error(on(test->client, rq_peername(fd)), ENOTCONN);
	expect_ret(on(test->client, rq_sockname(fd)), 0);
	note("events %#llx",
	     (long long)poll_events(test->client, fd, POLLIN | POLLOUT | POLLRDHUP, 0));
}

const struct test_case transfer_cases[] = {
	{ "every_call", every_call, FATE_SMC },
	{ "recv_partial", recv_partial, FATE_SMC },
	{ "zero_length", zero_length, FATE_SMC },
	{ "send_completes", send_completes, FATE_SMC },
	{ "send_waits_for_room", send_waits_for_room, FATE_SMC },
	{ "send_nonblocking", send_nonblocking, FATE_SMC },
	{ "send_interrupted", send_interrupted, FATE_SMC },
	{ "recv_peek", recv_peek, FATE_SMC },
	{ "recv_peek_wraps", recv_peek_wraps, FATE_SMC },
	{ "recv_dontwait", recv_dontwait, FATE_SMC },
	{ "recv_waits", recv_waits, FATE_SMC },
	{ "recv_interrupted", recv_interrupted, FATE_SMC },
	{ "recv_waitall", recv_waitall, FATE_SMC },
	{ "recv_waitall_large", recv_waitall_large, FATE_SMC },
	{ "recv_waitall_timeout", recv_waitall_timeout, FATE_SMC },
	{ "recv_truncates", recv_truncates, FATE_SMC },
	{ "many_sizes", many_sizes, FATE_SMC },
	{ "both_ways_at_once", both_ways_at_once, FATE_SMC },
	{ "tiny_writes", tiny_writes, FATE_SMC },
	{ "tiny_reads", tiny_reads, FATE_SMC },
	{ "unconnected", unconnected, FATE_NONE },
	{ NULL, NULL, FATE_NONE },
};
