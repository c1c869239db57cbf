// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of the module that are one of several names.
 */
#include <linux/string.h>
#include <linux/sysfs.h>

#include "sim.h"

static int sim_choice_set(const char *value, const struct kernel_param *param)
{
	struct sim_choice *choice = param->arg;
	int found = __sysfs_match_string(choice->names, choice->names_count, value);

	if (found < 0)
		return found;
	WRITE_ONCE(choice->value, found);
	return 0;
}

static int sim_choice_get(char *buffer, const struct kernel_param *param)
{
	const struct sim_choice *choice = param->arg;

	return sysfs_emit(buffer, "%s\n", choice->names[choice->value]);
}

const struct kernel_param_ops sim_choice_ops = {
	.set = sim_choice_set,
	.get = sim_choice_get,
};
