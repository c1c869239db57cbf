// SPDX-License-Identifier: GPL-2.0-only
/* Each call, with its arguments made from a call's numbers. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/stream.h"
#include "option.h"
#include "world.h"

/* More than all that a sequence sends. */
#define RECEIVED_BYTES_MAX 49152
#define SCRATCH_BYTES 4096
#define VECTORS_MAX 1025
#define CLOSED_PORT 1
#define EPHEMERAL_PORT_MIN 32768
#define RECV_TIMEOUT_US 30000
#define SEND_TIMEOUT_S 2
#define UNBOUNDED_ROOM 64

/* --- slots --------------------------------------------------------------------------- */

static int64_t result(int64_t ret)
{
	return ret < 0 ? -errno : ret;
}

static void put(struct world *world, unsigned int slot, int fd, struct object *object)
{
	if (world->fds[slot] >= 0)
		close(world->fds[slot]);
	world->fds[slot] = fd;
	world->of[slot] = object;
}

static struct object *new_object(struct world *world, bool v6)
{
	struct object *object = &world->objects[world->objects_used++ % CALLS_MAX];

	memset(object, 0, sizeof(*object));
	object->v6 = v6;
	return object;
}

static void set_int(int fd, int level, int name, int value)
{
	/* If this fails, the comparison shows it. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* Bounds the time of every call, and of delayed bytes. Accepted sockets inherit it. */
static void make_prompt(int fd)
{
	const struct timeval receive = { .tv_usec = RECV_TIMEOUT_US };
	const struct timeval send = { .tv_sec = SEND_TIMEOUT_S };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send));
	set_int(fd, SOL_TCP, TCP_NODELAY, 1);
}

/* --- addresses ------------------------------------------------------------------------- */

static bool is_v6(const struct world *world, unsigned int slot)
{
	return world->of[slot] && world->of[slot]->v6;
}

static void address_of_other(const struct world *world, const struct call *call,
			     struct address *address)
{
	address->length = sizeof(address->storage);
	if (getsockname(world->fds[call->other], (struct sockaddr *)&address->storage,
			&address->length) ||
	    !address_port(address))
		address_make(address, AF_UNSPEC, is_v6(world, call->slot) ? "::1" : "127.0.0.1",
			     CLOSED_PORT);
}

static void make_address(const struct world *world, const struct call *call,
			 struct address *address)
{
	const bool v6 = is_v6(world, call->slot);
	const char *here = v6 ? "::1" : "127.0.0.1";

	switch (call->target) {
	case TARGET_OTHER:
		address_of_other(world, call, address);
		return;
	case TARGET_LOCAL:
		address_make(address, AF_UNSPEC, here, 0);
		return;
	case TARGET_PORT:
		address_make(address, AF_UNSPEC, here, world->port);
		return;
	case TARGET_WILDCARD:
		address_make(address, v6 ? AF_INET6 : AF_INET, NULL, 0);
		return;
	case TARGET_MULTICAST:
		address_make(address, AF_UNSPEC, v6 ? "ff02::1" : "224.0.0.1", world->port);
		return;
	case TARGET_OTHER_FAMILY:
		address_make(address, AF_UNSPEC, v6 ? "127.0.0.1" : "::1", CLOSED_PORT);
		return;
	case TARGET_UNSPEC:
	case TARGET_NO_FAMILY:
	case TARGET_CLOSED:
	case TARGET_COUNT:
		break;
	}
	address_make(address, AF_UNSPEC, here, CLOSED_PORT);
	if (call->target == TARGET_UNSPEC)
		address->storage.ss_family = AF_UNSPEC;
	if (call->target == TARGET_NO_FAMILY)
		address->storage.ss_family = (sa_family_t)(call->salt >> 16);
}

/* Stores the address in its region and returns its length. */
static socklen_t place_address(const struct world *world, const struct call *call)
{
	struct address address;

	make_address(world, call, &address);
	memcpy(world_region(world, REGION_NAME), &address.storage, sizeof(address.storage));
	return call->length && call->op != CALL_SENDMSG ? (socklen_t)call->length : address.length;
}

