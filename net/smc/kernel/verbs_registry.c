// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of RDMA devices, fed by the RDMA core.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kernel/abi/callbacks/verbs.h"
#include "kernel/stages.h"
#include "kernel/verbs.h"

/* Guards the list only; never held while calling out. */
static DEFINE_MUTEX(smc_ib_devices_mutex);
static LIST_HEAD(smc_ib_devices);
static u64 smc_ib_device_last_id;
static unsigned int smc_ib_devices_iwarp; /* how many of them */

/* A removal that takes longer has found a link that nobody is destroying. */
#define SMC_IB_REMOVAL_WARN_MS 30000

struct smc_ib_device *smc_ib_device_next(struct smc_ib_device *prev)
{
	u64 last_id = prev ? prev->id : 0;
	struct smc_ib_device *dev;

	mutex_lock(&smc_ib_devices_mutex);
	/* By id, not by position: @prev may have left the list meanwhile. */
	list_for_each_entry(dev, &smc_ib_devices, list) {
		if (dev->id > last_id) {
			kref_get(&dev->kref);
			goto found;
		}
	}
	dev = NULL;
found:
	mutex_unlock(&smc_ib_devices_mutex);
	smc_ib_device_put(prev);
	return dev;
}

bool smc_ib_device_any(void)
{
	return !list_empty(&smc_ib_devices);
}

bool smc_ib_device_any_iwarp(void)
{
	return READ_ONCE(smc_ib_devices_iwarp);
}

struct smc_ib_device *smc_ib_device_find(const char *name)
{
	struct smc_ib_device *dev = NULL;
	bool same;

	while ((dev = smc_ib_device_next(dev))) {
		down_read(&dev->lock);
		same = strcmp(dev->name, name) == 0;
		up_read(&dev->lock);
		if (same)
			break;
	}
	return dev;
}

static void smc_ib_device_event_work(struct work_struct *work)
{
	struct smc_ib_device *dev = container_of(work, struct smc_ib_device, event_work);
	bool fatal = test_and_clear_bit(SMC_IB_EVENT_FATAL, &dev->events);
	/*
	 * Without the lock, so that others do not wait for the RTNL with some drivers: removal
	 * waits for this work.
	 */
	struct ib_device *ibdev = READ_ONCE(dev->ibdev);
	u8 port;

	if (!ibdev)
		return;
	for (port = 1; port <= dev->ports_count; port++) {
		if (!test_and_clear_bit(port - 1, &dev->events) && !fatal)
			continue;
		/* The port states of a dying device do not count. */
		if (fatal)
			WRITE_ONCE(dev->ports[port - 1].active, false);
		else
			smc_ib_port_refresh(dev, ibdev, port);
		smc_ib_port_event(dev, port, READ_ONCE(dev->ports[port - 1].active));
	}
}

/* From a work item of the RDMA core, which must not be held up. */
static void smc_ib_device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct smc_ib_device *dev = container_of(handler, struct smc_ib_device, event_handler);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		set_bit(SMC_IB_EVENT_FATAL, &dev->events);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_GID_CHANGE:
		if (event->element.port_num < 1 || event->element.port_num > dev->ports_count)
			return;
		set_bit(event->element.port_num - 1, &dev->events);
		break;
	default:
		return;
	}
	smc_ib_ways_changed();
	queue_work(smc_ib_wq, &dev->event_work);
}

/* What a port sits below, what is called how, and which addresses fit a GID. */
static int smc_ib_notice(struct notifier_block *block, unsigned long event, void *what)
{
	smc_ib_ways_changed();
	return NOTIFY_DONE;
}

static struct notifier_block smc_ib_netdev_notifier = {.notifier_call = smc_ib_notice};
static struct notifier_block smc_ib_address_notifier = {.notifier_call = smc_ib_notice};

static bool smc_ib_device_usable(struct ib_device *ibdev)
{
	/* A VF of some devices, usnic and the like: no fast registration. */
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return false;
	return rdma_protocol_roce(ibdev, rdma_start_port(ibdev)) ||
	       rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev));
}

static int smc_ib_client_add(struct ib_device *ibdev);
static void smc_ib_client_remove(struct ib_device *ibdev, void *client_data);
static void smc_ib_client_rename(struct ib_device *ibdev, void *client_data);

static struct ib_client smc_ib_client = {
	.name = "smc",
	.add = smc_ib_client_add,
	.remove = smc_ib_client_remove,
	.rename = smc_ib_client_rename,
};

