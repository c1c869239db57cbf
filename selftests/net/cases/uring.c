// SPDX-License-Identifier: GPL-2.0-only
/* The calls of io_uring: those that can be done at once, and those that have to wait. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "test.h"

#define SMALL_BUFFERS ((struct pair_options){ 65536, 65536 })

static void check_received(struct reply reply, int64_t bytes)
{
	expect_ret(reply, bytes);
	expect(reply.values[0] == bytes, "wrong byte at %lld", (long long)reply.values[0]);
}

static void send_and_receive(struct test *test, enum uring_call send, enum uring_call receive)
{
	struct pair pair = connect_pair(test);
	int64_t offset = 0;

	for (int i = 0; i < 3; i++) {
		expect_ret(on(test->client, rq_uring(pair.client, send, 3000, 0, UP, offset)),
			   3000);
		expect(poll_events(test->server, pair.server, POLLIN, 5000) == POLLIN,
		       "nothing came");
		sleep_ms(100);
		check_received(on(test->server,
				  rq_uring(pair.server, receive, 5000, 0, UP, offset)),
			       3000);
		offset += 3000;
	}
	/* The receive has to wait. */
	start(test->server, 1, rq_uring(pair.server, receive, 5000, 0, UP, offset));
	expect(still_running(test->server, 1, 300), "it did not wait");
	expect_ret(on(test->client, rq_uring(pair.client, send, 77, 0, UP, offset)), 77);
	check_received(finish(test->server, 1), 77);
}

static void uring_send_recv(struct test *test)
{
	send_and_receive(test, URING_SEND, URING_RECV);
}

static void uring_messages(struct test *test)
{
	send_and_receive(test, URING_SENDMSG, URING_RECVMSG);
}

static void uring_read_write(struct test *test)
{
	send_and_receive(test, URING_WRITE, URING_READ);
}

static void uring_send_zc(struct test *test)
{
	struct pair pair = connect_pair(test);
	struct reply nothing = on(test->client, rq_uring(pair.client, URING_SEND_ZC, 0, 0, UP, 0));

	if (nothing.error == EINVAL)
		skip_case("this kernel's io_uring has no such operation");
	note_reply("nothing", nothing);
	start(test->client, 1, rq_uring(pair.client, URING_SEND_ZC, 20000, 0, UP, 0));
	expect_ret(on(test->server, rq_recv_loop(pair.server, 20000, 20000, UP, 0)), 20000);
	note_reply("with its notification", finish(test->client, 1));
}

static void uring_recv_waitall(struct test *test)
{
	struct pair pair = connect_pair(test);

	start(test->server, 1, rq_uring(pair.server, URING_RECV, 1000, MSG_WAITALL, UP, 0));
	expect_ret(on(test->client, rq_send(pair.client, 400, 0, UP, 0)), 400);
	expect(still_running(test->server, 1, 300), "MSG_WAITALL did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 600, 0, UP, 400)), 600);
	check_received(finish(test->server, 1), 1000);
}

static void uring_recv_peek(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_send(pair.client, 100, 0, UP, 0)), 100);
	check_received(on(test->server, rq_uring(pair.server, URING_RECV, 50, MSG_PEEK, UP, 0)),
		       50);
	check_received(on(test->server, rq_uring(pair.server, URING_RECV, 100, 0, UP, 0)), 100);
	note_reply("empty", on(test->server,
			       rq_uring(pair.server, URING_RECV, 100, MSG_DONTWAIT, UP, 0)));
}

static void uring_send_waits_for_room(struct test *test)
{
	struct pair pair = connect_pair_with(test, SMALL_BUFFERS);
	struct reply filled = on(test->client, rq_send_fill(pair.client, 5000, UP, 0));
	struct reply reply;

	start(test->client, 1,
	      rq_uring(pair.client, URING_SEND, 300000, MSG_WAITALL, UP, filled.ret));
	expect(still_running(test->client, 1, 400), "send to a full socket did not wait");
	expect_ret(on(test->server,
		      rq_recv_loop(pair.server, filled.ret + 300000, 65536, UP, 0)),
		   filled.ret + 300000);
	reply = finish(test->client, 1);
	expect_ret(reply, 300000);
}

static void uring_poll(struct test *test)
{
	struct pair pair = connect_pair(test);

	note_reply("writable", on(test->server, rq_uring(pair.server, URING_POLL, 0, POLLOUT, UP,
							 0)));
	start(test->server, 1, rq_uring(pair.server, URING_POLL, 0, POLLIN, UP, 0));
	expect(still_running(test->server, 1, 300), "poll did not wait");
	expect_ret(on(test->client, rq_send(pair.client, 1, 0, UP, 0)), 1);
	note_reply("readable", finish(test->server, 1));
	expect_ret(on(test->server, rq_recv(pair.server, 1, 0, UP, 0)), 1);
	start(test->server, 1, rq_uring(pair.server, URING_POLL, 0, POLLRDHUP, UP, 0));
	expect(still_running(test->server, 1, 300), "poll did not wait");
	expect_ret(on(test->client, rq_close(pair.client)), 0);
	note_reply("ended", finish(test->server, 1));
}

