/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of op.h by kind, and what they share. Each fills in the reply but for the time. */
#ifndef CASES_STEP_H
#define CASES_STEP_H

#include <stddef.h>

#include "op.h"

/* NULL with the reply's error set if there is no memory. */
void *step_buffer(size_t length, struct reply *reply);
/* How many of the length bytes received agree with the stream; length with SEED_ANY. */
int64_t step_matched(const void *buffer, int64_t length, int64_t seed, int64_t offset);

/* step_pipe.c */
void step_splice_in(const struct request *request, struct reply *reply);
void step_splice_out(const struct request *request, struct reply *reply);
void step_tee(const struct request *request, struct reply *reply);

/* step_message.c */
void step_send_mmsg(const struct request *request, struct reply *reply);
void step_recv_mmsg(const struct request *request, struct reply *reply);
void step_recv_facts(const struct request *request, struct reply *reply);
void step_send_control(const struct request *request, struct reply *reply);
void step_error_queue(const struct request *request, struct reply *reply);

/* step_uring.c */
void step_uring(const struct request *request, struct reply *reply);

/* step_kill.c */
void step_kill_tcp(const struct request *request, struct reply *reply);

#endif