/* Ports that the kernel has chosen are another one each time. */
static uint32_t hash_address(char *bytes, socklen_t length, uint32_t hash)
{
	struct address address = { .length = length };

	memcpy(&address.storage, bytes, sizeof(address.storage));
	if (address_port(&address) >= EPHEMERAL_PORT_MIN)
		address_set_port(&address, 0);
	hash = stream_crc(hash, &length, sizeof(length));
	return stream_crc(hash, &address.storage,
			  length < sizeof(address.storage) ? length : sizeof(address.storage));
}

/* --- calls ------------------------------------------------------------------------------- */

static int64_t do_socket(struct world *world, const struct call *call)
{
	const int family = call->v6 ? AF_INET6 : AF_INET;
	int fd = mode_socket(world->as_tcp ? MODE_TCP : call->mode, family, call->flags);

	if (fd < 0)
		return -errno;
	make_prompt(fd);
	put(world, call->slot, fd, new_object(world, call->v6));
	return 0;
}

static int64_t do_bind(struct world *world, const struct call *call)
{
	socklen_t length = place_address(world, call);

	return result(bind(world->fds[call->slot], world_aim(world, call, REGION_NAME, 0, 1),
			   length));
}

static int64_t do_listen(struct world *world, const struct call *call)
{
	struct object *object = world->of[call->slot];
	int64_t ret = result(listen(world->fds[call->slot], call->name));

	if (!ret && object) {
		object->listening = true;
		object->room = call->name < 0 || call->name >= UNBOUNDED_ROOM ?
				       UNBOUNDED_ROOM :
				       (unsigned int)call->name + 1;
	}
	return ret;
}

/* If the backlog is full, connects to a port where nobody listens instead. */
static void avoid_waiting(const struct world *world, struct call *call)
{
	const struct object *to = world->of[call->other];

	if (!world->gentle)
		return;
	if (call->target == TARGET_PORT || call->other == call->slot ||
	    (to && (to == world->of[call->slot] || to->pending >= to->room)))
		if (call->target == TARGET_PORT || call->target == TARGET_OTHER)
			call->target = TARGET_CLOSED;
}

static void stops_listening(struct object *object)
{
	if (!object)
		return;
	object->listening = false;
	object->pending = 0;
	object->room = 0;
}

static int64_t do_connect(struct world *world, const struct call *asked)
{
	struct object *object = world->of[asked->slot];
	struct object *to = world->of[asked->other];
	struct call call = *asked;
	socklen_t length;
	int64_t ret;

	avoid_waiting(world, &call);
	length = place_address(world, &call);
	ret = result(connect(world->fds[call.slot], world_aim(world, &call, REGION_NAME, 0, 1),
			     length));
	if (!ret && call.target == TARGET_UNSPEC)
		stops_listening(world->of[call.slot]);
	if ((!ret || ret == -EINPROGRESS) && call.target == TARGET_OTHER && to && to->listening &&
	    object && !object->connecting)
		to->pending++;
	/* The next connect() reports how this one ended, whatever its address. */
	if (object)
		object->connecting = ret == -EINPROGRESS;
	return ret;
}

static int64_t do_accept(struct world *world, const struct call *call, struct outcome *outcome)
{
	struct object *object = world->of[call->slot];
	socklen_t *length = (socklen_t *)world_region(world, REGION_LENGTH);
	char *name = world_region(world, REGION_NAME);
	int fd;

	memset(name, 0, SCRATCH_BYTES);
	*length = (socklen_t)call->length;
	fd = accept4(world->fds[call->slot], world_aim(world, call, REGION_NAME, 0, 2),
		     world_aim(world, call, REGION_LENGTH, 1, 2), call->flags);
	/* accept() with an address that cannot be stored takes the connection and closes it. */
	if (object && object->pending && (fd >= 0 || errno == EFAULT || errno == EINVAL))
		object->pending--;
	if (fd < 0)
		return -errno;
	outcome->hash = hash_address(name, *length, 0);
	put(world, call->other, fd, new_object(world, is_v6(world, call->slot)));
	return 0;
}

/*
 * Flushes bytes that TCP_CORK or Nagle hold back; when they would go by themselves depends on time.
 */