static void uring_accept(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fds[2];
	struct reply reply;

	fds[0] = new_socket(test, test->client, 0);
	fds[1] = new_socket(test, test->client, 0);
	expect_ret(on(test->client, rq_connect(fds[0], &address)), 0);
	reply = on(test->server, rq_uring(listener, URING_ACCEPT, 0, 0, UP, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	expect(address_port(&reply.address) != 0, "no name came with it");
	exchange(test->client, fds[0], test->server, (int)reply.ret, 1000, UP, 0);
	start(test->server, 1, rq_uring(listener, URING_ACCEPT, 0, 0, UP, 0));
	expect(still_running(test->server, 1, 300), "accept did not wait");
	expect_ret(on(test->client, rq_connect(fds[1], &address)), 0);
	reply = finish(test->server, 1);
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fds[1], test->server, (int)reply.ret, 1000, UP, 0);
}

static void uring_accept_flags(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	struct reply reply;

	expect_ret(on(test->client, rq_connect(new_socket(test, test->client, 0), &address)), 0);
	reply = on(test->server, rq_uring(listener, URING_ACCEPT, 0, SOCK_NONBLOCK, UP, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	note_reply("flags", on(test->server, rq_fcntl((int)reply.ret, F_GETFL, 0)));
}

static void uring_connect(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, 0);
	struct reply reply;

	expect_ret(on(test->client, rq_uring_at(fd, URING_CONNECT, &address)), 0);
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
	note_reply("again", on(test->client, rq_uring_at(fd, URING_CONNECT, &address)));
}

static void uring_connect_nonblocking(struct test *test)
{
	struct address address;
	int listener = new_listener(test, 8, &address);
	int fd = new_socket(test, test->client, SOCK_NONBLOCK);
	struct reply reply = on(test->client, rq_uring_at(fd, URING_CONNECT, &address));

	/*
	 * io_uring tries again when it is woken. During the SMC handshake that is too early, and
	 * it reports EINPROGRESS as the outcome.
	 */
	expect(reply.ret == 0 || reply.error == EINPROGRESS ||
		       (test->client_mode != MODE_TCP && reply.error == EALREADY),
	       "connect: errno %d", reply.error);
	expect(poll_events(test->client, fd, POLLOUT, 5000) == POLLOUT, "not writable");
	reply = on(test->server, rq_accept(listener, 0));
	expect(reply.ret >= 0, "accept: errno %d", reply.error);
	exchange(test->client, fd, test->server, (int)reply.ret, 1000, UP, 0);
}

static void uring_connect_refused(struct test *test)
{
	struct address address = closed_port(test);
	int fd = new_socket(test, test->client, 0);

	expect_error(on(test->client, rq_uring_at(fd, URING_CONNECT, &address)), ECONNREFUSED);
	note_reply("SO_ERROR", on(test->client, rq_get(fd, SOL_SOCKET, SO_ERROR, OPTION_INT)));
}

static void uring_errors(struct test *test)
{
	struct pair pair = connect_pair(test);
	int fd = new_socket(test, test->client, 0);

	note_reply("fresh", on(test->client, rq_uring(fd, URING_RECV, 10, 0, DOWN, 0)));
	note_reply("fresh", on(test->client, rq_uring(fd, URING_SEND, 10, MSG_NOSIGNAL, UP, 0)));
	note_reply("shutdown",
		   on(test->client, rq_uring(pair.client, URING_SHUTDOWN, 0, SHUT_WR, UP, 0)));
	note_reply("shut", on(test->client,
			      rq_uring(pair.client, URING_SEND, 10, MSG_NOSIGNAL, UP, 0)));
	note_reply("end", on(test->server, rq_uring(pair.server, URING_RECV, 10, 0, UP, 0)));
	expect_ret(on(test->server, rq_set_linger(pair.server, true, 0)), 0);
	expect_ret(on(test->server, rq_close(pair.server)), 0);
	sleep_ms(300);
	note_reply("reset", on(test->client, rq_uring(pair.client, URING_RECV, 10, 0, DOWN, 0)));
}

static void uring_urgent(struct test *test)
{
	struct pair pair = connect_pair(test);

	expect_ret(on(test->client, rq_uring(pair.client, URING_SEND, 3, MSG_OOB, UP, 0)), 3);
	start(test->server, 1, rq_uring(pair.server, URING_POLL, 0, POLLPRI, UP, 0));
	note_reply("event", finish(test->server, 1));
	check_received(on(test->server, rq_uring(pair.server, URING_RECV, 10, MSG_OOB, UP, 2)), 1);
	check_received(on(test->server, rq_uring(pair.server, URING_RECV, 10, 0, UP, 0)), 2);
}

const struct test_case uring_cases[] = {
	{ "uring_send_recv", uring_send_recv, FATE_SMC },
	{ "uring_messages", uring_messages, FATE_SMC },
	{ "uring_read_write", uring_read_write, FATE_SMC },
	{ "uring_send_zc", uring_send_zc, FATE_SMC },
	{ "uring_recv_waitall", uring_recv_waitall, FATE_SMC },
	{ "uring_recv_peek", uring_recv_peek, FATE_SMC },
	{ "uring_send_waits_for_room", uring_send_waits_for_room, FATE_SMC },
	{ "uring_poll", uring_poll, FATE_SMC },
	{ "uring_accept", uring_accept, FATE_SMC },
	{ "uring_accept_flags", uring_accept_flags, FATE_SMC },
	{ "uring_connect", uring_connect, FATE_SMC },
	{ "uring_connect_nonblocking", uring_connect_nonblocking, FATE_SMC },
	{ "uring_connect_refused", uring_connect_refused, FATE_NONE },
	{ "uring_errors", uring_errors, FATE_SMC },
	{ "uring_urgent", uring_urgent, FATE_SMC },
	{ NULL, NULL, FATE_NONE },
};
