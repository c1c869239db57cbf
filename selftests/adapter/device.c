// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices and their one port, as the RDMA core knows them.
 */
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>

#include "sim.h"

#define SIM_QUEUE_MAX 4096
#define SIM_GIDS_MAX 256
#define SIM_PAGES_MAX 512

static unsigned int fast_reg_pages = SIM_PAGES_MAX;
module_param(fast_reg_pages, uint, 0444);
MODULE_PARM_DESC(fast_reg_pages, "that one memory region takes");
static unsigned int send_sges = 4;
module_param(send_sges, uint, 0444);
MODULE_PARM_DESC(send_sges, "pieces of memory that a send may gather, 8 at most");
static unsigned int receive_sges = 4;
module_param(receive_sges, uint, 0444);
MODULE_PARM_DESC(receive_sges, "that a receive may scatter to, 8 at most");

static unsigned int work_requests = SIM_QUEUE_MAX;
module_param(work_requests, uint, 0444);
MODULE_PARM_DESC(work_requests, "that each queue of a queue pair takes, 4096 at most");

static const char *const sim_kinds[] = { "roce", "roce_v1", "roce_v2", "iwarp" };
enum sim_kind { SIM_ROCE, SIM_ROCE_V1, SIM_ROCE_V2, SIM_IWARP };

static struct sim_choice sim_kind = { sim_kinds, ARRAY_SIZE(sim_kinds), SIM_ROCE };
module_param_cb(kind, &sim_choice_ops, &sim_kind, 0444);
MODULE_PARM_DESC(kind, "of all devices: roce (both versions), roce_v1, roce_v2, iwarp");

static int sim_gids(void)
{
	return sim_kind.value == SIM_IWARP ? 1 : SIM_GIDS_MAX;
}

static int sim_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	*attr = to_sim_device(ibdev)->attrs;
	return 0;
}

static int sim_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct sim_device *dev = to_sim_device(ibdev);
	bool active = sim_device_port_active(dev);

	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(dev->netdev->mtu);
	attr->gid_tbl_len = sim_gids();
	attr->ip_gids = sim_kind.value != SIM_IWARP;
	attr->max_msg_sz = 1u << 30;
	attr->pkey_tbl_len = sim_kind.value == SIM_IWARP ? 0 : 1;
	attr->active_speed = IB_SPEED_EDR;
	attr->active_width = IB_WIDTH_4X;
	return 0;
}

static int sim_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = 0xffff;
	return 0;
}

static int sim_get_port_immutable(struct ib_device *ibdev, u32 port,
				  struct ib_port_immutable *immutable)
{
	/* No MADs: nobody needs them here. */
	static const u32 flags[] = {
		[SIM_ROCE] = RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP |
			     RDMA_CORE_CAP_ETH_AH,
		[SIM_ROCE_V1] = RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_ETH_AH,
		[SIM_ROCE_V2] = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_ETH_AH,
		[SIM_IWARP] = RDMA_CORE_PORT_IWARP,
	};

	immutable->core_cap_flags = flags[sim_kind.value];
	immutable->gid_tbl_len = sim_gids();
	immutable->pkey_tbl_len = sim_kind.value == SIM_IWARP ? 0 : 1;
	return 0;
}

static enum rdma_link_layer sim_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static struct net_device *sim_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct sim_device *dev = to_sim_device(ibdev);

	dev_hold(dev->netdev);
	return dev->netdev;
}

/* Of iWARP's only entry; otherwise the core keeps the table itself. */
static int sim_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_sim_device(ibdev)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

/* The core keeps the table; each queue pair stores its own copy. */
static int sim_change_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

#ifdef HAVE_CREATE_CQ_ATTRS
static int sim_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 struct uverbs_attr_bundle *attrs)
#else
static int sim_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 struct ib_udata *udata)
#endif
{
	return sim_create_cq_of(ibcq, attr);
}

/* No program has a context. A device without this function cannot move to another namespace. */
static void sim_disassociate(struct ib_ucontext *context)
{
}

static void sim_dealloc(struct ib_device *ibdev)
{
	struct sim_device *dev = to_sim_device(ibdev);

	sim_counters_remove(dev);
	sim_parent_give_back(dev->parent);
	dev_put(dev->netdev);
}

