// SPDX-License-Identifier: GPL-2.0-only
#include "execute.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/stream.h"
#include "step.h"

#define PIECES_MAX 16
/* How long a full or empty socket must stay so before a loop believes it. */
#define SETTLE_MS 400

typedef void (*op_fn)(const struct request *request, struct reply *reply);

static atomic_int sigpipe_count;
static atomic_int sigio_count;
static atomic_int sigurg_count;

void execute_on_signal(int signal)
{
	if (signal == SIGPIPE)
		atomic_fetch_add(&sigpipe_count, 1);
	else if (signal == SIGURG)
		atomic_fetch_add(&sigurg_count, 1);
	else
		atomic_fetch_add(&sigio_count, 1);
}

/* Cuts [buffer, buffer + length) into nearly equal pieces; how many they are. */
static int cut(struct iovec *vector, int64_t pieces, void *buffer, size_t length)
{
	size_t step;
	int count = 0;

	if (pieces < 1)
		pieces = 1;
	if (pieces > PIECES_MAX)
		pieces = PIECES_MAX;
	step = length / (size_t)pieces;
	for (; count < pieces; count++) {
		vector[count].iov_base = (char *)buffer + (size_t)count * step;
		vector[count].iov_len = step;
	}
	vector[count - 1].iov_len = length - (size_t)(count - 1) * step;
	return count;
}

void *step_buffer(size_t length, struct reply *reply)
{
	void *buffer = malloc(length ? length : 1);

	if (!buffer)
		reply->error = ENOMEM;
	return buffer;
}

/* What a receiving step found: how many of the bytes are the stream's. */
int64_t step_matched(const void *buffer, int64_t length, int64_t seed, int64_t offset)
{
	if (length <= 0)
		return 0;
	if (seed == SEED_ANY)
		return length;
	return (int64_t)stream_match(buffer, (size_t)length, (uint64_t)seed, (uint64_t)offset);
}

static void run_socket(const struct request *request, struct reply *reply)
{
	reply->ret = mode_socket((enum mode)request->args[0], (int)request->args[1],
				 (int)request->args[2] | SOCK_CLOEXEC);
}

static void run_bind(const struct request *request, struct reply *reply)
{
	reply->ret = bind(request->fd, (const struct sockaddr *)&request->address.storage,
			  request->address.length);
}

static void run_listen(const struct request *request, struct reply *reply)
{
	reply->ret = listen(request->fd, (int)request->args[0]);
}

static void run_connect(const struct request *request, struct reply *reply)
{
	socklen_t length = request->args[0] ? (socklen_t)request->args[0] :
						request->address.length;

	reply->ret = connect(request->fd, (const struct sockaddr *)&request->address.storage,
			     length);
}

static void run_accept(const struct request *request, struct reply *reply)
{
	reply->address.length = sizeof(reply->address.storage);
	reply->ret = accept4(request->fd, (struct sockaddr *)&reply->address.storage,
			     &reply->address.length, (int)request->args[0]);
	if (reply->ret < 0)
		return;
	reply->values[0] = (fcntl((int)reply->ret, F_GETFL) & O_NONBLOCK) != 0;
	reply->values[1] = (fcntl((int)reply->ret, F_GETFD) & FD_CLOEXEC) != 0;
}

static ssize_t send_by(enum send_call call, int fd, void *buffer, size_t length, int flags,
		       int64_t pieces)
{
	struct iovec vector[PIECES_MAX];
	struct msghdr message = { .msg_iov = vector };

	message.msg_iovlen = (size_t)cut(vector, pieces, buffer, length);
	switch (call) {
	case SEND_SEND:
		return send(fd, buffer, length, flags);
	case SEND_WRITE:
		return write(fd, buffer, length);
	case SEND_WRITEV:
		return writev(fd, vector, (int)message.msg_iovlen);
	case SEND_SENDMSG:
		return sendmsg(fd, &message, flags);
	}
	errno = EINVAL;
	return -1;
}

