// SPDX-License-Identifier: GPL-2.0-only
/* The urgent byte: MSG_OOB, SO_OOBINLINE, SIOCATMARK, and where reading stops for it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "test.h"

#define ALL_EVENTS (POLLIN | POLLPRI | POLLOUT | POLLRDHUP)

/* Sends length bytes, the last of them urgent, and waits until the other end knows. */
static void send_urgent(struct test *test, const struct pair *pair, int64_t length, int64_t offset)
{
	expect_ret(on(test->client, rq_send(pair->client, length, MSG_OOB, UP, offset)), length);
	expect(poll_events(test->server, pair->server, POLLPRI, 5000) == POLLPRI,
	       "no urgent event");
}

/* Sends bytes behind the urgent one, and waits until all have arrived. */
static void send_behind(struct test *test, const struct pair *pair, int64_t length, int64_t offset)
{
	expect_ret(on(test->client, rq_send(pair->client, length, 0, UP, offset)), length);
	sleep_ms(200);
}

static void set_inline(struct test *test, const struct pair *pair, int value)
{
	expect_ret(on(test->server, rq_set_int(pair->server, SOL_SOCKET, SO_OOBINLINE, value)), 0);
}

static int64_t at_mark(struct test *test, const struct pair *pair)
{
	return expect_ret(on(test->server, rq_ioctl_int(pair->server, SIOCATMARK)), 0).values[0];
}

static int64_t readable(struct test *test, const struct pair *pair)
{
	return expect_ret(on(test->server, rq_ioctl_int(pair->server, SIOCINQ)), 0).values[0];
}

static void oob_is_apart(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 4, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 10, MSG_OOB, UP, 3)), 1);
	expect_error(on(test->server, rq_recv(pair.server, 10, MSG_OOB, UP, 3)), EINVAL);
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 3);
	expect_error(on(test->server, rq_recv(pair.server, 10, MSG_DONTWAIT, UP, 0)), EAGAIN);
	exchange(test->client, pair.client, test->server, pair.server, 1000, UP, 4);
}

static void oob_where_none_is(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 0)), EINVAL);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB | MSG_DONTWAIT, UP, 0)),
		     EINVAL);
	exchange_both(test, &pair, 0);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 0)), EINVAL);
	expect(at_mark(test, &pair) == 0, "a mark");
}

static void oob_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 1, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB | MSG_PEEK, UP, 0)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB | MSG_PEEK, UP, 0)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 0)), 1);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB | MSG_PEEK, UP, 0)), EINVAL);
}

static void oob_message_flags(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 5, 0);
	note_reply("peeked", on(test->server, rq_recv_facts(pair.server, 5, MSG_OOB | MSG_PEEK, UP,
							    4)));
	note_reply("no room", on(test->server, rq_recv_facts(pair.server, 0, MSG_OOB | MSG_PEEK, UP,
							     4)));
	note_reply("thrown away",
		   on(test->server, rq_recv_facts(pair.server, 5, MSG_OOB | MSG_TRUNC, UP, 4)));
	note_reply("stream", on(test->server, rq_recv_facts(pair.server, 100, 0, UP, 0)));
}

static void oob_to_a_bad_address(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 3, 0);
	expect_error(on(test->server, rq_recv_bad(pair.server, 0, MSG_OOB, UP, 0)), EFAULT);
	/* MSG_OOB has taken it all the same. */
	note_reply("again", on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 2)));
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 2);
}

static void oob_stops_a_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 6, 0);
	send_behind(test, &pair, 7, 6);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 6)), 7);
}

static void oob_stops_waitall(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 6, 0);
	send_behind(test, &pair, 7, 6);
	expect_ret(on(test->server, rq_recv(pair.server, 12, MSG_WAITALL, UP, 0)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 7, MSG_WAITALL, UP, 6)), 7);
}

/* The byte comes while somebody waits for more. */
static void oob_ends_a_waiting_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 100, MSG_WAITALL, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 40, 0, UP, 0)), 40);
	expect(still_running(test->server, 1, 300), "MSG_WAITALL did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 40)), 1);
	expect(!still_running(test->server, 1, 3000), "it waits beyond the mark");
	expect_ret(finish(test->server, 1), 40);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 40)), 1);
}

static void oob_leaves_a_first_read_waiting(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 100, 0, UP, 1));
	expect(still_running(test->server, 1, 200), "recv did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 0)), 1);
	expect(still_running(test->server, 1, 400), "the urgent byte was read");
	expect_ret(on(test->client, rq_send(pair.client, 9, 0, UP, 1)), 9);
	expect_ret(finish(test->server, 1), 9);
}

static void oob_stops_a_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 6, 0);
	send_behind(test, &pair, 7, 6);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 0)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK | MSG_WAITALL, UP, 0)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 5, 0, UP, 0)), 5);
	/* At the mark a peek starts behind the urgent byte, and the mark stays. */
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 6)), 7);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 5)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 6)), 7);
}

