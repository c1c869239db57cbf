/* SPDX-License-Identifier: GPL-2.0-only */
/* Values on the command line. A wrong one is named on stderr and ends the program. */
#ifndef SELFTEST_ARGUMENT_H
#define SELFTEST_ARGUMENT_H

#include <stdint.h>

#include "net.h"

/* The exit status for wrong options; 1 is left to failed tests. */
#define EXIT_USAGE 2

/* An integer without sign, at most max. */
uint64_t argument_number(const char *text, int base, uint64_t max);
/* The place of text among names, which end with NULL. */
int argument_choice(const char *text, const char *const *names);
enum mode argument_mode(const char *text);

#endif