static void run_send(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[1], reply);

	if (!buffer)
		return;
	stream_fill(buffer, (size_t)args[1], (uint64_t)args[4], (uint64_t)args[5]);
	reply->ret = send_by((enum send_call)args[0], request->fd, buffer, (size_t)args[1],
			     (int)args[2], args[3]);
	reply->error = errno;
	/* The kernel may use the buffer until the notification, so it is not freed. */
	if (!(args[2] & MSG_ZEROCOPY))
		free(buffer);
}

static void run_send_to(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[0], reply);

	if (!buffer)
		return;
	stream_fill(buffer, (size_t)args[0], (uint64_t)args[2], (uint64_t)args[3]);
	reply->ret = sendto(request->fd, buffer, (size_t)args[0], (int)args[1],
			    (const struct sockaddr *)&request->address.storage,
			    request->address.length);
	reply->error = errno;
	free(buffer);
}

/* A good part and a page that cannot be touched. */
static bool make_bad_vector(struct iovec *vector, size_t length, struct reply *reply)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *bad = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	vector[0].iov_base = step_buffer(length, reply);
	vector[0].iov_len = length;
	vector[1].iov_base = bad;
	vector[1].iov_len = page;
	if (bad == MAP_FAILED)
		reply->error = ENOMEM;
	return vector[0].iov_base && bad != MAP_FAILED;
}

static void free_bad_vector(struct iovec *vector)
{
	free(vector[0].iov_base);
	munmap(vector[1].iov_base, vector[1].iov_len);
}

static void run_send_bad(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	struct iovec vector[2];
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = 2 };

	if (!make_bad_vector(vector, (size_t)args[0], reply))
		return;
	stream_fill(vector[0].iov_base, (size_t)args[0], (uint64_t)args[2], (uint64_t)args[3]);
	reply->ret = sendmsg(request->fd, &message, (int)args[1]);
	reply->error = errno;
	free_bad_vector(vector);
}

static void run_recv_bad(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	struct iovec vector[2];
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = 2 };

	if (!make_bad_vector(vector, (size_t)args[0], reply))
		return;
	reply->ret = recvmsg(request->fd, &message, (int)args[1]);
	reply->error = errno;
	/* A count above the good part would be an error; the caller checks that, too. */
	if (reply->ret >= 0 && reply->ret <= args[0])
		reply->values[0] = step_matched(vector[0].iov_base, reply->ret, args[2], args[3]);
	free_bad_vector(vector);
}

static void run_send_loop(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[1], reply);
	int64_t total = 0;

	if (!buffer)
		return;
	reply->error = 0;
	while (total < args[0]) {
		int64_t left = args[0] - total;
		size_t length = (size_t)(left < args[1] ? left : args[1]);
		ssize_t sent;

		stream_fill(buffer, length, (uint64_t)args[2], (uint64_t)(args[3] + total));
		sent = send(request->fd, buffer, length, MSG_NOSIGNAL);
		if (sent < 0) {
			reply->error = errno;
			break;
		}
		total += sent;
	}
	free(buffer);
	reply->ret = total;
}

/* Whether the event does not come within the settling time. */
static bool stays_without(int fd, short event)
{
	struct pollfd poller = { .fd = fd, .events = event };

	return poll(&poller, 1, SETTLE_MS) == 0;
}

static void run_send_fill(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[0], reply);
	int64_t total = 0;

	if (!buffer)
		return;
	for (;;) {
		ssize_t sent;

		stream_fill(buffer, (size_t)args[0], (uint64_t)args[1],
			    (uint64_t)(args[2] + total));
		sent = send(request->fd, buffer, (size_t)args[0], MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0) {
			total += sent;
			continue;
		}
		reply->error = errno;
		if (errno != EAGAIN || stays_without(request->fd, POLLOUT))
			break;
	}
	free(buffer);
	reply->ret = total;
}