static void oob_mark(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect(at_mark(test, &pair) == 0, "a mark before any data");
	send_urgent(test, &pair, 4, 0);
	send_behind(test, &pair, 4, 4);
	expect(at_mark(test, &pair) == 0, "at the mark too early");
	expect_ret(on(test->server, rq_recv(pair.server, 2, 0, UP, 0)), 2);
	expect(at_mark(test, &pair) == 0, "at the mark too early");
	expect_ret(on(test->server, rq_recv(pair.server, 2, 0, UP, 2)), 1);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 4)), 1);
	expect(at_mark(test, &pair) == 0, "still at the mark");
}

static void oob_mark_after_the_byte_was_taken(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 4, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 3)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 3);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	expect_error(on(test->server, rq_recv(pair.server, 10, MSG_DONTWAIT, UP, 0)), EAGAIN);
	expect(at_mark(test, &pair) == 0, "still at the mark");
}

static void oob_counts_of_ioctl(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 6, 0);
	send_behind(test, &pair, 7, 6);
	note("before %lld", (long long)readable(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 2, 0, UP, 0)), 2);
	note("nearer %lld", (long long)readable(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 3, 0, UP, 2)), 3);
	note("at it %lld", (long long)readable(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 6)), 1);
	note("behind %lld", (long long)readable(test, &pair));
}

/* A read at the mark that finds nothing behind it skips the urgent byte. */
static void oob_passed_by_a_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 4, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 3);
	note("at the mark %#llx",
	     (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_error(on(test->server, rq_recv(pair.server, 10, MSG_DONTWAIT, UP, 0)), EAGAIN);
	note("passed %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	note_reply("passed", on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 3)));
	exchange(test->client, pair.client, test->server, pair.server, 100, UP, 4);
}

static void oob_newest_counts(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 3, 0);
	expect_ret(on(test->client, rq_send(pair.client, 3, MSG_OOB, UP, 3)), 3);
	sleep_ms(300);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 5)), 1);
	/* The first urgent byte has become an ordinary byte. */
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 5);
}

static void oob_events(struct test *test)
{
	struct pair pair = connect_pair(test);
	int epoll = (int)on(test->server, rq_epoll_create()).ret;

	expect_ret(on(test->server, rq_epoll_add(epoll, pair.server, EPOLLIN | EPOLLPRI)), 0);
	start(test->server, 1, rq_poll(pair.server, POLLPRI, 10000));
	expect(still_running(test->server, 1, 200), "poll did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 3, MSG_OOB, UP, 0)), 3);
	note_reply("woken", finish(test->server, 1));
	note("there %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	note_reply("there", on(test->server, rq_epoll_wait(epoll, 0)));
	note_reply("there", on(test->server, rq_select(pair.server, 0)));
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 2)), 1);
	note("taken %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 2);
	note("read %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
}

static void oob_alone_is_not_readable(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 1, 0);
	note("alone %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	note_reply("alone", on(test->server, rq_select(pair.server, 0)));
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_PEEK | MSG_DONTWAIT, UP, 0)),
		     EAGAIN);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 0)), 1);
}

static void oob_signals(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply pid = on(test->server, rq_fcntl(pair.server, F_GETOWN, 0));

	expect(pid.ret == 0, "an owner: %lld", (long long)pid.ret);
	expect_ret(on(test->server, rq_own_signals(pair.server)), 0);
	expect_ret(on(test->server, rq_signals(SIGURG, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	sleep_ms(200);
	expect_ret(on(test->server, rq_signals(SIGURG, 0)), 0);
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 100)), 1);
	expect_ret(on(test->server, rq_signals(SIGURG, 5000)), 1);
}

static void oob_many(struct test *test)
{
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (int i = 0; i < 20; i++) {
		const int64_t length = 1 + i * 37;

		send_urgent(test, &pair, length, offset);
		if (length > 1)
			expect_ret(on(test->server, rq_recv_loop(pair.server, length - 1, 1000, UP,
								 offset)),
				   length - 1);
		expect_ret(on(test->server,
			      rq_recv(pair.server, 1, MSG_OOB, UP, offset + length - 1)),
			   1);
		offset += length;
	}
	exchange(test->client, pair.client, test->server, pair.server, 5000, UP, offset);
}

static void oob_both_ways(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 2, 0);
	expect_ret(on(test->server, rq_send(pair.server, 3, MSG_OOB, DOWN, 0)), 3);
	expect(poll_events(test->client, pair.client, POLLPRI, 5000) == POLLPRI, "no event");
	expect_ret(on(test->client, rq_recv(pair.client, 1, MSG_OOB, DOWN, 2)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 1)), 1);
	expect_ret(on(test->client, rq_recv(pair.client, 9, 0, DOWN, 0)), 2);
	expect_ret(on(test->server, rq_recv(pair.server, 9, 0, UP, 0)), 1);
}

