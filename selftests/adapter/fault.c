// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/simrnic/<device>/<fault>: how many calls from now the fault
 * happens, once; 0: it does not. /sys/kernel/debug/simrnic/<device>/break: what
 * is written there, "queue_pairs" or "fatal", happens at once.
 */
#include <linux/debugfs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "sim.h"

static const char *const sim_fault_names[SIM_FAULTS] = {
	[SIM_FAULT_ALLOC_PD] = "alloc_pd",
	[SIM_FAULT_CREATE_CQ] = "create_cq",
	[SIM_FAULT_CREATE_QP] = "create_qp",
	[SIM_FAULT_MODIFY_QP] = "modify_qp",
	[SIM_FAULT_ALLOC_MR] = "alloc_mr",
	[SIM_FAULT_MAP_MR] = "map_mr",
	[SIM_FAULT_CONNECT] = "connect",
	[SIM_FAULT_ACCEPT] = "accept",
	[SIM_FAULT_POST_SEND] = "post_send",
	[SIM_FAULT_POST_RECEIVE] = "post_receive",
	[SIM_FAULT_REGISTER] = "register",
	[SIM_FAULT_ACCESS] = "access",
	[SIM_FAULT_RETRIES] = "retries",
	[SIM_FAULT_NOT_READY] = "not_ready",
	[SIM_FAULT_LOSE] = "lose",
	[SIM_FAULT_DOUBLE] = "double",
};

bool sim_fault_count_down(struct sim_device *dev, enum sim_fault fault)
{
	if (atomic_dec_if_positive(&dev->faults[fault]) != 0)
		return false;
	sim_count(dev, SIM_FAULTS_SEEN, 1);
	return true;
}

static ssize_t sim_break_write(struct file *file, const char __user *from, size_t count,
			       loff_t *position)
{
	struct sim_device *dev = file->private_data;
	struct ib_event fatal = { .device = &dev->ibdev, .event = IB_EVENT_DEVICE_FATAL };
	char text[16] = {};

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	if (sysfs_streq(text, "queue_pairs"))
		sim_qp_fail_all(dev);
	else if (sysfs_streq(text, "fatal"))
		ib_dispatch_event(&fatal);
	else
		return -EINVAL;
	return count;
}

static const struct file_operations sim_break_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = sim_break_write,
};

void sim_faults_add(struct sim_device *dev)
{
	int i;

	for (i = 0; i < SIM_FAULTS; i++)
		debugfs_create_atomic_t(sim_fault_names[i], 0644, dev->debugfs, &dev->faults[i]);
	debugfs_create_file("break", 0200, dev->debugfs, dev, &sim_break_fops);
}
