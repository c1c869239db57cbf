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
	unsigned int limit_s; /* for any one call */
	const char *argument; /* of command and module */
};

struct outcome {
	bool failed; /* an allocation has */
	int error; /* 0 or -errno: the operation's, or of what came after it at either end */
	int armed; /* -errno where nothing could be made to fail: the step says nothing */
};

typedef struct outcome (*operation)(const struct job *job, unsigned int nth);

/* NULL for a name that is none of theirs. */
operation operation_named(const char *name);

#endif
