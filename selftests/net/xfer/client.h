/* SPDX-License-Identifier: GPL-2.0-only */
/* The controlling side: sends the plan to the server, opens the connections, merges the reports. */
#ifndef XFER_CLIENT_H
#define XFER_CLIENT_H

#include "plan.h"

struct outcome {
	uint64_t elapsed_ms; /* from the first connect to the last close */
	struct report client;
	struct report server;
};

/*
 * Runs the plan against the server at the address (its control port). Returns a negative errno if
 * there is no outcome: the server cannot be reached or cannot listen.
 */
int run_plan(const struct plan *plan, const struct address *server, struct outcome *outcome);

#endif
