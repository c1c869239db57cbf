/* SPDX-License-Identifier: GPL-2.0-only */
/* What is done while an allocation fails. */
#ifndef SELFTEST_OPERATION_H
#define SELFTEST_OPERATION_H

#include <stdint.h>

#include "injector.h"

struct job {
	struct aim aim;
	const char *host; /* the partner's */
	uint16_t port;
	int control; /* to the partner, for those that need one */
	unsigned int limit_s; /* limit of each call */
	const char *argument; /* of command and module */
};

struct outcome {
	bool failed; /* an allocation has failed */
	int error; /* 0 or -errno: of the operation, or of either end afterwards */
	int armed; /* -errno if no failure could be injected: the step proves nothing */
};

typedef struct outcome (*operation)(const struct job *job, unsigned int nth);

/* NULL for an unknown name. */
operation operation_named(const char *name);

#endif