static void oob_then_end(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 3, 0);
	expect_ret(on(test->client, rq_shutdown(pair.client, SHUT_WR)), 0);
	sleep_ms(300);
	note("ended %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 2);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 2)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 0);
	expect_error(on(test->client, rq_send(pair.client, 1, MSG_OOB | MSG_NOSIGNAL, UP, 3)),
		     EPIPE);
}

static void oob_of_nothing(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 0, MSG_OOB, UP, 0)), 0);
	sleep_ms(200);
	note("events %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	note_reply("nothing", on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 0)));
	exchange_both(test, &pair, 0);
}

static void oob_unconnected(struct test *test)
{
	int fd = new_socket(test, test->client, 0);
	struct address address;
	int listener = new_listener(test, 1, &address);

	note_reply("fresh", on(test->client, rq_recv(fd, 1, MSG_OOB, UP, 0)));
	note_reply("fresh", on(test->client, rq_send(fd, 1, MSG_OOB | MSG_NOSIGNAL, UP, 0)));
	note_reply("fresh", on(test->client, rq_ioctl_int(fd, SIOCATMARK)));
	note_reply("listener", on(test->server, rq_recv(listener, 1, MSG_OOB, UP, 0)));
	note_reply("listener", on(test->server, rq_ioctl_int(listener, SIOCATMARK)));
}

/* --- in line ----------------------------------------------------------------------------- */

static void inline_is_in_the_stream(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	send_urgent(test, &pair, 6, 0);
	send_behind(test, &pair, 7, 6);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 5)), EINVAL);
	note("before %lld", (long long)readable(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 5);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	note("at it %lld", (long long)readable(test, &pair));
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 5)), 8);
	expect(at_mark(test, &pair) == 0, "still at the mark");
}

static void inline_first_byte(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	send_urgent(test, &pair, 1, 0);
	expect(at_mark(test, &pair) == 1, "not at the mark");
	note("alone %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	expect_ret(on(test->server, rq_recv(pair.server, 10, 0, UP, 0)), 1);
	note("read %#llx", (long long)poll_events(test->server, pair.server, ALL_EVENTS, 0));
	exchange_both(test, &pair, 1);
}

static void inline_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	send_urgent(test, &pair, 4, 0);
	send_behind(test, &pair, 4, 4);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 0)), 3);
	expect_ret(on(test->server, rq_recv(pair.server, 3, 0, UP, 0)), 3);
	expect_ret(on(test->server, rq_recv(pair.server, 100, MSG_PEEK, UP, 3)), 5);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 3)), 5);
}

static void inline_waitall(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	send_urgent(test, &pair, 4, 0);
	send_behind(test, &pair, 4, 4);
	expect_ret(on(test->server, rq_recv(pair.server, 8, MSG_WAITALL, UP, 0)), 3);
	expect_ret(on(test->server, rq_recv(pair.server, 5, MSG_WAITALL, UP, 3)), 5);
}

static void inline_ends_a_waiting_read(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	start(test->server, 1, rq_recv(pair.server, 100, MSG_WAITALL, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 40, 0, UP, 0)), 40);
	expect(still_running(test->server, 1, 300), "MSG_WAITALL did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 40)), 1);
	expect(!still_running(test->server, 1, 3000), "it waits beyond the mark");
	expect_ret(finish(test->server, 1), 40);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 40)), 1);
}

/* The option is set after the bytes have come, before any was read. */
static void inline_set_later(struct test *test)
{
	struct pair pair = connect_pair(test);

	send_urgent(test, &pair, 5, 0);
	send_behind(test, &pair, 5, 5);
	set_inline(test, &pair, 1);
	expect_error(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 4)), EINVAL);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 4);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 4)), 6);
}

static void inline_taken_back(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	send_urgent(test, &pair, 5, 0);
	send_behind(test, &pair, 5, 5);
	set_inline(test, &pair, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 1, MSG_OOB, UP, 4)), 1);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 4);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 5)), 5);
}

/* A sleeping reader uses the value that SO_OOBINLINE has when the byte arrives. */
static void inline_set_while_a_reader_sleeps(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_recv(pair.server, 100, 0, UP, 0));
	expect(still_running(test->server, 1, 300), "recv() did not wait");
	set_inline(test, &pair, 1);
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 0)), 1);
	expect(!still_running(test->server, 1, 3000), "the byte is not in line");
	expect_ret(finish(test->server, 1), 1);
}

