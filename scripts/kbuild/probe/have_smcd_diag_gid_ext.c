// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct smcd_diag_dmbinfo has the upper halves of both GIDs.
 * Since 6.8 (b40584d14570, "net/smc: compatible with 128-bits extended GID of virtual ISM device").
 */
#include <linux/smc_diag.h>

unsigned long long probe(const struct smcd_diag_dmbinfo *dmb);
unsigned long long probe(const struct smcd_diag_dmbinfo *dmb)
{
	return dmb->peer_gid_ext ^ dmb->my_gid_ext;
}
