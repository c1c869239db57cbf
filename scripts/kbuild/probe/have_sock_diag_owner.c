// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct sock_diag_handler has an owner, which is kept loaded during a call. Without it the table
 * is locked for so long.
 * In 6.12 and late 6.1, not in 5.10.
 */
#include <linux/sock_diag.h>

struct module *probe(const struct sock_diag_handler *handler);
struct module *probe(const struct sock_diag_handler *handler)
{
	return handler->owner;
}
