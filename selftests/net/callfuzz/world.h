/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets of one run of a sequence, the memory that calls point to, and what came out. */
#ifndef CALLFUZZ_WORLD_H
#define CALLFUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

#define REGION_BYTES 65536

enum region {
	REGION_DATA,
	REGION_NAME,
	REGION_LENGTH,
	REGION_CONTROL,
	REGION_VECTOR,
	REGION_MESSAGE,
	REGION_COUNT,
};

/* What TCP and SMC have to agree about. */
struct outcome {
	int64_t ret; /* or -errno */
	uint32_t hash; /* of the bytes that came back */
	uint16_t polled[SLOTS]; /* what poll() says of each slot, where it was asked */
	int32_t readable[SLOTS]; /* FIONREAD, likewise; -errno */
};

struct trace {
	struct outcome outcomes[CALLS_MAX];
};

/* An open socket, which dup() may have put into several slots. */
struct object {
	bool v6;
	bool connecting; /* connect() said EINPROGRESS, and was not asked again */
	bool listening;
	unsigned int room; /* connections that the backlog has room for */
	unsigned int pending; /* made, and not accepted */
};

struct world {
	bool as_tcp; /* plain TCP, whatever mode a call asks for */
	bool gentle; /* leaves out what would make the comparison depend on time */
	unsigned int pause_us; /* after each call, for its effect at the other end */
	uint16_t port;
	int fds[SLOTS];
	struct object *of[SLOTS];
	struct object objects[CALLS_MAX];
	unsigned int objects_used;
	char *memory;
};

/* Exits where there is no memory. */
void world_make(struct world *world);
/* Performs the sequence on new sockets, closes them; *at is the call under way. */
void world_run(struct world *world, const struct sequence *sequence, struct trace *trace,
	       volatile unsigned int *at);
/* Before world_run(), or for runs by hand. */
void world_begin(struct world *world, uint16_t port);
void world_end(struct world *world);

/* perform.c: one call. */
void perform(struct world *world, const struct call *call, struct outcome *outcome);

/* Where the good memory of a region begins; a page behind its end nothing is mapped. */
char *world_region(const struct world *world, enum region region);
/* Where the call's pointer to a region leads: good but for one argument in arguments. */
void *world_aim(const struct world *world, const struct call *call, enum region region,
		unsigned int argument, unsigned int arguments);

#endif
