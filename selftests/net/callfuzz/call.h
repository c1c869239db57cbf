/* SPDX-License-Identifier: GPL-2.0-only */
/* A sequence of socket calls as plain numbers: drawn from a seed, printed, shortened, performed. */
#ifndef CALLFUZZ_CALL_H
#define CALLFUZZ_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/net.h"

#define SLOTS 6
#define CALLS_MAX 40

enum op {
	CALL_SOCKET,
	CALL_BIND,
	CALL_LISTEN,
	CALL_CONNECT,
	CALL_ACCEPT,
	CALL_SEND,
	CALL_SENDMSG,
	CALL_RECV,
	CALL_RECVMSG,
	CALL_GETOPT,
	CALL_SETOPT,
	CALL_IOCTL,
	CALL_SHUTDOWN,
	CALL_POLL,
	CALL_NAME,
	CALL_DUP,
	CALL_CLOSE,
	CALL_COUNT,
};

/* Where a pointer leads. */
enum pointer {
	POINTER_GOOD,
	POINTER_NULL,
	POINTER_HOLE, /* to a page that is not there */
	POINTER_KERNEL,
	POINTER_READ_ONLY,
	POINTER_EDGE, /* to the last bytes before such a page */
	POINTER_COUNT,
};

/* Where an address argument points to. */
enum target {
	TARGET_OTHER, /* where another slot's socket is bound */
	TARGET_LOCAL, /* this host, any port */
	TARGET_PORT, /* this host, the sequence's own port */
	TARGET_WILDCARD, /* any address, any port */
	TARGET_CLOSED, /* a port that nobody ever has */
	TARGET_UNSPEC,
	TARGET_MULTICAST,
	TARGET_OTHER_FAMILY, /* IPv4 for an IPv6 socket and the other way round */
	TARGET_NO_FAMILY,
	TARGET_COUNT,
};

struct call {
	enum op op;
	uint8_t slot; /* whose socket the call uses */
	uint8_t other; /* the socket to connect to, or where a new descriptor is stored */
	enum pointer pointer;
	enum target target;
	enum mode mode; /* of a new socket, on the run that is not TCP's */
	bool v6;
	int32_t flags;
	int32_t level;
	int32_t name; /* option, ioctl, how, backlog */
	int64_t length;
	int64_t value;
	uint32_t salt; /* what the bytes are made from */
};

struct sequence {
	uint64_t seed;
	bool watched; /* after each call all sockets are polled; else the run only pauses */
	unsigned int count;
	struct call calls[CALLS_MAX];
};

/* compared: calls that may differ from TCP by design are left out (draw.c, option.c). */
void sequence_draw(struct sequence *sequence, uint64_t seed, enum mode mode, bool compared);
/* Prints one line without a newline. */
void call_print(const struct call *call);

#endif
