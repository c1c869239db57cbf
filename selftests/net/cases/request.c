// SPDX-License-Identifier: GPL-2.0-only
/* Builders of requests: the values stand in the order that the header of the steps gives. */
#include <fcntl.h>

#include "host.h"
#include "test.h"

static struct request make(enum op op, int fd, int64_t a, int64_t b, int64_t c, int64_t d,
			   int64_t e, int64_t f)
{
	return (struct request){ .op = op, .fd = fd, .args = { a, b, c, d, e, f } };
}

static struct request make_at(enum op op, int fd, const struct address *address)
{
	return (struct request){ .op = op, .fd = fd, .address = *address };
}

struct request rq_socket(const struct test *test, struct host *host, int type_flags)
{
	enum mode mode = host == test->client ? test->client_mode : test->server_mode;

	return make(OP_SOCKET, -1, mode, test->family, type_flags, 0, 0, 0);
}

struct request rq_bind(int fd, const struct address *address)
{
	return make_at(OP_BIND, fd, address);
}

struct request rq_listen(int fd, int backlog)
{
	return make(OP_LISTEN, fd, backlog, 0, 0, 0, 0, 0);
}

struct request rq_connect(int fd, const struct address *address)
{
	return make_at(OP_CONNECT, fd, address);
}

struct request rq_accept(int fd, int flags)
{
	return make(OP_ACCEPT, fd, flags, 0, 0, 0, 0, 0);
}

struct request rq_send(int fd, int64_t length, int flags, int64_t seed, int64_t offset)
{
	return rq_send_by(fd, SEND_SEND, length, flags, 1, seed, offset);
}

struct request rq_send_by(int fd, enum send_call call, int64_t length, int flags, int pieces,
			  int64_t seed, int64_t offset)
{
	return make(OP_SEND, fd, call, length, flags, pieces, seed, offset);
}

struct request rq_send_to(int fd, const struct address *address, int64_t length, int flags,
			  int64_t seed, int64_t offset)
{
	struct request request = make(OP_SEND_TO, fd, length, flags, seed, offset, 0, 0);

	request.address = *address;
	return request;
}

struct request rq_send_bad(int fd, int64_t good_length, int flags, int64_t seed, int64_t offset)
{
	return make(OP_SEND_BAD, fd, good_length, flags, seed, offset, 0, 0);
}

struct request rq_send_loop(int fd, int64_t total, int64_t per_call, int64_t seed, int64_t offset)
{
	return make(OP_SEND_LOOP, fd, total, per_call, seed, offset, 0, 0);
}

struct request rq_send_fill(int fd, int64_t per_call, int64_t seed, int64_t offset)
{
	return make(OP_SEND_FILL, fd, per_call, seed, offset, 0, 0, 0);
}

struct request rq_recv(int fd, int64_t length, int flags, int64_t seed, int64_t offset)
{
	return rq_recv_by(fd, RECV_RECV, length, flags, 1, seed, offset);
}

struct request rq_recv_by(int fd, enum recv_call call, int64_t length, int flags, int pieces,
			  int64_t seed, int64_t offset)
{
	return make(OP_RECV, fd, call, length, flags, pieces, seed, offset);
}

struct request rq_recv_bad(int fd, int64_t good_length, int flags, int64_t seed, int64_t offset)
{
	return make(OP_RECV_BAD, fd, good_length, flags, seed, offset, 0, 0);
}

struct request rq_recv_loop(int fd, int64_t total, int64_t per_call, int64_t seed, int64_t offset)
{
	return rq_recv_slowly(fd, total, per_call, 0, seed, offset);
}

struct request rq_recv_slowly(int fd, int64_t total, int64_t per_call, int64_t pause_ms,
			      int64_t seed, int64_t offset)
{
	return make(OP_RECV_LOOP, fd, total, per_call, pause_ms, seed, offset, 0);
}

struct request rq_recv_drain(int fd, int64_t per_call, int64_t seed, int64_t offset)
{
	return make(OP_RECV_DRAIN, fd, per_call, seed, offset, 0, 0, 0);
}

struct request rq_poll(int fd, int events, int timeout_ms)
{
	return make(OP_POLL, fd, events, timeout_ms, 0, 0, 0, 0);
}

struct request rq_select(int fd, int timeout_ms)
{
	return make(OP_SELECT, fd, timeout_ms, 0, 0, 0, 0, 0);
}

struct request rq_epoll_create(void)
{
	return make(OP_EPOLL_CREATE, -1, 0, 0, 0, 0, 0, 0);
}

struct request rq_epoll_add(int epoll_fd, int fd, int64_t events)
{
	return make(OP_EPOLL_ADD, epoll_fd, fd, events, 0, 0, 0, 0);
}

struct request rq_epoll_wait(int epoll_fd, int timeout_ms)
{
	return make(OP_EPOLL_WAIT, epoll_fd, timeout_ms, 0, 0, 0, 0, 0);
}

struct request rq_shutdown(int fd, int how)
{
	return make(OP_SHUTDOWN, fd, how, 0, 0, 0, 0, 0);
}

struct request rq_close(int fd)
{
	return make(OP_CLOSE, fd, 0, 0, 0, 0, 0, 0);
}