static void inline_taken_back_while_a_reader_sleeps(struct test *test)
{
	struct pair pair = connect_pair(test);

	set_inline(test, &pair, 1);
	start(test->server, 1, rq_recv(pair.server, 100, 0, UP, 1));
	expect(still_running(test->server, 1, 300), "recv() did not wait");
	set_inline(test, &pair, 0);
	expect_ret(on(test->client, rq_send(pair.client, 1, MSG_OOB, UP, 0)), 1);
	expect(still_running(test->server, 1, 300), "the byte is in line");
	expect_ret(on(test->client, rq_send(pair.client, 9, 0, UP, 1)), 9);
	expect_ret(finish(test->server, 1), 9);
}

static void inline_set_on_the_listener(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct pair pair = { .listener = listener, .address = address };

	expect_ret(on(test->server, rq_set_int(listener, SOL_SOCKET, SO_OOBINLINE, 1)), 0);
	pair.client = new_socket(test, test->client, 0);
	expect_ret(on(test->client, rq_connect(pair.client, &address)), 0);
	pair.server = (int)on(test->server, rq_accept(listener, 0)).ret;
	note_reply("inherited",
		   on(test->server, rq_get(pair.server, SOL_SOCKET, SO_OOBINLINE, OPTION_INT)));
	send_urgent(test, &pair, 3, 0);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 0)), 2);
	expect_ret(on(test->server, rq_recv(pair.server, 100, 0, UP, 2)), 1);
}

static void inline_set_before_connect(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int client = new_socket(test, test->client, 0);
	int server;

	expect_ret(on(test->client, rq_set_int(client, SOL_SOCKET, SO_OOBINLINE, 1)), 0);
	expect_ret(on(test->client, rq_connect(client, &address)), 0);
	server = (int)on(test->server, rq_accept(listener, 0)).ret;
	expect_ret(on(test->server, rq_send(server, 1, MSG_OOB, DOWN, 0)), 1);
	expect(poll_events(test->client, client, POLLPRI, 5000) == POLLPRI, "no urgent event");
	expect_ret(on(test->client, rq_recv(client, 100, 0, DOWN, 0)), 1);
}

const struct test_case urgent_cases[] = {
	{ "oob_is_apart", oob_is_apart, FATE_SMC },
	{ "oob_where_none_is", oob_where_none_is, FATE_SMC },
	{ "oob_peek", oob_peek, FATE_SMC },
	{ "oob_message_flags", oob_message_flags, FATE_SMC },
	{ "oob_to_a_bad_address", oob_to_a_bad_address, FATE_SMC },
	{ "oob_stops_a_read", oob_stops_a_read, FATE_SMC },
	{ "oob_stops_waitall", oob_stops_waitall, FATE_SMC },
	{ "oob_ends_a_waiting_read", oob_ends_a_waiting_read, FATE_SMC },
	{ "oob_leaves_a_first_read_waiting", oob_leaves_a_first_read_waiting, FATE_SMC },
	{ "oob_stops_a_peek", oob_stops_a_peek, FATE_SMC },
	{ "oob_mark", oob_mark, FATE_SMC },
	{ "oob_mark_after_the_byte_was_taken", oob_mark_after_the_byte_was_taken, FATE_SMC },
	{ "oob_counts_of_ioctl", oob_counts_of_ioctl, FATE_SMC },
	{ "oob_passed_by_a_read", oob_passed_by_a_read, FATE_SMC },
	{ "oob_newest_counts", oob_newest_counts, FATE_SMC },
	{ "oob_events", oob_events, FATE_SMC },
	{ "oob_alone_is_not_readable", oob_alone_is_not_readable, FATE_SMC },
	{ "oob_signals", oob_signals, FATE_SMC },
	{ "oob_many", oob_many, FATE_SMC },
	{ "oob_both_ways", oob_both_ways, FATE_SMC },
	{ "oob_then_end", oob_then_end, FATE_SMC },
	{ "oob_of_nothing", oob_of_nothing, FATE_SMC },
	{ "oob_unconnected", oob_unconnected, FATE_NONE },
	{ "inline_is_in_the_stream", inline_is_in_the_stream, FATE_SMC },
	{ "inline_first_byte", inline_first_byte, FATE_SMC },
	{ "inline_peek", inline_peek, FATE_SMC },
	{ "inline_waitall", inline_waitall, FATE_SMC },
	{ "inline_ends_a_waiting_read", inline_ends_a_waiting_read, FATE_SMC },
	{ "inline_set_later", inline_set_later, FATE_SMC },
	{ "inline_taken_back", inline_taken_back, FATE_SMC },
	{ "inline_set_while_a_reader_sleeps", inline_set_while_a_reader_sleeps, FATE_SMC },
	{ "inline_taken_back_while_a_reader_sleeps", inline_taken_back_while_a_reader_sleeps,
	  FATE_SMC },
	{ "inline_set_on_the_listener", inline_set_on_the_listener, FATE_SMC },
	{ "inline_set_before_connect", inline_set_before_connect, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
