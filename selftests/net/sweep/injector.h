/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets one allocation fail: the n-th of those that have certain code above them on the stack,
 * whichever task, work item or interrupt makes it. Needs a kernel with
 * CONFIG_FAULT_INJECTION_STACKTRACE_FILTER.
 */
#ifndef SELFTEST_INJECTOR_H
#define SELFTEST_INJECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct text_range {
	uint64_t start;
	uint64_t end;
};

/* Which allocations count. Addresses as in /proc/kallsyms. */
struct aim {
	const char *kind; /* "failslab" or "fail_page_alloc" */
	struct text_range below; /* the code that allocates, directly or through other functions */
	struct text_range spared; /* nothing fails below this */
	unsigned int frames; /* how many frames of the stack are searched */
	bool logged; /* the kernel logs the stack of the allocation that failed */
};

/* From here on the n-th (from 1) fails. 0, or -errno if the kernel cannot do it. */
int injector_arm(const struct aim *aim, unsigned int nth);
/* From here on none fails. Returns whether one has failed. */
bool injector_disarm(const struct aim *aim);

#endif
