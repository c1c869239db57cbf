/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of op.h that are system calls on sockets. */
#ifndef CASES_EXECUTE_H
#define CASES_EXECUTE_H

#include "op.h"

void execute(const struct request *request, struct reply *reply);

/* Signal handler that counts for OP_SIGPIPES and OP_SIGNALS. */
void execute_on_signal(int signal);

#endif
