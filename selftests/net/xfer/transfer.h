/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection's work: send, receive and check, and close in the order of the plan. */
#ifndef XFER_TRANSFER_H
#define XFER_TRANSFER_H

#include <stdbool.h>

#include "plan.h"

/*
 * Runs the plan on a connected socket and closes it. client_port names the connection at
 * both ends and so selects its streams. The outcome is added to tally, which is shared.
 */
void transfer(int fd, bool is_client, uint16_t client_port, const struct plan *plan,
	      struct tally *tally);

/* Counts a connection that failed before it could transfer. */
__attribute__((format(printf, 2, 3))) void tally_failure(struct tally *tally, const char *format,
							 ...);

/* A consistent copy while transfers may still run. */
void tally_read(const struct tally *tally, struct tally *copy);

/* Applies the plan's buffer sizes to a socket that is not yet connected. 0 or -errno. */
int set_buffers(int fd, const struct plan *plan);

#endif
