// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/simrnic/<device>/counters: "name value" in each line.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "sim.h"

static struct dentry *sim_debugfs;

static const char *const sim_counter_names[SIM_COUNTERS] = {
	[SIM_DOORBELLS] = "doorbells",
	[SIM_REQUESTS] = "requests",
	[SIM_SIGNALED] = "signaled",
	[SIM_SENDS] = "sends",
	[SIM_WRITES] = "writes",
	[SIM_WRITE_BYTES] = "write_bytes",
	[SIM_REGISTRATIONS] = "registrations",
	[SIM_COMPLETIONS] = "completions",
	[SIM_UPCALLS] = "upcalls",
	[SIM_POLLS] = "polls",
	[SIM_ARMS] = "arms",
	[SIM_NOT_READY] = "not_ready",
	[SIM_ACCESS_ERRORS] = "access_errors",
	[SIM_DMA_FAULTS] = "dma_faults",
	[SIM_TIMEOUTS] = "timeouts",
	[SIM_FAULTS_SEEN] = "faults",
};

static int sim_counters_show(struct seq_file *seq, void *unused)
{
	struct sim_device *dev = seq->private;
	int i;

	for (i = 0; i < SIM_COUNTERS; i++)
		seq_printf(seq, "%s %lld\n", sim_counter_names[i],
			   atomic64_read(&dev->counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sim_counters);

void sim_counters_init(void)
{
	sim_debugfs = debugfs_create_dir("simrnic", NULL);
}

void sim_counters_exit(void)
{
	debugfs_remove(sim_debugfs);
}

void sim_counters_add(struct sim_device *dev)
{
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ibdev.dev), sim_debugfs);
	debugfs_create_file("counters", 0444, dev->debugfs, dev, &sim_counters_fops);
}

void sim_counters_remove(struct sim_device *dev)
{
	debugfs_remove(dev->debugfs);
}
