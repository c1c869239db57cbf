// SPDX-License-Identifier: GPL-2.0-only
#include "argument.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t argument_number(const char *text, int base, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, base);
	if (errno || end == text || *end || *text == '-' || value > max) {
		fprintf(stderr, "%s: %s is not a number up to %" PRIu64 "\n",
			program_invocation_short_name, text, max);
		exit(EXIT_USAGE);
	}
	return value;
}

int argument_choice(const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	fprintf(stderr, "%s: %s is none of", program_invocation_short_name, text);
	for (int i = 0; names[i]; i++)
		fprintf(stderr, " %s", names[i]);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

enum mode argument_mode(const char *text)
{
	enum mode mode = mode_parse(text);

	if (mode == MODE_COUNT) {
		fprintf(stderr, "%s: %s is not tcp, smc or inet\n", program_invocation_short_name,
			text);
		exit(EXIT_USAGE);
	}
	return mode;
}
