/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's end of a session with an agent. */
#ifndef CASES_HOST_H
#define CASES_HOST_H

#include "op.h"
#include "../lib/smc_stat.h"

#define HOST_ACTORS_MAX 8

struct host {
	struct address agent; /* where sessions are opened */
	const char *name; /* for messages */
	uint16_t session_port; /* where actors join */
	int actors[HOST_ACTORS_MAX]; /* control connections, -1: not there yet */
};

/* Opens a session: a fresh process on that host. 0 or -errno. */
int host_open(struct host *host);
/* Ends it, and with it all its sockets. Does nothing where none is open. */
void host_close(struct host *host);

/* 0 or -errno. */
int host_send(struct host *host, int actor, const struct request *request);
/* Waits up to timeout_ms for the reply: 0, -ETIMEDOUT or another -errno. */
int host_receive(struct host *host, int actor, struct reply *reply, int timeout_ms);
/* The SMC statistics of that host: 0 or -errno, -ENOENT where no smc module is loaded. */
int host_stat(struct host *host, struct smc_stat *stat);

#endif