static ssize_t recv_by(enum recv_call call, int fd, void *buffer, size_t length, int flags,
		       int64_t pieces, int64_t *msg_flags)
{
	struct iovec vector[PIECES_MAX];
	struct msghdr message = { .msg_iov = vector };
	ssize_t got;

	message.msg_iovlen = (size_t)cut(vector, pieces, buffer, length);
	switch (call) {
	case RECV_RECV:
		return recv(fd, buffer, length, flags);
	case RECV_READ:
		return read(fd, buffer, length);
	case RECV_READV:
		return readv(fd, vector, (int)message.msg_iovlen);
	case RECV_RECVFROM:
		return recvfrom(fd, buffer, length, flags, NULL, NULL);
	case RECV_RECVMSG:
		got = recvmsg(fd, &message, flags);
		*msg_flags = message.msg_flags;
		return got;
	}
	errno = EINVAL;
	return -1;
}

static void run_recv(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[1], reply);

	if (!buffer)
		return;
	reply->ret = recv_by((enum recv_call)args[0], request->fd, buffer, (size_t)args[1],
			     (int)args[2], args[3], &reply->values[1]);
	reply->error = errno;
	/* MSG_TRUNC throws the bytes away: there is nothing to compare. */
	if (!(args[2] & MSG_TRUNC))
		reply->values[0] = step_matched(buffer, reply->ret, args[4], args[5]);
	free(buffer);
}

/* Receives into buffer and compares; false at the end, an error or a wrong byte. */
static bool recv_checked(const struct request *request, struct reply *reply, void *buffer,
			 size_t length, int flags, int64_t seed, int64_t offset)
{
	ssize_t got = recv(request->fd, buffer, length, flags);
	int64_t good;

	if (got <= 0) {
		reply->error = got ? errno : 0;
		reply->values[1] = got == 0;
		return false;
	}
	good = step_matched(buffer, got, seed, offset + reply->ret);
	reply->ret += got;
	reply->values[0] += good;
	if (good == got)
		return true;
	reply->error = EILSEQ;
	return false;
}

static void run_recv_loop(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[1], reply);

	if (!buffer)
		return;
	reply->ret = 0;
	reply->error = 0;
	while (args[0] < 0 || reply->ret < args[0]) {
		int64_t length = args[1];

		if (args[0] >= 0 && args[0] - reply->ret < length)
			length = args[0] - reply->ret;
		if (!recv_checked(request, reply, buffer, (size_t)length, 0, args[3], args[4]))
			break;
		if (args[2])
			sleep_ms((uint64_t)args[2]);
	}
	free(buffer);
}

static void run_recv_drain(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	void *buffer = step_buffer((size_t)args[0], reply);

	if (!buffer)
		return;
	reply->ret = 0;
	for (;;) {
		if (recv_checked(request, reply, buffer, (size_t)args[0], MSG_DONTWAIT, args[1],
				 args[2]))
			continue;
		if (reply->error != EAGAIN || stays_without(request->fd, POLLIN))
			break;
	}
	free(buffer);
}

static void run_poll(const struct request *request, struct reply *reply)
{
	struct pollfd poller = { .fd = request->fd, .events = (short)request->args[0] };

	reply->ret = poll(&poller, 1, (int)request->args[1]);
	reply->values[0] = poller.revents;
}

static void run_select(const struct request *request, struct reply *reply)
{
	struct timeval timeout = { .tv_sec = request->args[0] / 1000,
				   .tv_usec = request->args[0] % 1000 * 1000 };
	fd_set sets[3];

	for (int i = 0; i < 3; i++) {
		FD_ZERO(&sets[i]);
		FD_SET(request->fd, &sets[i]);
	}
	reply->ret = select(request->fd + 1, &sets[0], &sets[1], &sets[2], &timeout);
	for (int i = 0; reply->ret >= 0 && i < 3; i++)
		if (FD_ISSET(request->fd, &sets[i]))
			reply->values[0] |= 1 << i;
}

static void run_epoll_create(const struct request *request, struct reply *reply)
{
	(void)request;
	reply->ret = epoll_create1(EPOLL_CLOEXEC);
}

static void run_epoll_add(const struct request *request, struct reply *reply)
{
	struct epoll_event event = { .events = (uint32_t)request->args[1],
				     .data.fd = (int)request->args[0] };

	reply->ret = epoll_ctl(request->fd, EPOLL_CTL_ADD, (int)request->args[0], &event);
}