static int64_t pushed(const struct world *world, const struct call *call, int64_t ret)
{
	if (world->gentle && ret > 0)
		set_int(world->fds[call->slot], SOL_TCP, TCP_NODELAY, 1);
	return ret;
}

static void fill_data(const struct world *world, const struct call *call)
{
	const size_t length = call->length < 0 || call->length > REGION_BYTES ?
				      REGION_BYTES :
				      (size_t)call->length;

	stream_fill(world_region(world, REGION_DATA), length, call->salt, 0);
}

static int64_t do_send(struct world *world, const struct call *call)
{
	fill_data(world, call);
	return pushed(world, call,
		      result(send(world->fds[call->slot],
				  world_aim(world, call, REGION_DATA, 0, 1), (size_t)call->length,
				  call->flags)));
}

static void place_control(struct world *world, const struct call *call, struct msghdr *message)
{
	static const socklen_t lengths[] = { 0, 12, 15, 16, 17, 20, 24, 64, 4096, UINT32_MAX };
	static const int levels[] = { SOL_SOCKET, SOL_IP, SOL_TCP, SOL_IPV6, -1 };
	static const int types[] = { SCM_RIGHTS, SCM_CREDENTIALS, SO_MARK, SO_PRIORITY, 61, -1 };
	char *control = world_region(world, REGION_CONTROL);
	const uint32_t salt = call->salt >> 8;
	struct cmsghdr header = {
		.cmsg_len = lengths[salt / 5 % (sizeof(lengths) / sizeof(lengths[0]))],
		.cmsg_level = levels[salt / 50 % (sizeof(levels) / sizeof(levels[0]))],
		.cmsg_type = types[salt / 250 % (sizeof(types) / sizeof(types[0]))],
	};

	memset(control, 0, SCRATCH_BYTES);
	memcpy(control, &header, sizeof(header));
	message->msg_control = world_aim(world, call, REGION_CONTROL, 2, 5);
	message->msg_controllen = salt % 3 ? 0 : lengths[salt % 10];
}

/* The data in pieces, or as many vectors as nobody takes. */
static void place_vectors(struct world *world, const struct call *call, struct msghdr *message)
{
	struct iovec *vectors = (struct iovec *)world_region(world, REGION_VECTOR);
	char *data = world_aim(world, call, REGION_DATA, 0, 5);
	uint64_t left = (uint64_t)call->length;
	size_t count = 1 + call->salt / 7 % 4;

	memset(vectors, 0, VECTORS_MAX * sizeof(*vectors));
	for (size_t i = 0; i < count; i++) {
		uint64_t piece = i + 1 == count ? left : left / 2;

		vectors[i] = (struct iovec){ data, (size_t)piece };
		if (piece < REGION_BYTES)
			data += piece;
		left -= piece;
	}
	message->msg_iov = world_aim(world, call, REGION_VECTOR, 1, 5);
	message->msg_iovlen = call->value == 3 ? VECTORS_MAX : call->value == 7 ? 0 : count;
}

static struct msghdr *place_message(struct world *world, const struct call *call)
{
	struct msghdr *message = (struct msghdr *)world_region(world, REGION_MESSAGE);

	memset(message, 0, sizeof(*message));
	place_vectors(world, call, message);
	place_control(world, call, message);
	message->msg_flags = (int)call->value;
	return message;
}

static int64_t do_sendmsg(struct world *world, const struct call *asked)
{
	struct call call = *asked;
	struct msghdr *message = place_message(world, &call);

	fill_data(world, &call);
	avoid_waiting(world, &call);
	if (call.salt % 4 == 0) {
		message->msg_namelen = place_address(world, &call);
		message->msg_name = world_aim(world, &call, REGION_NAME, 3, 5);
	}
	return pushed(world, &call,
		      result(sendmsg(world->fds[call.slot],
				     world_aim(world, &call, REGION_MESSAGE, 4, 5), call.flags)));
}

/* The received bytes are at the start of the region if that was a good one. */
static uint32_t hash_received(const struct world *world, int64_t ret)
{
	if (ret <= 0)
		return 0;
	return stream_crc(0, world_region(world, REGION_DATA),
			  ret < RECEIVED_BYTES_MAX ? (size_t)ret : RECEIVED_BYTES_MAX);
}

