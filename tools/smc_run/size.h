/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sizes as a user writes them: decimal bytes with an optional K, M or G (powers of 1024).
 */
#ifndef SMC_RUN_SIZE_H
#define SMC_RUN_SIZE_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Returns 0 and fills *bytes, or -EINVAL for no number, zero, trailing text or overflow. */
static inline int smc_size_parse(const char *text, int *bytes)
{
	unsigned int shift = 0;
	long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno)
		return -EINVAL;
	switch (toupper((unsigned char)*end)) {
	case 'K':
		shift = 10;
		break;
	case 'M':
		shift = 20;
		break;
	case 'G':
		shift = 30;
		break;
	}
	if (shift)
		end++;
	if (*end || value < 1 || value > (INT_MAX >> shift))
		return -EINVAL;
	*bytes = (int)(value << shift);
	return 0;
}

#endif
