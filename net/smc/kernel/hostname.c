// SPDX-License-Identifier: GPL-2.0-only
/* The host's name for peers and tools. */
#include <linux/string.h>
#include <linux/utsname.h>

#include "kernel/abi/pernet.h"

/* No lock: a rename at this moment may be seen half done. */
static void put_nodename(const struct new_utsname *uts, u8 out[SMC_HOSTNAME_LEN])
{
	size_t len = strnlen(uts->nodename, SMC_HOSTNAME_LEN);

	memset(out, ' ', SMC_HOSTNAME_LEN);
	memcpy(out, uts->nodename, len);
}

void smc_hostname(u8 out[SMC_HOSTNAME_LEN])
{
	/* The host's name, not a container's: a group may serve several containers. */
	put_nodename(init_utsname(), out);
}

void smc_hostname_of_caller(u8 out[SMC_HOSTNAME_LEN])
{
	put_nodename(utsname(), out);
}