static void run_epoll_wait(const struct request *request, struct reply *reply)
{
	struct epoll_event event = { 0 };

	reply->ret = epoll_wait(request->fd, &event, 1, (int)request->args[0]);
	reply->values[0] = event.events;
}

static void run_epoll_mod(const struct request *request, struct reply *reply)
{
	struct epoll_event event = { .events = (uint32_t)request->args[1],
				     .data.fd = (int)request->args[0] };

	reply->ret = epoll_ctl(request->fd, EPOLL_CTL_MOD, (int)request->args[0], &event);
}

static void run_accept_bad(const struct request *request, struct reply *reply)
{
	socklen_t length = (socklen_t)request->args[0];

	reply->ret = accept4(request->fd, (struct sockaddr *)8, &length, 0);
}

/* Closed files leave gaps, so the limit is set by the highest open number. */
static void run_files_max(const struct request *request, struct reply *reply)
{
	static struct rlimit before;
	struct rlimit limit;
	int next;

	if (request->args[0] < 0) {
		reply->ret = setrlimit(RLIMIT_NOFILE, &before);
		return;
	}
	if (getrlimit(RLIMIT_NOFILE, &before) < 0)
		return;
	next = dup(0);
	if (next < 0)
		return;
	close(next);
	limit = before;
	limit.rlim_cur = (rlim_t)(next + request->args[0]);
	reply->ret = setrlimit(RLIMIT_NOFILE, &limit);
}

static void run_shutdown(const struct request *request, struct reply *reply)
{
	reply->ret = shutdown(request->fd, (int)request->args[0]);
}

static void run_close(const struct request *request, struct reply *reply)
{
	reply->ret = close(request->fd);
}

static void run_dup(const struct request *request, struct reply *reply)
{
	reply->ret = dup(request->fd);
}

union option_value {
	int number;
	unsigned char byte;
	struct linger linger;
	struct timeval time;
};

static socklen_t option_length(int64_t kind)
{
	switch ((enum option_kind)kind) {
	case OPTION_INT:
		return sizeof(int);
	case OPTION_BYTE:
		return 1;
	case OPTION_LINGER:
		return sizeof(struct linger);
	case OPTION_TIMEVAL:
		return sizeof(struct timeval);
	}
	return 0;
}

static void run_set_option(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	union option_value value = { 0 };

	switch ((enum option_kind)args[2]) {
	case OPTION_INT:
		value.number = (int)args[3];
		break;
	case OPTION_BYTE:
		value.byte = (unsigned char)args[3];
		break;
	case OPTION_LINGER:
		value.linger.l_onoff = (int)args[3];
		value.linger.l_linger = (int)args[4];
		break;
	case OPTION_TIMEVAL:
		value.time.tv_sec = args[3];
		value.time.tv_usec = args[4];
		break;
	}
	reply->ret = setsockopt(request->fd, (int)args[0], (int)args[1], &value,
				option_length(args[2]));
}

static void run_get_option(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	union option_value value = { 0 };
	socklen_t length = option_length(args[2]);

	reply->ret = getsockopt(request->fd, (int)args[0], (int)args[1], &value, &length);
	if (reply->ret < 0)
		return;
	switch ((enum option_kind)args[2]) {
	case OPTION_INT:
		reply->values[0] = value.number;
		break;
	case OPTION_BYTE:
		reply->values[0] = value.byte;
		break;
	case OPTION_LINGER:
		reply->values[0] = value.linger.l_onoff;
		reply->values[1] = value.linger.l_linger;
		break;
	case OPTION_TIMEVAL:
		reply->values[0] = value.time.tv_sec;
		reply->values[1] = value.time.tv_usec;
		break;
	}
}

static void run_get_sockname(const struct request *request, struct reply *reply)
{
	reply->address.length = sizeof(reply->address.storage);
	reply->ret = getsockname(request->fd, (struct sockaddr *)&reply->address.storage,
				 &reply->address.length);
}

