// SPDX-License-Identifier: GPL-2.0-only
#include "step.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../lib/stream.h"

#define MESSAGES_MAX 16
#define CONTROL_BYTES 512

static int cut_messages(struct mmsghdr *messages, struct iovec *vector, int64_t count,
			int64_t each, char *buffer)
{
	int n = 0;

	memset(messages, 0, MESSAGES_MAX * sizeof(*messages));
	for (; n < count && n < MESSAGES_MAX; n++) {
		vector[n].iov_base = buffer + n * each;
		vector[n].iov_len = (size_t)each;
		messages[n].msg_hdr.msg_iov = &vector[n];
		messages[n].msg_hdr.msg_iovlen = 1;
	}
	return n;
}

void step_send_mmsg(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	struct mmsghdr messages[MESSAGES_MAX];
	struct iovec vector[MESSAGES_MAX];
	size_t length = (size_t)(args[0] * args[1]);
	char *buffer = step_buffer(length, reply);
	int count;

	if (!buffer)
		return;
	stream_fill(buffer, length, (uint64_t)args[3], (uint64_t)args[4]);
	count = cut_messages(messages, vector, args[0], args[1], buffer);
	reply->ret = sendmmsg(request->fd, messages, (unsigned int)count, (int)args[2]);
	reply->error = errno;
	for (int i = 0; i < reply->ret; i++)
		reply->values[0] += messages[i].msg_len;
	free(buffer);
}

void step_recv_mmsg(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	struct timespec timeout = { .tv_sec = args[3] / 1000, .tv_nsec = args[3] % 1000 * 1000000 };
	struct mmsghdr messages[MESSAGES_MAX];
	struct iovec vector[MESSAGES_MAX];
	char *buffer = step_buffer((size_t)(args[0] * args[1]), reply);
	int64_t offset = args[5];
	int count;

	if (!buffer)
		return;
	count = cut_messages(messages, vector, args[0], args[1], buffer);
	reply->ret = recvmmsg(request->fd, messages, (unsigned int)count, (int)args[2],
			      args[3] < 0 ? NULL : &timeout);
	reply->error = errno;
	for (int i = 0; i < reply->ret; i++) {
		reply->values[0] += messages[i].msg_len;
		reply->values[1] += step_matched(vector[i].iov_base, messages[i].msg_len, args[4],
						 offset);
		offset += messages[i].msg_len;
	}
	free(buffer);
}

void step_recv_facts(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	char control[CONTROL_BYTES];
	struct sockaddr_storage name;
	struct iovec vector = { .iov_len = (size_t)args[0] };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control), .msg_name = &name,
				  .msg_namelen = sizeof(name) };

	vector.iov_base = step_buffer((size_t)args[0], reply);
	if (!vector.iov_base)
		return;
	reply->ret = recvmsg(request->fd, &message, (int)args[1]);
	reply->error = errno;
	if (!(args[1] & MSG_TRUNC))
		reply->values[0] = step_matched(vector.iov_base, reply->ret, args[2], args[3]);
	if (reply->ret >= 0)
		reply->values[1] = message.msg_flags | (int64_t)message.msg_namelen << 32 |
				   (int64_t)message.msg_controllen << 40;
	free(vector.iov_base);
}

void step_send_control(const struct request *request, struct reply *reply)
{
	const int64_t *args = request->args;
	union {
		char bytes[CONTROL_BYTES];
		struct cmsghdr header;
	} control = { { 0 } };
	struct iovec vector = { .iov_len = (size_t)args[0] };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = CMSG_SPACE((size_t)args[3]) };

	vector.iov_base = step_buffer((size_t)args[0], reply);
	if (!vector.iov_base)
		return;
	stream_fill(vector.iov_base, (size_t)args[0], 1, 0);
	control.header.cmsg_level = (int)args[1];
	control.header.cmsg_type = (int)args[2];
	control.header.cmsg_len = CMSG_LEN((size_t)args[3]);
	reply->ret = sendmsg(request->fd, &message, MSG_NOSIGNAL);
	reply->error = errno;
	free(vector.iov_base);
}

/* Reads one notification. Returns how many sends it covers, -1 if there is none. */
static int64_t take_notification(int fd, struct reply *reply)
{
	union {
		char bytes[CONTROL_BYTES];
		struct cmsghdr header;
	} control;
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct sock_extended_err error = { 0 };
	struct cmsghdr *header;

	if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		reply->error = errno;
		return -1;
	}
	header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(&error, CMSG_DATA(header), sizeof(error));
	if (!reply->ret)
		reply->values[0] = (int64_t)error.ee_info << 32;
	reply->values[0] = (reply->values[0] & ~(int64_t)0xffffffff) | error.ee_data;
	reply->values[1] = error.ee_origin << 8 | error.ee_code;
	return (int64_t)error.ee_data - error.ee_info + 1;
}

void step_error_queue(const struct request *request, struct reply *reply)
{
	struct pollfd poller = { .fd = request->fd };

	reply->ret = 0;
	reply->error = 0;
	while (reply->ret < request->args[0]) {
		int64_t more;

		/* POLLERR is always reported. */
		if (poll(&poller, 1, (int)request->args[1]) <= 0)
			break;
		more = take_notification(request->fd, reply);
		if (more < 0)
			break;
		reply->ret += more;
	}
	if (!request->args[0])
		reply->ret = take_notification(request->fd, reply);
}
