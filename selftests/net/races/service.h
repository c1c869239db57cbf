/* SPDX-License-Identifier: GPL-2.0-only */
/* The other end of all races. The first bytes of each connection are an order. */
#ifndef RACES_SERVICE_H
#define RACES_SERVICE_H

#include <stdint.h>

#include "../lib/net.h"

enum service {
	SERVICE_DRAIN, /* reads a stream to its end and answers how many bytes were right */
	SERVICE_SOURCE, /* sends so many bytes, then ends */
	SERVICE_RESET, /* reads so many bytes, then resets */
	SERVICE_CALL, /* connects to a port of the sender's host, and waits for the end */
	SERVICE_ABORT, /* connects to it, and resets after a random time */
	SERVICE_VERDICT, /* answers how many streams were wrong so far */
};

/* Both hosts are of one kind. */
struct order {
	uint32_t what;
	uint32_t bytes; /* or connections */
	uint64_t seed;
	uint32_t port;
	uint32_t unused;
};

/* On the port in mode, and on the next one by TCP, until it is killed. Returns if that fails. */
void serve(uint16_t port, enum mode mode);

#endif
