// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct genl_family says from which command on reserved bytes are checked. Before, none are.
 * In 6.1 and later, not in 5.10.
 */
#include <net/genetlink.h>

unsigned int probe(const struct genl_family *family);
unsigned int probe(const struct genl_family *family)
{
	return family->resv_start_op;
}
