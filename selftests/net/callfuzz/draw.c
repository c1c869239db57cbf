// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sequences from a seed. Most begin with a connection, since little happens without one.
 *
 * Where a sequence is compared with TCP it keeps away from what differs by design, or by time:
 * see also option.c. Beside the table in Documentation/compatibility.md that is
 * - how much of a buffer goes that ends in a hole: none of it, or what lies before the hole;
 * - MSG_ZEROCOPY's notice; time stamps of what was sent: TCP's segments have them;
 * - more bytes under way than the smaller of both buffers holds;
 * - bind() of a socket whose connection is over, which still has TCP's port: EINVAL;
 * - MSG_OOB to a peer that has shut down both ways: TCP takes the byte in before it resets.
 */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../lib/random.h"
#include "call.h"
#include "option.h"

#define SENT_BYTES_MAX 1000
#define MSG_TRYHARD_FLAG 4
#define SOL_SMC_LEVEL 286

static const enum op usual_ops[] = {
	CALL_SOCKET,  CALL_BIND,    CALL_LISTEN, CALL_CONNECT, CALL_CONNECT, CALL_ACCEPT,
	CALL_ACCEPT,  CALL_SEND,    CALL_SEND,   CALL_SEND,    CALL_SENDMSG, CALL_SENDMSG,
	CALL_RECV,    CALL_RECV,    CALL_RECV,   CALL_RECV,    CALL_RECVMSG, CALL_RECVMSG,
	CALL_GETOPT,  CALL_SETOPT,  CALL_SETOPT, CALL_IOCTL,   CALL_IOCTL,   CALL_SHUTDOWN,
	CALL_POLL,    CALL_NAME,    CALL_DUP,    CALL_CLOSE,
};

static const int send_flags[] = {
	MSG_OOB,      MSG_MORE, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_EOR,	       MSG_DONTROUTE,
	MSG_CONFIRM,  MSG_PROXY, MSG_FIN,      MSG_SYN,	     MSG_RST,	       MSG_TRYHARD_FLAG,
	MSG_FASTOPEN, MSG_PEEK,	 MSG_WAITALL,  MSG_ERRQUEUE, MSG_CMSG_CLOEXEC, MSG_WAITFORONE,
};

static const int recv_flags[] = {
	MSG_PEEK,     MSG_PEEK, MSG_TRUNC, MSG_WAITALL, MSG_DONTWAIT,	  MSG_OOB,
	MSG_ERRQUEUE, MSG_MORE, MSG_EOR,   MSG_CTRUNC,	MSG_CMSG_CLOEXEC, MSG_WAITFORONE,
};

static const unsigned long ioctls[] = {
	FIONREAD,   FIONREAD,	 SIOCATMARK, SIOCATMARK,   SIOCOUTQ,	 SIOCOUTQNSD,
	SIOCGSTAMP, SIOCGIFNAME, SIOCGPGRP,  SIOCGIFINDEX, SIOCGIFFLAGS, 0x54ff,
};

static const int wild_numbers[] = { 0, 1, 2, 3, -1, 7, 64, 255, 256, 65536, INT32_MAX, INT32_MIN };
static const int wild_lengths[] = { 4, 4, 4, 4, 8, 8, 0, 1, 3, 5, 16, 28, 128, 200, -1, INT32_MAX };
static const int levels[] = { SOL_SOCKET, SOL_TCP,	    SOL_IP,    SOL_IPV6,
			      SOL_SMC_LEVEL, 282 /* TLS */, INT32_MAX, -1 };

static enum mode draw_mode(struct random *random, enum mode mode)
{
	/* Not every kernel can select. */
	return mode == MODE_COUNT ? (enum mode)random_below(random, MODE_SELECTED) : mode;
}

static int draw_flags(struct random *random, const int *flags, uint32_t count)
{
	int drawn = 0;

	if (random_once_in(random, 2))
		return 0;
	for (uint32_t more = random_below(random, 3) + 1; more; more--)
		drawn |= flags[random_below(random, count)];
	return drawn;
}

static void draw_option(struct random *random, struct call *call, bool compared)
{
	const struct option_entry *entry = &option_entries[random_below(random, option_count)];

	call->level = entry->level;
	call->name = entry->name;
	if (random_once_in(random, 16)) {
		call->level = random_of(random, levels);
		call->name = (int32_t)random_below(random, 200);
		if (compared && !option_find(call->level, call->name))
			call->name += 1000;
		entry = option_find(call->level, call->name);
	}
	if (compared && call->op == CALL_SETOPT && entry && !entry->sets)
		call->op = CALL_GETOPT;
	call->value = random_of(random, wild_numbers);
	if (random_once_in(random, 4))
		call->value |= (int64_t)random_below(random, 3) << 32;
	call->length = random_of(random, wild_lengths);
}

/* How much of a buffer goes that ends in a hole differs by design; that none goes does not. */
static void avoid_edge(struct call *call)
{
	if (call->pointer == POINTER_EDGE)
		call->pointer = POINTER_HOLE;
}

