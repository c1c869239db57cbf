/* SPDX-License-Identifier: GPL-2.0-only */
/* A sequence on TCP and on the sockets that it asks for, and where the two part. */
#ifndef CALLFUZZ_COMPARE_H
#define CALLFUZZ_COMPARE_H

#include "world.h"

/* What the process that watches over a run is told. */
struct progress {
	volatile uint64_t sequences; /* begun */
	volatile uint64_t seed;
	volatile unsigned int at; /* the call under way */
	volatile uint64_t calls;
	volatile uint64_t good_calls; /* that did not fail */
	volatile uint64_t repeated; /* differed, and did not when there was more time */
};

struct comparison {
	struct world world;
	struct progress *progress;
	struct trace on_tcp;
	struct trace on_smc;
};

/* True if the two runs differ also with long pauses and when repeated. */
bool differs(struct comparison *comparison, const struct sequence *sequence);
/* Leaves out calls as long as the rest still differs. */
void shorten(struct comparison *comparison, struct sequence *sequence);
/* Runs it once more, and says what each call gave on either. */
void show(struct comparison *comparison, const struct sequence *sequence);

#endif
