// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains, which the removal of a device waits for. */
#include <linux/slab.h>

#include "kernel/verbs.h"

struct smc_ib_domain *smc_ib_domain_create(struct smc_ib_device *dev, struct ib_device *ibdev)
{
	struct smc_ib_domain *domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	struct ib_pd *pd;

	if (!domain)
		return ERR_PTR(-ENOMEM);
	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd)) {
		kfree(domain);
		return ERR_CAST(pd);
	}
	kref_init(&domain->kref);
	domain->pd = pd;
	domain->ibdev = ibdev;
	domain->dev = dev;
	kref_get(&dev->kref);
	atomic_inc(&dev->domains);
	return domain;
}

void smc_ib_domain_get(struct smc_ib_domain *domain)
{
	kref_get(&domain->kref);
}

static void smc_ib_domain_free(struct kref *kref)
{
	struct smc_ib_domain *domain = container_of(kref, struct smc_ib_domain, kref);
	struct smc_ib_device *dev = domain->dev;

	ib_dealloc_pd(domain->pd);
	kfree(domain);
	if (atomic_dec_and_test(&dev->domains))
		wake_up_all(&dev->idle);
	smc_ib_device_put(dev);
}

void smc_ib_domain_put(struct smc_ib_domain *domain)
{
	kref_put(&domain->kref, smc_ib_domain_free);
}
