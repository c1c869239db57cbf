// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading, and devices that come and go with their network devices:
 *
 *   rdma link add sim0 type simrnic netdev veth0
 *   rdma link delete sim0
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <rdma/rdma_netlink.h>

#include "sim.h"

DEFINE_SPINLOCK(sim_fabric);
struct workqueue_struct *sim_wq;

static int sim_newlink(const char *name, struct net_device *netdev)
{
	return sim_device_create(name, netdev);
}

static struct rdma_link_ops sim_link_ops = {
	.type = "simrnic",
	.newlink = sim_newlink,
};

static int sim_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev = ib_device_get_by_netdev(netdev, SIM_DRIVER);

	if (!ibdev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(ibdev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		sim_device_port_changed(to_sim_device(ibdev));
		break;
	default:
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block sim_netdev_notifier = {
	.notifier_call = sim_netdev_event,
};

/* Newer kernels want it said. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

static int __init sim_init(void)
{
	int rc;

	sim_wq = alloc_workqueue("simrnic", WQ_HIGHPRI | WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!sim_wq)
		return -ENOMEM;
	sim_counters_init();
	rc = sim_parents_init();
	if (rc)
		goto err_wq;
	rc = register_netdevice_notifier(&sim_netdev_notifier);
	if (rc)
		goto err_parents;
	sim_wire_init();
	rdma_link_register(&sim_link_ops);
	return 0;

err_parents:
	sim_parents_exit();
err_wq:
	sim_counters_exit();
	destroy_workqueue(sim_wq);
	return rc;
}

static void __exit sim_exit(void)
{
	rdma_link_unregister(&sim_link_ops);
	unregister_netdevice_notifier(&sim_netdev_notifier);
	ib_unregister_driver(SIM_DRIVER);
	sim_wire_exit();
	sim_parents_exit();
	sim_counters_exit();
	destroy_workqueue(sim_wq);
}

module_init(sim_init);
module_exit(sim_exit);
MODULE_DESCRIPTION("An RDMA adapter that is played, for tests");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("simrnic");
