// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices whose DMA an adapter does: functions on the PCI bus that have no use
 * of their own (QEMU's "edu" and "pci-testdev"), behind an IOMMU where there is
 * one; and platform devices, made when there is no such function left.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "sim.h"

#define SIM_SEGMENT_MAX_BYTES (1u << 30)

static DEFINE_MUTEX(sim_parents_mutex);
static LIST_HEAD(sim_parents);

static int sim_pci_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct sim_parent *parent;
	int rc;

	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return -ENOMEM;
	rc = pci_enable_device(pci);
	if (rc)
		goto err;
	pci_set_master(pci);
	rc = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(64));
	if (rc)
		goto err_enabled;
	dma_set_max_seg_size(&pci->dev, SIM_SEGMENT_MAX_BYTES);
	parent->device = &pci->dev;
	/* It stays while the device has its driver. */
	parent->domain = iommu_get_domain_for_dev(&pci->dev);
	pci_set_drvdata(pci, parent);
	mutex_lock(&sim_parents_mutex);
	list_add_tail(&parent->list, &sim_parents);
	mutex_unlock(&sim_parents_mutex);
	return 0;

err_enabled:
	pci_disable_device(pci);
err:
	kfree(parent);
	return rc;
}

static void sim_pci_remove(struct pci_dev *pci)
{
	struct sim_parent *parent = pci_get_drvdata(pci);

	mutex_lock(&sim_parents_mutex);
	list_del(&parent->list);
	mutex_unlock(&sim_parents_mutex);
	WARN_ON(parent->taken);
	pci_clear_master(pci);
	pci_disable_device(pci);
	kfree(parent);
}

static const struct pci_device_id sim_pci_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) }, /* edu */
	{ PCI_DEVICE(0x1b36, 0x0005) }, /* pci-testdev */
	{}
};

static struct pci_driver sim_pci_driver = {
	.name = "simrnic",
	.id_table = sim_pci_ids,
	.probe = sim_pci_probe,
	.remove = sim_pci_remove,
	/* An adapter on it would stay behind. */
	.driver.suppress_bind_attrs = true,
};

int sim_parents_init(void)
{
	return pci_register_driver(&sim_pci_driver);
}

void sim_parents_exit(void)
{
	pci_unregister_driver(&sim_pci_driver);
}

static struct sim_parent *sim_parent_take_pci(void)
{
	struct sim_parent *parent;

	mutex_lock(&sim_parents_mutex);
	list_for_each_entry(parent, &sim_parents, list) {
		if (!parent->taken) {
			parent->taken = true;
			goto out;
		}
	}
	parent = NULL;
out:
	mutex_unlock(&sim_parents_mutex);
	return parent;
}

struct sim_parent *sim_parent_take(void)
{
	const struct platform_device_info info = {
		.name = "simrnic",
		.id = PLATFORM_DEVID_AUTO,
		.dma_mask = DMA_BIT_MASK(64),
	};
	struct sim_parent *parent = sim_parent_take_pci();

	if (parent)
		return parent;
	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return ERR_PTR(-ENOMEM);
	parent->platform = platform_device_register_full(&info);
	if (IS_ERR(parent->platform)) {
		int rc = PTR_ERR(parent->platform);

		kfree(parent);
		return ERR_PTR(rc);
	}
	parent->device = &parent->platform->dev;
	parent->domain = iommu_get_domain_for_dev(parent->device);
	dma_set_max_seg_size(parent->device, SIM_SEGMENT_MAX_BYTES);
	return parent;
}

void sim_parent_give_back(struct sim_parent *parent)
{
	if (parent->platform) {
		platform_device_unregister(parent->platform);
		kfree(parent);
		return;
	}
	mutex_lock(&sim_parents_mutex);
	parent->taken = false;
	mutex_unlock(&sim_parents_mutex);
}