static void draw_send(struct random *random, struct call *call, bool compared)
{
	call->flags = draw_flags(random, send_flags, sizeof(send_flags) / sizeof(send_flags[0]));
	call->length = random_below(random, random_once_in(random, 4) ? SENT_BYTES_MAX : 20);
	call->value = random_of(random, wild_numbers);
	if (compared) {
		avoid_edge(call);
		return;
	}
	if (random_once_in(random, 4))
		call->flags |= (int)random_next(random);
	if (random_once_in(random, 4))
		call->length = (int64_t)random_next(random) >> random_below(random, 60);
}

static void draw_recv(struct random *random, struct call *call, bool compared)
{
	static const int64_t lengths[] = { 0,	1,    5,	 20,	    100, 1000,
					   5000, 60000, INT32_MAX, INT64_MAX, -1 };

	call->flags = draw_flags(random, recv_flags, sizeof(recv_flags) / sizeof(recv_flags[0]));
	call->length = random_of(random, lengths);
	call->value = random_of(random, wild_numbers);
	if (compared) {
		avoid_edge(call);
		return;
	}
	if (random_once_in(random, 4))
		call->flags |= (int)random_next(random);
}

static void draw_call(struct random *random, struct call *call, enum mode mode, bool compared)
{
	memset(call, 0, sizeof(*call));
	call->op = random_of(random, usual_ops);
	call->slot = (uint8_t)random_below(random, random_once_in(random, 3) ? SLOTS : 3);
	call->other = (uint8_t)random_below(random, SLOTS);
	if (random_once_in(random, 10))
		call->pointer = (enum pointer)random_below(random, POINTER_COUNT);
	call->target = random_once_in(random, 2) ? TARGET_OTHER :
						   (enum target)random_below(random, TARGET_COUNT);
	call->mode = draw_mode(random, mode);
	call->v6 = random_once_in(random, 3);
	call->salt = (uint32_t)random_next(random);
	call->length = random_of(random, wild_lengths);
	switch (call->op) {
	case CALL_SOCKET:
	case CALL_ACCEPT:
		call->flags = random_once_in(random, 4) ? 0 : SOCK_NONBLOCK;
		break;
	case CALL_BIND:
	case CALL_CONNECT:
		/* Mostly as long as an address of its kind is. */
		if (!random_once_in(random, 8))
			call->length = 0;
		break;
	case CALL_LISTEN:
	case CALL_SHUTDOWN:
		call->name = random_once_in(random, 4) ? random_of(random, wild_numbers) :
							 (int32_t)random_below(random, 3);
		break;
	case CALL_SEND:
	case CALL_SENDMSG:
		draw_send(random, call, compared);
		break;
	case CALL_RECV:
	case CALL_RECVMSG:
		draw_recv(random, call, compared);
		break;
	case CALL_GETOPT:
	case CALL_SETOPT:
		draw_option(random, call, compared);
		break;
	case CALL_IOCTL:
		call->value = (int64_t)random_of(random, ioctls);
		break;
	case CALL_POLL:
	case CALL_NAME:
	case CALL_DUP:
	case CALL_CLOSE:
	case CALL_COUNT:
		break;
	}
}

static struct call *append(struct sequence *sequence, enum op op, uint8_t slot, uint8_t other)
{
	struct call *call = &sequence->calls[sequence->count++];

	memset(call, 0, sizeof(*call));
	call->op = op;
	call->slot = slot;
	call->other = other;
	call->flags = SOCK_NONBLOCK;
	return call;
}

/* Slots 0 to 2 are sockets in no particular state. */
static void begin_apart(struct sequence *sequence, struct random *random, enum mode mode)
{
	for (uint8_t slot = 0; slot < 3; slot++) {
		struct call *call = append(sequence, CALL_SOCKET, slot, 0);

		call->mode = draw_mode(random, mode);
		call->v6 = random_once_in(random, 3);
	}
}

/* Slot 0 listens; 1 and 2 are a connection. */
static void begin_connected(struct sequence *sequence, struct random *random, enum mode mode)
{
	const bool v6 = random_once_in(random, 3);
	struct call *call;

	call = append(sequence, CALL_SOCKET, 0, 0);
	call->mode = draw_mode(random, mode);
	call->v6 = v6;
	append(sequence, CALL_BIND, 0, 0)->target = TARGET_LOCAL;
	append(sequence, CALL_LISTEN, 0, 0)->name = 8;
	call = append(sequence, CALL_SOCKET, 1, 0);
	call->mode = draw_mode(random, mode);
	call->v6 = v6;
	append(sequence, CALL_CONNECT, 1, 0)->target = TARGET_OTHER;
	if (!random_once_in(random, 8))
		append(sequence, CALL_ACCEPT, 0, 2);
}

void sequence_draw(struct sequence *sequence, uint64_t seed, enum mode mode, bool compared)
{
	struct random random = { seed };
	unsigned int count = 12 + random_below(&random, CALLS_MAX - 12);

	sequence->seed = seed;
	sequence->count = 0;
	sequence->watched = random_once_in(&random, 2);
	if (!random_once_in(&random, 6))
		begin_connected(sequence, &random, mode);
	else
		begin_apart(sequence, &random, mode);
	while (sequence->count < count)
		draw_call(&random, &sequence->calls[sequence->count++], mode, compared);
}
