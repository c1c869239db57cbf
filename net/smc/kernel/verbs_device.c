// SPDX-License-Identifier: GPL-2.0-only
/*
 * An RDMA device: its life, and the use of what the RDMA core has for it.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "kernel/verbs.h"

struct workqueue_struct *smc_ib_wq;

static void smc_ib_device_free(struct kref *kref)
{
	struct smc_ib_device *dev = container_of(kref, struct smc_ib_device, kref);

	kfree(dev);
}

void smc_ib_device_get(struct smc_ib_device *dev)
{
	if (dev)
		kref_get(&dev->kref);
}

void smc_ib_device_put(struct smc_ib_device *dev)
{
	if (dev)
		kref_put(&dev->kref, smc_ib_device_free);
}

bool smc_ib_device_present(const struct smc_ib_device *dev)
{
	return READ_ONCE(dev->ibdev);
}

struct ib_device *smc_ib_device_use(struct smc_ib_device *dev)
{
	down_read(&dev->lock);
	if (dev->ibdev)
		return dev->ibdev;
	up_read(&dev->lock);
	return NULL;
}

void smc_ib_device_release(struct smc_ib_device *dev)
{
	up_read(&dev->lock);
}

bool smc_ib_device_accessible(struct smc_ib_device *dev, const struct net *net)
{
	struct ib_device *ibdev = smc_ib_device_use(dev);
	bool accessible;

	if (!ibdev)
		return false;
	accessible = rdma_dev_access_netns(ibdev, net);
	smc_ib_device_release(dev);
	return accessible;
}

u8 smc_ib_device_ports(const struct smc_ib_device *dev)
{
	return dev->ports_count;
}

bool smc_ib_device_iwarp(const struct smc_ib_device *dev)
{
	return dev->iwarp;
}

const char *smc_ib_device_name(const struct smc_ib_device *dev)
{
	return dev->name;
}

void smc_ib_device_info(struct smc_ib_device *dev, struct smc_ib_device_info *out)
{
	memset(out, 0, sizeof(*out));
	down_read(&dev->lock);
	strscpy(out->name, dev->name, sizeof(out->name));
	up_read(&dev->lock);
	strscpy(out->parent_name, dev->parent_name, sizeof(out->parent_name));
	out->ports = dev->ports_count;
	out->iwarp = dev->iwarp;
	out->pci = dev->pci;
	out->pci_vendor = dev->pci_vendor;
	out->pci_device = dev->pci_device;
	out->links = atomic_read(&dev->links);
	out->memory_regions = atomic_read(&dev->memory_regions);
	out->buffer_max_bytes = dev->buffer_max_bytes;
	out->node_guid = dev->node_guid;
}
