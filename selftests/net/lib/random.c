// SPDX-License-Identifier: GPL-2.0-only
#include "random.h"

#define STEP 0x9e3779b97f4a7c15u

uint64_t random_mix(uint64_t x)
{
	x += STEP;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Any seed will do, neighbours included. */
uint64_t random_next(struct random *random)
{
	uint64_t next = random_mix(random->state);

	random->state += STEP;
	return next;
}

uint32_t random_below(struct random *random, uint32_t count)
{
	return (uint32_t)(random_next(random) % count);
}

bool random_once_in(struct random *random, uint32_t count)
{
	return random_below(random, count) == 0;
}
