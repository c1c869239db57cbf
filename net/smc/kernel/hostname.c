// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's name as peers and tools are told it.
 */
#include <linux/string.h>
#include <linux/utsname.h>

#include "kernel/abi/pernet.h"

/* No lock; who renames the host right now gets a mixture once. */
static void put_nodename(const struct new_utsname *uts, u8 out[SMC_HOSTNAME_LEN])
{
	size_t len = strnlen(uts->nodename, SMC_HOSTNAME_LEN);

	memset(out, ' ', SMC_HOSTNAME_LEN);
	memcpy(out, uts->nodename, len);
}

void smc_hostname(u8 out[SMC_HOSTNAME_LEN])
{
	/* The host's name, not a container's: groups may serve several of these. */
	put_nodename(init_utsname(), out);
}

void smc_hostname_of_caller(u8 out[SMC_HOSTNAME_LEN])
{
	put_nodename(utsname(), out);
}
