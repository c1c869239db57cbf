/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A race: two or three threads that each make a few calls on the same socket, round after round.
 * A round that ends says that nobody was left asleep; whoever does not end is found by the
 * process that watches.
 */
#ifndef RACES_RACE_H
#define RACES_RACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../lib/net.h"
#include "../lib/random.h"
#include "service.h"

#define ACTORS_MAX 3
/* How long an event may be on its way to a poll() that waits for it, on a busy machine. */
#define EVENT_MS_MAX 20000

struct setting {
	enum mode mode;
	struct address service; /* of sockets of a mode */
	struct address plain; /* of TCP */
	unsigned int scale_us; /* what a connection takes: the measure of delays */
};

struct round {
	const struct setting *setting;
	const char *race;
	unsigned int number;
	struct random random;
	uint64_t seed; /* of the stream that the service sends or checks */
	uint32_t bytes;
	int fd;
	int copy;
	int pipe[2];
	atomic_llong moved; /* bytes */
	atomic_int failures;
};

typedef void (*act_fn)(struct round *round);

struct race {
	const char *name;
	act_fn round;
};

extern const struct race connect_races[];
extern const struct race accept_races[];
extern const struct race stream_races[];
extern const struct race poll_races[];
extern const struct race turn_races[];

/* Runs the acts at the same time, each after a delay of its own, to their end. */
void together(struct round *round, act_fn first, act_fn second, act_fn third);

/* Counts a failure, and says what it was. */
void fail(struct round *round, const char *what, long long value);
/*
 * What a system call has just returned, or -errno. Fails if it is an errno that is not among those
 * named; 0 stands for none.
 */
#define allowed(round, what, ret, ...) \
	check_allowed(round, what, ret, (const int[]){ __VA_ARGS__, 0 })
long long check_allowed(struct round *round, const char *what, long long ret, const int *errnos);

/* Acts on round->fd. */
void act_close(struct round *round);
void act_shutdown(struct round *round);
/* Somebody else waits for round->fd in an epoll set of his own, and gives up; so many times. */
void watch_elsewhere(struct round *round, int times, int wait_ms);

/* A socket of the round's mode; exits where there is none. */
int race_socket(const struct round *round, int type_flags);
/* A socket connected to the service, the order given; it goes on as the service's. -1: failed. */
int ordered(struct round *round, enum service what, uint32_t bytes);
/* Receives the service's stream to its end, and checks that it is whole. */
void receive_whole(struct round *round, int fd);
/* The same on round->fd, told by the edges of the epoll set round->copy alone. */
void receive_by_edges(struct round *round);
/* Orders something small on fd, which is connected, and checks that it comes. */
void works(struct round *round, int fd);
/* A listener on a port of its own. */
int race_listener(struct round *round, int type_flags, uint16_t *port);
/* Has the service call the port, that often; over TCP. */
void order_calls(struct round *round, uint16_t port, uint32_t count, bool aborts);

#endif