static void run_get_peername(const struct request *request, struct reply *reply)
{
	reply->address.length = sizeof(reply->address.storage);
	reply->ret = getpeername(request->fd, (struct sockaddr *)&reply->address.storage,
				 &reply->address.length);
}

static void run_ioctl_int(const struct request *request, struct reply *reply)
{
	int value = 0;

	reply->ret = ioctl(request->fd, (unsigned long)request->args[0], &value);
	reply->values[0] = value;
}

static void run_fcntl(const struct request *request, struct reply *reply)
{
	/* The driver does not know the process ID: the third value asks for it. */
	reply->ret = fcntl(request->fd, (int)request->args[0],
			   request->args[2] ? getpid() : request->args[1]);
}

static void run_sigpipes(const struct request *request, struct reply *reply)
{
	(void)request;
	reply->ret = atomic_exchange(&sigpipe_count, 0);
}

static void run_signals(const struct request *request, struct reply *reply)
{
	atomic_int *count = request->args[0] == SIGURG ? &sigurg_count : &sigio_count;
	uint64_t until_ms = now_ms() + (uint64_t)request->args[1];

	while (!atomic_load(count) && now_ms() < until_ms)
		sleep_ms(10);
	reply->ret = atomic_exchange(count, 0);
}

static const op_fn functions[OP_COUNT] = {
	[OP_SOCKET] = run_socket,
	[OP_BIND] = run_bind,
	[OP_LISTEN] = run_listen,
	[OP_CONNECT] = run_connect,
	[OP_ACCEPT] = run_accept,
	[OP_SEND] = run_send,
	[OP_SEND_TO] = run_send_to,
	[OP_SEND_BAD] = run_send_bad,
	[OP_SEND_LOOP] = run_send_loop,
	[OP_SEND_FILL] = run_send_fill,
	[OP_RECV] = run_recv,
	[OP_RECV_BAD] = run_recv_bad,
	[OP_RECV_LOOP] = run_recv_loop,
	[OP_RECV_DRAIN] = run_recv_drain,
	[OP_POLL] = run_poll,
	[OP_SELECT] = run_select,
	[OP_EPOLL_CREATE] = run_epoll_create,
	[OP_EPOLL_ADD] = run_epoll_add,
	[OP_EPOLL_WAIT] = run_epoll_wait,
	[OP_SHUTDOWN] = run_shutdown,
	[OP_CLOSE] = run_close,
	[OP_DUP] = run_dup,
	[OP_SET_OPTION] = run_set_option,
	[OP_GET_OPTION] = run_get_option,
	[OP_GET_SOCKNAME] = run_get_sockname,
	[OP_GET_PEERNAME] = run_get_peername,
	[OP_IOCTL_INT] = run_ioctl_int,
	[OP_FCNTL] = run_fcntl,
	[OP_SIGPIPES] = run_sigpipes,
	[OP_SIGNALS] = run_signals,
	[OP_KILL_TCP] = step_kill_tcp,
	[OP_SPLICE_IN] = step_splice_in,
	[OP_SPLICE_OUT] = step_splice_out,
	[OP_TEE] = step_tee,
	[OP_SEND_MMSG] = step_send_mmsg,
	[OP_RECV_MMSG] = step_recv_mmsg,
	[OP_RECV_FACTS] = step_recv_facts,
	[OP_SEND_CONTROL] = step_send_control,
	[OP_ERROR_QUEUE] = step_error_queue,
	[OP_ACCEPT_BAD] = run_accept_bad,
	[OP_FILES_MAX] = run_files_max,
	[OP_EPOLL_MOD] = run_epoll_mod,
	[OP_URING] = step_uring,
};

void execute(const struct request *request, struct reply *reply)
{
	uint64_t start_ms = now_ms();

	if (request->op >= OP_COUNT || !functions[request->op]) {
		reply->error = ENOSYS;
		return;
	}
	errno = 0;
	functions[request->op](request, reply);
	/* Steps that clean up after the call store errno themselves. */
	if (reply->ret < 0 && !reply->error)
		reply->error = errno;
	reply->elapsed_ms = (uint32_t)(now_ms() - start_ms);
}
