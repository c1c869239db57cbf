/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers drawn by lot, the same ones from the same seed. */
#ifndef SELFTEST_RANDOM_H
#define SELFTEST_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

/* splitmix64: every bit of the result depends on every bit of x. */
uint64_t random_mix(uint64_t x);
uint64_t random_next(struct random *random);
/* 0 … count - 1; count is not 0. */
uint32_t random_below(struct random *random, uint32_t count);
/* True once in count, on average. */
bool random_once_in(struct random *random, uint32_t count);
/* One of an array's elements. */
#define random_of(random, array) \
	((array)[random_below(random, sizeof(array) / sizeof((array)[0]))])

#endif