static int64_t do_recv(struct world *world, const struct call *call, struct outcome *outcome)
{
	socklen_t *length = (socklen_t *)world_region(world, REGION_LENGTH);
	int64_t ret;

	memset(world_region(world, REGION_DATA), 0, RECEIVED_BYTES_MAX);
	*length = (socklen_t)call->value;
	ret = result(recvfrom(world->fds[call->slot], world_aim(world, call, REGION_DATA, 0, 3),
			      (size_t)call->length, call->flags,
			      call->salt & 64 ? world_aim(world, call, REGION_NAME, 1, 3) : NULL,
			      world_aim(world, call, REGION_LENGTH, 2, 3)));
	outcome->hash = hash_received(world, ret);
	if (ret >= 0)
		outcome->hash = stream_crc(outcome->hash, length, sizeof(*length));
	return ret;
}

static int64_t do_recvmsg(struct world *world, const struct call *call, struct outcome *outcome)
{
	struct msghdr *message = place_message(world, call);
	struct {
		uint64_t control_length;
		uint32_t name_length;
		int32_t flags;
	} header;
	int64_t ret;

	memset(world_region(world, REGION_DATA), 0, RECEIVED_BYTES_MAX);
	message->msg_name = world_aim(world, call, REGION_NAME, 3, 5);
	message->msg_namelen = (socklen_t)call->value;
	ret = result(recvmsg(world->fds[call->slot], world_aim(world, call, REGION_MESSAGE, 4, 5),
			     call->flags));
	outcome->hash = hash_received(world, ret);
	if (ret >= 0) {
		memset(&header, 0, sizeof(header));
		header.control_length = message->msg_controllen;
		header.name_length = message->msg_namelen;
		header.flags = message->msg_flags;
		outcome->hash = stream_crc(outcome->hash, &header, sizeof(header));
	}
	return ret;
}

static int64_t do_getopt(struct world *world, const struct call *call, struct outcome *outcome)
{
	const struct option_entry *entry = option_find(call->level, call->name);
	socklen_t *length = (socklen_t *)world_region(world, REGION_LENGTH);
	char *value = world_region(world, REGION_NAME);
	int64_t ret;

	memset(value, 0, SCRATCH_BYTES);
	*length = (socklen_t)call->length;
	/* A sock without a layer writes no name, and does not look where it would be written. */
	ret = result(getsockopt(world->fds[call->slot], call->level, call->name,
				call->level == SOL_TCP && call->name == TCP_ULP ?
					value :
					world_aim(world, call, REGION_NAME, 0, 2),
				world_aim(world, call, REGION_LENGTH, 1, 2)));
	if (!ret && entry && entry->value_says) {
		outcome->hash = stream_crc(0, length, sizeof(*length));
		outcome->hash = stream_crc(outcome->hash, value, SCRATCH_BYTES);
	}
	return ret;
}

static int64_t do_setopt(struct world *world, const struct call *call)
{
	memset(world_region(world, REGION_NAME), 0, SCRATCH_BYTES);
	memcpy(world_region(world, REGION_NAME), &call->value, sizeof(call->value));
	return result(setsockopt(world->fds[call->slot], call->level, call->name,
				 world_aim(world, call, REGION_NAME, 0, 1),
				 (socklen_t)call->length));
}

static int64_t do_ioctl(struct world *world, const struct call *call, struct outcome *outcome)
{
	const unsigned long command = (unsigned long)call->value;
	char *argument = world_region(world, REGION_NAME);
	int64_t ret;

	memset(argument, 0, SCRATCH_BYTES);
	ret = result(ioctl(world->fds[call->slot], command,
			   world_aim(world, call, REGION_NAME, 0, 1)));
	/* What TCP has sent and the other end has not confirmed differs by design. */
	if (!ret && (command == FIONREAD || command == SIOCATMARK))
		outcome->hash = stream_crc(0, argument, sizeof(int));
	return ret;
}