static const struct ib_device_ops sim_ops = {
	.owner = THIS_MODULE,
	.driver_id = SIM_DRIVER,
	.uverbs_no_driver_id_binding = 1,

	.add_gid = sim_change_gid,
	.alloc_mr = sim_alloc_mr,
	.alloc_pd = sim_alloc_pd,
	.create_cq = sim_create_cq,
	.create_qp = sim_create_qp,
	.dealloc_driver = sim_dealloc,
	.dealloc_pd = sim_dealloc_pd,
	.del_gid = sim_change_gid,
	.dereg_mr = sim_dereg_mr,
	.destroy_cq = sim_destroy_cq,
	.destroy_qp = sim_destroy_qp,
	.disassociate_ucontext = sim_disassociate,
	.get_dma_mr = sim_get_dma_mr,
	.get_link_layer = sim_get_link_layer,
	.get_netdev = sim_get_netdev,
	.get_port_immutable = sim_get_port_immutable,
	.iw_accept = sim_iw_accept,
	.iw_add_ref = sim_iw_add_ref,
	.iw_connect = sim_iw_connect,
	.iw_create_listen = sim_iw_create_listen,
	.iw_destroy_listen = sim_iw_destroy_listen,
	.iw_get_qp = sim_iw_get_qp,
	.iw_reject = sim_iw_reject,
	.iw_rem_ref = sim_iw_rem_ref,
	.map_mr_sg = sim_map_mr_sg,
	.modify_qp = sim_modify_qp,
	.poll_cq = sim_poll_cq,
	.post_recv = sim_post_recv,
	.post_send = sim_post_send,
	.query_device = sim_query_device,
	.query_gid = sim_query_gid,
	.query_pkey = sim_query_pkey,
	.query_port = sim_query_port,
	.query_qp = sim_query_qp,
	.reg_user_mr = sim_reg_user_mr,
	.req_notify_cq = sim_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, sim_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, sim_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, sim_qp, ibqp),
};

static void sim_device_describe(struct sim_device *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	struct ib_device_attr *attr = &dev->attrs;

	ibdev->node_type = sim_kind.value == SIM_IWARP ? RDMA_NODE_RNIC : RDMA_NODE_IB_CA;
	strscpy(ibdev->node_desc, "simrnic", sizeof(ibdev->node_desc));
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = SIM_LOCAL_DMA_KEY;
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->iw_ifname, dev->netdev->name, sizeof(ibdev->iw_ifname));
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->netdev->dev_addr);

	attr->sys_image_guid = ibdev->node_guid;
	attr->max_mr_size = -1ull;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 65536;
	attr->max_qp_wr = min_t(unsigned int, work_requests, SIM_QUEUE_MAX);
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_RC_RNR_NAK_GEN;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = min_t(unsigned int, send_sges, SIM_SGES_MAX);
	attr->max_recv_sge = min_t(unsigned int, receive_sges, SIM_SGES_MAX);
	attr->max_cq = 65536;
	attr->max_cqe = sim_cq_size_max();
	attr->max_mr = 65536;
	attr->max_pd = 65536;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->max_pkeys = 1;
	attr->max_fast_reg_page_list_len = min_t(unsigned int, fast_reg_pages, SIM_PAGES_MAX);
}

int sim_device_create(const char *name, struct net_device *netdev)
{
	struct sim_device *dev = ib_alloc_device(sim_device, ibdev);
	int rc;

	if (!dev)
		return -ENOMEM;
	dev->parent = sim_parent_take();
	if (IS_ERR(dev->parent)) {
		rc = PTR_ERR(dev->parent);
		goto err_alloc;
	}
	dev_hold(netdev);
	dev->netdev = netdev;
	sim_device_describe(dev);
	dev->ibdev.dev.parent = dev->parent->device;
	ib_set_device_ops(&dev->ibdev, &sim_ops);
	rc = ib_device_set_netdev(&dev->ibdev, netdev, 1);
	if (!rc)
		rc = ib_register_device(&dev->ibdev, name, dev->parent->device);
	if (rc)
		goto err_netdev;
	sim_counters_add(dev);
	sim_faults_add(dev);
	return 0;

err_netdev:
	dev_put(netdev);
	sim_parent_give_back(dev->parent);
err_alloc:
	/* Not sim_dealloc(), which only frees registered devices. */
	dev->ibdev.ops.dealloc_driver = NULL;
	ib_dealloc_device(&dev->ibdev);
	return rc;
}

void sim_device_port_changed(struct sim_device *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = sim_device_port_active(dev) ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	ib_dispatch_event(&event);
}
