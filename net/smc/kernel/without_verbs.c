// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices of a kernel that was built without RDMA (CONFIG_INFINIBAND): there are none. Kbuild
 * takes this file instead of verbs_*.c, and leaves out what of the C++ half would use them.
 */
#include <linux/errno.h>
#include <linux/init.h>

#include "kernel/abi/verbs.h"
#include "kernel/stages.h"

void smc_ib_device_get(struct smc_ib_device *dev)
{
}

void smc_ib_device_put(struct smc_ib_device *dev)
{
}

struct smc_ib_device *smc_ib_device_next(struct smc_ib_device *prev)
{
	return NULL;
}

bool smc_ib_device_any(void)
{
	return false;
}

struct smc_ib_device *smc_ib_device_find(const char *name)
{
	return NULL;
}

bool smc_ib_device_accessible(struct smc_ib_device *dev, const struct net *net)
{
	return false;
}

u8 smc_ib_device_ports(const struct smc_ib_device *dev)
{
	return 0;
}

bool smc_ib_device_iwarp(const struct smc_ib_device *dev)
{
	return false;
}

void smc_ib_device_info(struct smc_ib_device *dev, struct smc_ib_device_info *out)
{
}

int smc_ib_port_info(struct smc_ib_device *dev, u8 port, const struct net *net,
		     struct smc_ib_port_info *out)
{
	return -ENODEV;
}

int __init smc_ib_completions_setup(void)
{
	return 0;
}

void smc_ib_completions_teardown(void)
{
}

int __init smc_ib_init(void)
{
	return 0;
}

void smc_ib_exit(void)
{
}
