/* SPDX-License-Identifier: GPL-2.0-only */
/* Two threads, each with a sequence of its own, on the same sockets; nothing is compared. */
#ifndef CALLFUZZ_WILD_H
#define CALLFUZZ_WILD_H

#include "compare.h"

/* One round, with the sequences of seed; exits where there are no threads. */
void wild_round(struct world *world, uint64_t seed, enum mode mode, struct progress *progress);

#endif
