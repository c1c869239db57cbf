// SPDX-License-Identifier: GPL-2.0-only
#include "wild.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 2
/* How often a blocking call is interrupted. */
#define TICK_NS 20000000
#define PORT_MIN 10000
#define PORT_COUNT 20000

struct player {
	pthread_t thread;
	struct world *world;
	struct sequence sequence;
	struct progress *progress;
	atomic_bool done;
};

static void interrupt(int number)
{
	(void)number;
}

static void *play(void *argument)
{
	struct player *player = argument;

	for (unsigned int i = 0; i < player->sequence.count; i++) {
		struct outcome outcome = { 0 };

		player->progress->at = i;
		perform(player->world, &player->sequence.calls[i], &outcome);
		player->progress->calls++;
		player->progress->good_calls += outcome.ret >= 0;
	}
	player->done = true;
	return NULL;
}

/* Interrupts blocking calls again and again until the thread has finished. */
static void join(struct player *player)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };

	while (!player->done) {
		nanosleep(&tick, NULL);
		pthread_kill(player->thread, SIGUSR1);
	}
	pthread_join(player->thread, NULL);
}

void wild_round(struct world *world, uint64_t seed, enum mode mode, struct progress *progress)
{
	const struct sigaction action = { .sa_handler = interrupt };
	struct player players[THREADS];

	sigaction(SIGUSR1, &action, NULL);
	world->gentle = false;
	world->as_tcp = false;
	world_begin(world, (uint16_t)(PORT_MIN + seed % PORT_COUNT));
	for (int i = 0; i < THREADS; i++) {
		struct player *player = &players[i];

		player->world = world;
		player->progress = progress;
		player->done = false;
		sequence_draw(&player->sequence, seed * THREADS + (uint64_t)i, mode, false);
		if (pthread_create(&player->thread, NULL, play, player)) {
			fprintf(stderr, "smc_callfuzz: no thread\n");
			exit(1);
		}
	}
	for (int i = 0; i < THREADS; i++)
		join(&players[i]);
	world_end(world);
}
