/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A race: two or three threads that each make a few calls on the same socket, round after round. A
 * round that ends shows that no thread stayed asleep; one that does not end is found by the
 * watching process.
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
/* How long a waiting poll() may take to see an event on a busy machine. */
#define EVENT_MS_MAX 20000

struct setting {
	enum mode mode;
	struct address service; /* of sockets of a mode */
	struct address plain; /* of TCP */
	unsigned int scale_us; /* the time that one connection takes; delays are multiples of it */
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

/* Runs the acts at the same time, each after its own delay, until all have ended. */
void together(struct round *round, act_fn first, act_fn second, act_fn third);

/* Counts a failure and prints it. */
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
/* Another epoll set waits for round->fd and gives up, so many times. */
void watch_elsewhere(struct round *round, int times, int wait_ms);

/* A socket of the round's mode; exits if there is none. */
int race_socket(const struct round *round, int type_flags);
/* A socket connected to the service, with the order sent. -1: failed. */
int ordered(struct round *round, enum service what, uint32_t bytes);
/* Receives the service's stream to its end, and checks that no byte is wrong or missing. */
void receive_whole(struct round *round, int fd);
/* The same on round->fd, by the edge-triggered events of the epoll set round->copy alone. */
void receive_by_edges(struct round *round);
/* Sends a small order on fd, which is connected, and checks the answer. */
void works(struct round *round, int fd);
/* A listener on a port of its own. */
int race_listener(struct round *round, int type_flags, uint16_t *port);
/* The service connects to the port so many times, by TCP. */
void order_calls(struct round *round, uint16_t port, uint32_t count, bool aborts);

#endif