static void smc_ib_device_describe(struct smc_ib_device *dev, struct ib_device *ibdev)
{
	struct device *parent = ibdev->dev.parent;

	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	dev->driver = ibdev->ops.driver_id;
	dev->iwarp = rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev));
	dev->node_guid = be64_to_cpu(ibdev->node_guid);
	dev->ports_count = min_t(u32, rdma_end_port(ibdev), SMC_IB_PORTS_MAX);
	dev->buffer_max_bytes = (u64)ibdev->attrs.max_fast_reg_page_list_len * PAGE_SIZE;
	if (!parent)
		return;
	strscpy(dev->parent_name, dev_name(parent), sizeof(dev->parent_name));
	/* The parent of a software device is a netdev's, or none. */
	if (dev_is_pci(parent)) {
		dev->pci = true;
		dev->pci_vendor = to_pci_dev(parent)->vendor;
		dev->pci_device = to_pci_dev(parent)->device;
	}
}

static int smc_ib_client_add(struct ib_device *ibdev)
{
	struct smc_ib_device *dev;
	u8 port;

	if (!smc_ib_device_usable(ibdev))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->kref);
	init_rwsem(&dev->lock);
	init_waitqueue_head(&dev->idle);
	INIT_WORK(&dev->event_work, smc_ib_device_event_work);
	dev->ibdev = ibdev;
	smc_ib_device_describe(dev, ibdev);
	for (port = 1; port <= dev->ports_count; port++)
		smc_ib_port_refresh(dev, ibdev, port);
	ib_set_client_data(ibdev, &smc_ib_client, dev);

	mutex_lock(&smc_ib_devices_mutex);
	dev->id = ++smc_ib_device_last_id;
	list_add_tail(&dev->list, &smc_ib_devices);
	WRITE_ONCE(smc_ib_devices_iwarp, smc_ib_devices_iwarp + dev->iwarp);
	mutex_unlock(&smc_ib_devices_mutex);

	smc_ib_device_added(dev);
	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, smc_ib_device_event);
	ib_register_event_handler(&dev->event_handler);
	/* The port may have changed between the first look and the handler. */
	for (port = 1; port <= dev->ports_count; port++)
		set_bit(port - 1, &dev->events);
	queue_work(smc_ib_wq, &dev->event_work);
	return 0;
}

static void smc_ib_client_remove(struct ib_device *ibdev, void *client_data)
{
	struct smc_ib_device *dev = client_data;

	/* No more events, lookups or new links, in this order ... */
	ib_unregister_event_handler(&dev->event_handler);
	mutex_lock(&smc_ib_devices_mutex);
	list_del_init(&dev->list);
	WRITE_ONCE(smc_ib_devices_iwarp, smc_ib_devices_iwarp - dev->iwarp);
	mutex_unlock(&smc_ib_devices_mutex);
	down_write(&dev->lock);
	WRITE_ONCE(dev->ibdev, NULL);
	up_write(&dev->lock);
	cancel_work_sync(&dev->event_work);

	/* ... then what exists goes. */
	smc_ib_device_removing(dev);
	if (!wait_event_timeout(dev->idle, !atomic_read(&dev->domains),
				msecs_to_jiffies(SMC_IB_REMOVAL_WARN_MS))) {
		WARN(1, "%s is going, but %d links or regions on it are not\n", dev->name,
		     atomic_read(&dev->domains));
		/* Returning would free what they use. */
		wait_event(dev->idle, !atomic_read(&dev->domains));
	}
	smc_ib_device_put(dev);
}

static void smc_ib_client_rename(struct ib_device *ibdev, void *client_data)
{
	struct smc_ib_device *dev = client_data;

	down_write(&dev->lock);
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	up_write(&dev->lock);
	smc_ib_ways_changed();
}

int smc_ib_init(void)
{
	int rc;

	smc_ib_wq = alloc_workqueue("smc_ib", WQ_UNBOUND, 0);
	if (!smc_ib_wq)
		return -ENOMEM;
	rc = register_netdevice_notifier(&smc_ib_netdev_notifier);
	if (rc)
		goto err_queue;
	rc = register_inetaddr_notifier(&smc_ib_address_notifier);
	if (rc)
		goto err_netdev;
	rc = ib_register_client(&smc_ib_client);
	if (rc)
		goto err_address;
	return 0;

err_address:
	unregister_inetaddr_notifier(&smc_ib_address_notifier);
err_netdev:
	unregister_netdevice_notifier(&smc_ib_netdev_notifier);
err_queue:
	destroy_workqueue(smc_ib_wq);
	smc_ib_wq = NULL;
	return rc;
}

void smc_ib_exit(void)
{
	ib_unregister_client(&smc_ib_client);
	unregister_inetaddr_notifier(&smc_ib_address_notifier);
	unregister_netdevice_notifier(&smc_ib_netdev_notifier);
	destroy_workqueue(smc_ib_wq);
	smc_ib_wq = NULL;
}
