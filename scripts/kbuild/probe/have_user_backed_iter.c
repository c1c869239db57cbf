// SPDX-License-Identifier: GPL-2.0-only
/*
 * Iterators over a process's memory are of more than one kind, and have a name in common.
 * In 6.1 and later, not in 5.10.
 */
#include <linux/uio.h>

bool probe(const struct iov_iter *iter);
bool probe(const struct iov_iter *iter)
{
	return user_backed_iter(iter);
}
