// SPDX-License-Identifier: GPL-2.0-only
/* sendfile(), splice() and tee(), in both directions. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "../lib/net.h"
#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

static void into_socket(struct test *test, enum splice_call call)
{
	static const int64_t sizes[] = { 1, 4095, 4096, 4097, 65536, 300001 };
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		start(test->server, 1, rq_recv_loop(pair.server, sizes[i], 65536, UP, offset));
		expect_ret(on(test->client,
			      rq_splice_in(pair.client, call, sizes[i], 0, UP, offset)),
			   sizes[i]);
		expect_ret(finish(test->server, 1), sizes[i]);
		offset += sizes[i];
	}
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 0);
}

static void sendfile_sizes(struct test *test)
{
	into_socket(test, SPLICE_SENDFILE);
}

static void splice_in_sizes(struct test *test)
{
	into_socket(test, SPLICE_PIPE);
}

static void vmsplice_sizes(struct test *test)
{
	into_socket(test, SPLICE_VMSPLICE);
}

/*
 * Programs ask sendfile() for more than the file has if they do not know its length. The last
 * piece is sent at the end of the file, on kernels where TCP does that.
 */
static void sendfile_beyond_the_end(struct test *test)
{
	struct pair pair = connect_pair(test);
	const int files = 20;
	uint64_t start_ms = now_ms();

	for (int64_t i = 0; i < files; i++) {
		expect_ret(on(test->client, rq_splice_in(pair.client, SPLICE_FILE_AND_MORE, 1000, 0,
							 UP, i * 1000)),
			   1000);
		expect_ret(on(test->server, rq_recv_loop(pair.server, 1000, 1000, UP, i * 1000)),
			   1000);
	}
	/* Each end takes 200 ms if it is held back, else about 10 ms on a busy machine. */
	note("the ends came %s", now_ms() - start_ms < files * 100 ? "at once" : "late");
}

/* More than all buffers hold, to a slow reader. */
static void sendfile_waits(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);

	start(test->client, 1, rq_splice_in(pair.client, SPLICE_SENDFILE, 1500001, 0, UP, 0));
	expect(still_running(test->client, 1, 700), "sendfile did not wait");
	expect_ret(on(test->server, rq_recv_loop(pair.server, 1500001, 65536, UP, 0)), 1500001);
	expect_ret(finish(test->client, 1), 1500001);
}

static void splice_in_more(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client,
		      rq_splice_in(pair.client, SPLICE_PIPE, 3000, SPLICE_F_MORE, UP, 0)),
		   3000);
	expect_ret(on(test->client, rq_splice_in(pair.client, SPLICE_PIPE, 3000, 0, UP, 3000)),
		   3000);
	expect_ret(on(test->server, rq_recv_loop(pair.server, 6000, 6000, UP, 0)), 6000);
}

static void splice_in_after_shutdown(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	expect_error(on(test->client, rq_splice_in(pair.client, SPLICE_PIPE, 3000, 0, UP, 0)),
		     EPIPE);
	expect_ret(on(test->client, rq_sigpipes()), 1);
	expect_error(on(test->client, rq_splice_in(pair.client, SPLICE_SENDFILE, 3000, 0, UP, 0)),
		     EPIPE);
}

static void splice_in_unconnected(struct test *test)
{
	int fd = new_socket(test, test->client, 0);

	note_reply("sendfile", on(test->client, rq_splice_in(fd, SPLICE_SENDFILE, 10, 0, UP, 0)));
	note_reply("splice", on(test->client, rq_splice_in(fd, SPLICE_PIPE, 10, 0, UP, 0)));
	note_reply("out", on(test->client, rq_splice_out(fd, 10, SPLICE_F_NONBLOCK, UP, 0)));
}

static void sendfile_nonblocking(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply reply;

	expect_ret(on(test->client, rq_fcntl(pair.client, F_SETFL, O_NONBLOCK)), 0);
	reply = on(test->client,
		   rq_splice_in(pair.client, SPLICE_SENDFILE, 5000000, 0, UP, 0));
	expect(reply.ret > 0 && reply.ret < 5000000, "sendfile returned %lld",
	       (long long)reply.ret);
	expect(reply.error == EAGAIN, "and then errno %d", reply.error);
	/* The bytes that sendfile() counted arrive. */
	expect_ret(on(test->server, rq_recv_loop(pair.server, reply.ret, 65536, UP, 0)),
		   reply.ret);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 0)), EAGAIN);
}

