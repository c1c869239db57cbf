// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink families can have one entry per command and kind (do, dump).
 * Since 6.2 (b8fd60c36a44, "genetlink: allow families to use split ops directly").
 */
#include <net/genetlink.h>

size_t probe(struct genl_family *family, const struct genl_split_ops *ops);
size_t probe(struct genl_family *family, const struct genl_split_ops *ops)
{
	family->split_ops = ops;
	family->n_split_ops = 1;
	return ops->maxattr;
}
