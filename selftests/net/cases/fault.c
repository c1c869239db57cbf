// SPDX-License-Identifier: GPL-2.0-only
/* Buffers that cannot be touched: no byte is lost and none comes twice. */
#include <errno.h>
#include <poll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

/*
 * Receives into a buffer whose second part is bad. EFAULT takes nothing; a count takes that
 * much, and no more than the good part. Where the stream goes on.
 */
static int64_t recv_into_bad(struct test *test, int fd, int64_t good_length, int64_t offset)
{
	struct reply reply = on(test->server, rq_recv_bad(fd, good_length, 0, UP, offset));

	if (reply.ret < 0) {
		expect_error(reply, EFAULT);
		return offset;
	}
	expect(reply.ret > 0 && reply.ret <= good_length, "recv returned %lld",
	       (long long)reply.ret);
	expect(reply.values[0] == reply.ret, "wrong byte at %lld", (long long)reply.values[0]);
	return offset + reply.ret;
}

static void recv_bad_address(struct test *test)
{
	struct pair pair = connect_pair(test);
	int64_t offset;

	expect_ret(on(test->client, rq_send(pair.client, 10000, 0, UP, 0)), 10000);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_error(on(test->server, rq_recv_bad(pair.server, 0, 0, UP, 0)), EFAULT);
	offset = recv_into_bad(test, pair.server, 100, 0);
	offset = recv_into_bad(test, pair.server, 4096, offset);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 10000 - offset, 10000, UP, offset)),
		   10000 - offset);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

/* The same where the data lies across the end of the receiver's ring. */
static void recv_bad_address_wraps(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int64_t offset = 0;

	for (int i = 0; i < 8; i++) {
		const int64_t length = 30011;
		int64_t next;

		expect_ret(on(test->client, rq_send(pair.client, length, 0, UP, offset)), length);
		sleep_ms(200);
		next = recv_into_bad(test, pair.server, 5000 + 2000 * i, offset);
		next = recv_into_bad(test, pair.server, 1, next);
		expect_ret(on(test->server,
			      rq_recv_loop(pair.server, offset + length - next, length, UP, next)),
			   offset + length - next);
		offset += length;
	}
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void recv_peek_bad_address(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 1000, 0, UP, 0)), 1000);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	on(test->server, rq_recv_bad(pair.server, 100, MSG_PEEK, UP, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 1000, 0, UP, 0)), 1000);
}

/* What send() says it took is what arrives. */
static void send_bad_address(struct test *test)
{
	static const int64_t good_lengths[] = { 0, 1, 100, 4096, 50000 };
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(good_lengths) / sizeof(good_lengths[0]); i++) {
		struct reply reply =
			on(test->client, rq_send_bad(pair.client, good_lengths[i], 0, UP, offset));

		if (reply.ret < 0) {
			expect_error(reply, EFAULT);
		} else {
			expect(reply.ret > 0 && reply.ret <= good_lengths[i], "send returned %lld",
			       (long long)reply.ret);
			expect_ret(on(test->server, rq_recv_loop(pair.server, reply.ret, 65536, UP,
								 offset)),
				   reply.ret);
			offset += reply.ret;
		}
		exchange(test->client, pair.client, test->server, pair.server, 3000, UP, offset);
		offset += 3000;
	}
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

const struct test_case fault_cases[] = {
	{ "recv_bad_address", recv_bad_address, FATE_SMC },
	{ "recv_bad_address_wraps", recv_bad_address_wraps, FATE_SMC },
	{ "recv_peek_bad_address", recv_peek_bad_address, FATE_SMC },
	{ "send_bad_address", send_bad_address, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
