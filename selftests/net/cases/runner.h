/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs cases: on TCP, then on the sockets under test, and compares. */
#ifndef CASES_RUNNER_H
#define CASES_RUNNER_H

#include "test.h"

enum expectation {
	EXPECT_ANY,
	EXPECT_SMCR, /* connections become SMC-R and nothing falls back */
	EXPECT_SMCD, /* the same with SMC-D */
	EXPECT_FALLBACK, /* every SMC socket falls back */
};

struct runner {
	/* As each case gets it, but for what is made anew for each run: nowhere, expect_smc. */
	struct test test;
	enum expectation expectation;
	uint32_t client_reason; /* of the fallback; 0: any */
	uint32_t server_reason;
	int step_timeout_ms; /* a step that takes longer counts as blocked for ever */
};

/* NULL if the case passed, else why not, or why it was skipped; valid until the next call. */
const char *run_case(const struct runner *runner, const struct test_case *test_case,
		     bool *skipped);

#endif
