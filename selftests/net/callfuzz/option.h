/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of sockets that are worth a try, and what can be said about them. */
#ifndef CALLFUZZ_OPTION_H
#define CALLFUZZ_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct option_entry {
	int level;
	int name;
	bool value_says; /* what getsockopt() gives follows from the calls, on TCP itself */
	bool sets; /* setting it is compared with TCP; see by_design.c for those that are not */
};

extern const struct option_entry option_entries[];
extern const size_t option_count;

/* NULL for an option that is not in the table. */
const struct option_entry *option_find(int level, int name);

#endif