static int64_t do_shutdown(struct world *world, const struct call *call)
{
	int64_t ret = result(shutdown(world->fds[call->slot], call->name));

	if (!ret && call->name != SHUT_WR)
		stops_listening(world->of[call->slot]);
	return ret;
}

static int64_t do_poll(struct world *world, const struct call *call, struct outcome *outcome)
{
	struct pollfd poller = {
		.fd = world->fds[call->slot],
		.events = (short)(call->salt & (POLLIN | POLLPRI | POLLOUT | POLLRDHUP)),
	};
	int64_t ret = result(poll(&poller, 1, 0));

	outcome->hash = (uint32_t)poller.revents;
	return ret;
}

static int64_t do_name(struct world *world, const struct call *call, struct outcome *outcome)
{
	socklen_t *length = (socklen_t *)world_region(world, REGION_LENGTH);
	char *name = world_region(world, REGION_NAME);
	void *at = world_aim(world, call, REGION_NAME, 0, 2);
	void *length_at = world_aim(world, call, REGION_LENGTH, 1, 2);
	const int fd = world->fds[call->slot];
	int64_t ret;

	memset(name, 0, SCRATCH_BYTES);
	*length = (socklen_t)call->length;
	ret = result(call->salt & 256 ? getpeername(fd, at, length_at) :
					getsockname(fd, at, length_at));
	outcome->hash = hash_address(name, *length, 0);
	return ret;
}

static int64_t do_dup(struct world *world, const struct call *call)
{
	int fd = dup(world->fds[call->slot]);

	if (fd < 0)
		return -errno;
	put(world, call->other, fd, world->of[call->slot]);
	return 0;
}

static int64_t do_close(struct world *world, const struct call *call)
{
	int64_t ret = result(close(world->fds[call->slot]));

	world->fds[call->slot] = -1;
	world->of[call->slot] = NULL;
	return ret;
}

static void carry_out(struct world *world, const struct call *call, struct outcome *outcome)
{
	switch (call->op) {
	case CALL_SOCKET:
		outcome->ret = do_socket(world, call);
		break;
	case CALL_BIND:
		outcome->ret = do_bind(world, call);
		break;
	case CALL_LISTEN:
		outcome->ret = do_listen(world, call);
		break;
	case CALL_CONNECT:
		outcome->ret = do_connect(world, call);
		break;
	case CALL_ACCEPT:
		outcome->ret = do_accept(world, call, outcome);
		break;
	case CALL_SEND:
		outcome->ret = do_send(world, call);
		break;
	case CALL_SENDMSG:
		outcome->ret = do_sendmsg(world, call);
		break;
	case CALL_RECV:
		outcome->ret = do_recv(world, call, outcome);
		break;
	case CALL_RECVMSG:
		outcome->ret = do_recvmsg(world, call, outcome);
		break;
	case CALL_GETOPT:
		outcome->ret = do_getopt(world, call, outcome);
		break;
	case CALL_SETOPT:
		outcome->ret = do_setopt(world, call);
		break;
	case CALL_IOCTL:
		outcome->ret = do_ioctl(world, call, outcome);
		break;
	case CALL_SHUTDOWN:
		outcome->ret = do_shutdown(world, call);
		break;
	case CALL_POLL:
		outcome->ret = do_poll(world, call, outcome);
		break;
	case CALL_NAME:
		outcome->ret = do_name(world, call, outcome);
		break;
	case CALL_DUP:
		outcome->ret = do_dup(world, call);
		break;
	case CALL_CLOSE:
		outcome->ret = do_close(world, call);
		break;
	case CALL_COUNT:
		break;
	}
}

/* Where one side has ended, calls that differ from TCP by design are skipped. */
void perform(struct world *world, const struct call *asked, struct outcome *outcome)
{
	struct call call = *asked;
	struct pollfd poller = { .fd = world->fds[call.slot], .events = POLLRDHUP };

	if (world->gentle && poll(&poller, 1, 0) > 0 && poller.revents & POLLRDHUP) {
		call.flags &= call.op == CALL_SEND || call.op == CALL_SENDMSG ? ~MSG_OOB : ~0;
		if (call.op == CALL_BIND && poller.revents & POLLHUP)
			return;
	}
	carry_out(world, &call, outcome);
}
