/* SPDX-License-Identifier: GPL-2.0-only */
/* The other end of all races: does with each connection what its first bytes say. */
#ifndef RACES_SERVICE_H
#define RACES_SERVICE_H

#include <stdint.h>

#include "../lib/net.h"

enum service {
	SERVICE_DRAIN, /* takes a stream to its end and answers how much of it was right */
	SERVICE_SOURCE, /* sends that many bytes, then the end */
	SERVICE_RESET, /* takes that many bytes, then resets */
	SERVICE_CALL, /* connects to a port of the caller's host, and waits for the end */
	SERVICE_ABORT, /* connects there, and resets at some point or other */
	SERVICE_VERDICT, /* answers how many streams were wrong up to now */
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
