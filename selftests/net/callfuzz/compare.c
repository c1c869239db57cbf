// SPDX-License-Identifier: GPL-2.0-only
#include "compare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * The short pause is mostly long enough for a call's effects; the long one always, also for delayed
 * effects on a busy machine.
 */
#define PAUSE_US 300
#define LONG_PAUSE_US 25000
/* Below the ephemeral ports; a port does not come again within TIME_WAIT. */
#define PORT_MIN 10000
#define PORT_COUNT 20000
/* A difference counts if it shows this many times in a row. */
#define CONFIRMATIONS 2

static uint16_t next_port(void)
{
	static unsigned int used;

	return (uint16_t)(PORT_MIN + used++ % PORT_COUNT);
}

static void run(struct comparison *comparison, const struct sequence *sequence, bool as_tcp,
		unsigned int pause_us, struct trace *trace)
{
	struct world *world = &comparison->world;

	world->as_tcp = as_tcp;
	world->gentle = true;
	world->pause_us = pause_us;
	world_begin(world, next_port());
	world_run(world, sequence, trace, &comparison->progress->at);
	world_end(world);
}

static bool differs_once(struct comparison *comparison, const struct sequence *sequence,
			 unsigned int pause_us)
{
	run(comparison, sequence, true, pause_us, &comparison->on_tcp);
	run(comparison, sequence, false, pause_us, &comparison->on_smc);
	return memcmp(comparison->on_tcp.outcomes, comparison->on_smc.outcomes,
		      sequence->count * sizeof(struct outcome)) != 0;
}

bool differs(struct comparison *comparison, const struct sequence *sequence)
{
	if (!differs_once(comparison, sequence, PAUSE_US))
		return false;
	for (int i = 0; i < CONFIRMATIONS; i++) {
		if (!differs_once(comparison, sequence, LONG_PAUSE_US)) {
			comparison->progress->repeated++;
			return false;
		}
	}
	return true;
}

static void leave_out(struct sequence *sequence, unsigned int first, unsigned int count)
{
	memmove(&sequence->calls[first], &sequence->calls[first + count],
		(sequence->count - first - count) * sizeof(sequence->calls[0]));
	sequence->count -= count;
}

void shorten(struct comparison *comparison, struct sequence *sequence)
{
	for (unsigned int piece = sequence->count / 2; piece; piece /= 2) {
		for (unsigned int end = sequence->count; end >= piece && end; end--) {
			struct sequence shorter = *sequence;

			if (end > sequence->count)
				continue;
			leave_out(&shorter, end - piece, piece);
			/* The watching process sees progress by this. */
			comparison->progress->sequences++;
			if (differs(comparison, &shorter))
				*sequence = shorter;
		}
	}
}

static void show_outcome(const char *who, const struct outcome *outcome)
{
	printf("#       %s: %lld", who, (long long)outcome->ret);
	if (outcome->ret < 0)
		printf(" %s", strerrorname_np((int)-outcome->ret));
	printf(" hash %08x, polled", outcome->hash);
	for (int i = 0; i < SLOTS; i++)
		printf(" %#x/%d", outcome->polled[i], outcome->readable[i]);
	printf("\n");
}

void show(struct comparison *comparison, const struct sequence *sequence)
{
	bool differs_here = differs_once(comparison, sequence, LONG_PAUSE_US);

	printf("# seed %llu%s%s\n", (unsigned long long)sequence->seed,
	       sequence->watched ? ", watched" : "", differs_here ? "" : ", no difference");
	for (unsigned int i = 0; i < sequence->count; i++) {
		const struct outcome *on_tcp = &comparison->on_tcp.outcomes[i];
		const struct outcome *on_smc = &comparison->on_smc.outcomes[i];
		const bool same = !memcmp(on_tcp, on_smc, sizeof(*on_tcp));

		printf("# %2u %s ", i, same ? " " : "*");
		call_print(&sequence->calls[i]);
		printf(same ? " = %lld\n" : "\n", (long long)on_tcp->ret);
		if (!same) {
			show_outcome("TCP", on_tcp);
			show_outcome("SMC", on_smc);
		}
	}
	fflush(stdout);
}