static void splice_out_takes_what_is_there(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 3000, 0, UP, 0)), 3000);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	sleep_ms(100);
	expect_ret(on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)), 1000);
	expect_ret(on(test->server, rq_splice_out(pair.server, 10000, 0, UP, 1000)), 2000);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_DONTWAIT, UP, 3000)), EAGAIN);
	exchange_both(test, &pair, 3000);
}

static void splice_out_waits(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_splice_out(pair.server, 1000, 0, UP, 0));
	expect(still_running(test->server, 1, 300), "splice did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 77, 0, UP, 0)), 77);
	expect_ret(finish(test->server, 1), 77);
}

static void splice_out_nonblocking_socket(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->server, rq_fcntl(pair.server, F_SETFL, O_NONBLOCK)), 0);
	expect_error(on(test->server, rq_splice_out(pair.server, 10, 0, UP, 0)), EAGAIN);
	expect_ret(on(test->client, rq_send(pair.client, 10, 0, UP, 0)), 10);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	expect_ret(on(test->server, rq_splice_out(pair.server, 10, 0, UP, 0)), 10);
}

static void splice_out_timeout(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply reply;

	expect_ret(on(test->server, rq_set_timeout(pair.server, SO_RCVTIMEO, 500)), 0);
	reply = expect_error(on(test->server, rq_splice_out(pair.server, 10, 0, UP, 0)), EAGAIN);
	expect(reply.elapsed_ms >= 400 && reply.elapsed_ms < 3000, "splice took %u ms",
	       reply.elapsed_ms);
}

static void splice_out_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(poll_events(test->server, pair.server, POLLRDHUP, 5000) & POLLRDHUP, "no end");
	expect_ret(on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)), 100);
	expect_ret(on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)), 0);
	expect_ret(on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)), 0);
}

static void splice_out_reset(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_set_linger(pair.client, true, 0)), 0);
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	expect(poll_events(test->server, pair.server, POLLIN, 5000), "no event");
	expect_error(on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)), ECONNRESET);
	note_reply("again", on(test->server, rq_splice_out(pair.server, 1000, 0, UP, 0)));
}

static void splice_out_large(struct test *test)
{
	const int64_t length = 400000;
	struct pair pair = connect_pair(test);
	int64_t got = 0;

	start(test->client, 1, rq_send(pair.client, length, 0, UP, 0));
	while (got < length) {
		struct reply reply = on(test->server,
					rq_splice_out(pair.server, length - got, 0, UP, got));

		expect(reply.ret > 0 && reply.values[0] == reply.ret,
		       "splice returned %lld, %lld good, errno %d", (long long)reply.ret,
		       (long long)reply.values[0], reply.error);
		got += reply.ret;
	}
	expect_ret(finish(test->client, 1), length);
}

static void tee_doubles(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 5000, 0, UP, 0)), 5000);
	expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN, "nothing came");
	sleep_ms(100);
	expect_ret(on(test->server, rq_tee(pair.server, 2000, UP, 0)), 2000);
	expect_ret(on(test->server, rq_tee(pair.server, 5000, UP, 2000)), 3000);
}

const struct test_case splice_cases[] = {
	{ "sendfile_sizes", sendfile_sizes, FATE_SMC },
	{ "sendfile_beyond_the_end", sendfile_beyond_the_end, FATE_SMC },
	{ "sendfile_waits", sendfile_waits, FATE_SMC },
	{ "sendfile_nonblocking", sendfile_nonblocking, FATE_SMC },
	{ "splice_in_sizes", splice_in_sizes, FATE_SMC },
	{ "splice_in_more", splice_in_more, FATE_SMC },
	{ "splice_in_after_shutdown", splice_in_after_shutdown, FATE_SMC },
	{ "splice_in_unconnected", splice_in_unconnected, FATE_NONE },
	{ "vmsplice_sizes", vmsplice_sizes, FATE_SMC },
	{ "splice_out_takes_what_is_there", splice_out_takes_what_is_there, FATE_SMC },
	{ "splice_out_waits", splice_out_waits, FATE_SMC },
	{ "splice_out_nonblocking_socket", splice_out_nonblocking_socket, FATE_SMC },
	{ "splice_out_timeout", splice_out_timeout, FATE_SMC },
	{ "splice_out_end", splice_out_end, FATE_SMC },
	{ "splice_out_reset", splice_out_reset, FATE_SMC },
	{ "splice_out_large", splice_out_large, FATE_SMC },
	{ "tee_doubles", tee_doubles, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