struct request rq_dup(int fd)
{
	return make(OP_DUP, fd, 0, 0, 0, 0, 0, 0);
}

struct request rq_set_int(int fd, int level, int option, int value)
{
	return make(OP_SET_OPTION, fd, level, option, OPTION_INT, value, 0, 0);
}

struct request rq_set_byte(int fd, int level, int option, int value)
{
	return make(OP_SET_OPTION, fd, level, option, OPTION_BYTE, value, 0, 0);
}

struct request rq_set_linger(int fd, bool on, int seconds)
{
	return make(OP_SET_OPTION, fd, SOL_SOCKET, SO_LINGER, OPTION_LINGER, on, seconds, 0);
}

struct request rq_set_timeout(int fd, int option, int ms)
{
	return make(OP_SET_OPTION, fd, SOL_SOCKET, option, OPTION_TIMEVAL, ms / 1000,
		    ms % 1000 * 1000, 0);
}

struct request rq_get(int fd, int level, int option, enum option_kind kind)
{
	return make(OP_GET_OPTION, fd, level, option, kind, 0, 0, 0);
}

struct request rq_sockname(int fd)
{
	return make(OP_GET_SOCKNAME, fd, 0, 0, 0, 0, 0, 0);
}

struct request rq_peername(int fd)
{
	return make(OP_GET_PEERNAME, fd, 0, 0, 0, 0, 0, 0);
}

struct request rq_ioctl_int(int fd, int64_t command)
{
	return make(OP_IOCTL_INT, fd, command, 0, 0, 0, 0, 0);
}

struct request rq_fcntl(int fd, int command, int64_t argument)
{
	return make(OP_FCNTL, fd, command, argument, 0, 0, 0, 0);
}

struct request rq_own_signals(int fd)
{
	return make(OP_FCNTL, fd, F_SETOWN, 0, 1, 0, 0, 0);
}

struct request rq_sigpipes(void)
{
	return make(OP_SIGPIPES, -1, 0, 0, 0, 0, 0, 0);
}

struct request rq_interrupt(int actor)
{
	return make(OP_INTERRUPT, -1, actor, 0, 0, 0, 0, 0);
}

struct request rq_signals(int signal, int timeout_ms)
{
	return make(OP_SIGNALS, -1, signal, timeout_ms, 0, 0, 0, 0);
}

struct request rq_kill_tcp(int fd)
{
	return make(OP_KILL_TCP, fd, 0, 0, 0, 0, 0, 0);
}

struct request rq_splice_in(int fd, enum splice_call call, int64_t length, int flags, int64_t seed,
			    int64_t offset)
{
	return make(OP_SPLICE_IN, fd, call, length, flags, seed, offset, 0);
}

struct request rq_splice_out(int fd, int64_t length, int flags, int64_t seed, int64_t offset)
{
	return make(OP_SPLICE_OUT, fd, length, flags, seed, offset, 0, 0);
}

struct request rq_tee(int fd, int64_t length, int64_t seed, int64_t offset)
{
	return make(OP_TEE, fd, length, seed, offset, 0, 0, 0);
}

struct request rq_send_mmsg(int fd, int messages, int64_t each, int flags, int64_t seed,
			    int64_t offset)
{
	return make(OP_SEND_MMSG, fd, messages, each, flags, seed, offset, 0);
}

struct request rq_recv_mmsg(int fd, int messages, int64_t each, int flags, int timeout_ms,
			    int64_t seed, int64_t offset)
{
	return make(OP_RECV_MMSG, fd, messages, each, flags, timeout_ms, seed, offset);
}

struct request rq_recv_facts(int fd, int64_t length, int flags, int64_t seed, int64_t offset)
{
	return make(OP_RECV_FACTS, fd, length, flags, seed, offset, 0, 0);
}

struct request rq_send_control(int fd, int64_t length, int level, int type, int64_t control_bytes)
{
	return make(OP_SEND_CONTROL, fd, length, level, type, control_bytes, 0, 0);
}

struct request rq_error_queue(int fd, int notifications, int timeout_ms)
{
	return make(OP_ERROR_QUEUE, fd, notifications, timeout_ms, 0, 0, 0, 0);
}

struct request rq_accept_bad(int fd, int64_t address_bytes)
{
	return make(OP_ACCEPT_BAD, fd, address_bytes, 0, 0, 0, 0, 0);
}

struct request rq_files_max(int more)
{
	return make(OP_FILES_MAX, -1, more, 0, 0, 0, 0, 0);
}

struct request rq_epoll_mod(int epoll_fd, int fd, int64_t events)
{
	return make(OP_EPOLL_MOD, epoll_fd, fd, events, 0, 0, 0, 0);
}

struct request rq_uring(int fd, enum uring_call call, int64_t length, int flags, int64_t seed,
			int64_t offset)
{
	return make(OP_URING, fd, call, length, flags, seed, offset, 20000);
}

struct request rq_uring_at(int fd, enum uring_call call, const struct address *address)
{
	struct request request = rq_uring(fd, call, 0, 0, 0, 0);

	request.address = *address;
	return request;
}
