// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs that a connection manager joins (iWARP). It is given the number of a queue pair in
 * INIT, with its receives posted, and takes it to RTS by itself.
 *
 * A meeting belongs to its link and has one rdma_cm_id. A server's comes with the request that
 * shows the link's key to a listener, which all links on one device and address share. A client
 * connects in a thread of its own: drivers that are software wait for TCP in rdma_connect(), two
 * minutes where nobody answers, and a signal ends that.
 *
 * Locking: smc_ib_listeners_mutex, the list and who uses a listener; a listener's mutex, whom it
 * expects. The RDMA core calls handlers under the id's own mutex, and takes it to destroy the id:
 * so nothing is destroyed in a handler, nor under a listener's mutex.
 */
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "kernel/abi/callbacks/verbs.h"
#include "kernel/abi/stats.h"
#include "kernel/pernet.h"
#include "kernel/verbs.h"

#if IS_REACHABLE(CONFIG_INFINIBAND_ADDR_TRANS)

/* For an address, and for a route. */
#define SMC_IB_RESOLVE_MS 1000
/* Requests that a listener has not been asked about yet. */
#define SMC_IB_BACKLOG 16
/* The ports of the RDMA core are not TCP's: one that is free there may be taken here. */
#define SMC_IB_PORT_TRIES 8

struct smc_ib_listener {
	struct list_head list;
	unsigned int users;
	struct net *net; /* of its users' groups, which end before it does */
	struct ib_device *ibdev;
	union ib_gid address;
	u16 port;
	struct rdma_cm_id *id;
	struct mutex mutex;
	struct list_head expected; /* meetings without an id */
};

static DEFINE_MUTEX(smc_ib_listeners_mutex);
static LIST_HEAD(smc_ib_listeners);

/* Soft-iWARP makes its sockets where the calling thread is. */
bool smc_ib_device_meets_in(const struct smc_ib_device *dev, const struct net *net)
{
	return net_eq(net, &init_net) || dev->driver != RDMA_DRIVER_SIW;
}

static void smc_ib_address(struct sockaddr_storage *to, const u8 address[SMC_IB_GID_SIZE])
{
	union ib_gid gid;

	memcpy(&gid, address, sizeof(gid));
	rdma_gid2ip((struct sockaddr *)to, &gid);
}

/* At the same place for both families. */
static __be16 *smc_ib_port_of(struct sockaddr_storage *address)
{
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	return &((struct sockaddr_in *)address)->sin_port;
}

/* Reads are not used; some drivers need a place for one all the same. */
static void smc_ib_meeting_fill(const struct smc_ib_link *link, struct rdma_conn_param *param)
{
	memset(param, 0, sizeof(*param));
	param->responder_resources = 1;
	param->initiator_depth = 1;
	param->qp_num = link->qp->qp_num;
}

static int smc_ib_meeting_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct smc_ib_link *link = id->context;
	struct smc_ib_meeting *meeting = &link->meeting;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		complete(&meeting->step);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		meeting->status = event->status ?: -EHOSTUNREACH;
		complete(&meeting->step);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		smc_ib_link_met(link->context, meeting->hello);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		smc_ib_link_break(link, event->status < 0 ? event->status : -ECONNRESET);
		break;
	default:
		break;
	}
	return 0;
}

/* ---- The server's side ---- */

/* The link that expects the request, if there is one; it has the request's id from then on. */
static struct smc_ib_link *smc_ib_listener_match(struct smc_ib_listener *listener,
						 struct rdma_cm_id *id,
						 const struct rdma_conn_param *param)
{
	struct smc_ib_meeting *meeting;
	struct smc_ib_link *link = NULL;

	if (!param->private_data || param->private_data_len < SMC_IB_HELLO_BYTES)
		return NULL;
	mutex_lock(&listener->mutex);
	list_for_each_entry(meeting, &listener->expected, list) {
		if (memcmp(meeting->hello, param->private_data, SMC_IB_HELLO_KEY_BYTES))
			continue;
		list_del_init(&meeting->list);
		memcpy(meeting->hello, param->private_data, SMC_IB_HELLO_BYTES);
		meeting->id = id;
		link = container_of(meeting, struct smc_ib_link, meeting);
		id->context = link;
		break;
	}
	mutex_unlock(&listener->mutex);
	return link;
}

/*
 * The id of a request that is refused goes when this returns an error. Until it returns that of a
 * link stays, and so does the link, whose end waits for it.
 */
static int smc_ib_listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct smc_ib_listener *listener = id->context;
	struct rdma_conn_param param;
	struct smc_ib_link *link;
	int rc;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	link = id->device ? smc_ib_listener_match(listener, id, &event->param.conn) : NULL;
	if (!link) {
		smc_stat_inc(listener->net, SMC_STAT_VIOLATION);
		smc_stat_inc(listener->net, SMC_STAT_IWARP_REFUSED);
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		return -ECONNREFUSED;
	}
	id->event_handler = smc_ib_meeting_event;
	smc_ib_meeting_fill(link, &param);
	rc = id->device == link->domain->ibdev ? rdma_accept(id, &param) : -EXDEV;
	if (rc)
		smc_ib_link_break(link, rc);
	return 0;
}

/* @port: 0 for any. */
static int smc_ib_listener_try(struct smc_ib_listener *listener, u16 port)
{
	struct rdma_cm_id *id = rdma_create_id(listener->net, smc_ib_listener_event, listener,
					       RDMA_PS_TCP, IB_QPT_RC);
	struct sockaddr_storage address;
	int rc;

	if (IS_ERR(id))
		return PTR_ERR(id);
	smc_ib_address(&address, listener->address.raw);
	*smc_ib_port_of(&address) = cpu_to_be16(port);
	rc = rdma_bind_addr(id, (struct sockaddr *)&address);
	if (!rc && id->device != listener->ibdev)
		rc = -EXDEV;
	if (!rc)
		rc = rdma_listen(id, SMC_IB_BACKLOG);
	if (rc) {
		rdma_destroy_id(id);
		return rc;
	}
	listener->id = id;
	listener->port = be16_to_cpu(*smc_ib_port_of(&id->route.addr.src_addr));
	return 0;
}

static struct smc_ib_listener *smc_ib_listener_create(struct net *net, struct ib_device *ibdev,
						      const union ib_gid *address)
{
	struct smc_ib_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	u16 port = READ_ONCE(smc_pernet(net)->sysctl.smcr_iwarp_port);
	int tries = port ? 1 : SMC_IB_PORT_TRIES;
	int rc;

	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->net = net;
	listener->ibdev = ibdev;
	listener->address = *address;
	mutex_init(&listener->mutex);
	INIT_LIST_HEAD(&listener->expected);
	do {
		rc = smc_ib_listener_try(listener, port);
	} while (rc == -EADDRINUSE && --tries);
	if (rc) {
		kfree(listener);
		return ERR_PTR(rc);
	}
	list_add(&listener->list, &smc_ib_listeners);
	return listener;
}

static struct smc_ib_listener *smc_ib_listener_get(struct net *net, struct ib_device *ibdev,
						   const union ib_gid *address)
{
	struct smc_ib_listener *listener;

	mutex_lock(&smc_ib_listeners_mutex);
	list_for_each_entry(listener, &smc_ib_listeners, list) {
		if (net_eq(listener->net, net) && listener->ibdev == ibdev &&
		    !memcmp(&listener->address, address, sizeof(*address)))
			goto found;
	}
	listener = smc_ib_listener_create(net, ibdev, address);
found:
	if (!IS_ERR(listener))
		listener->users++;
	mutex_unlock(&smc_ib_listeners_mutex);
	return listener;
}

static void smc_ib_listener_put(struct smc_ib_listener *listener)
{
	mutex_lock(&smc_ib_listeners_mutex);
	if (!--listener->users) {
		list_del(&listener->list);
		rdma_destroy_id(listener->id);
		mutex_destroy(&listener->mutex);
		kfree(listener);
	}
	mutex_unlock(&smc_ib_listeners_mutex);
}

int smc_ib_link_expect(struct smc_ib_link *link, struct net *net,
		       const u8 address[SMC_IB_GID_SIZE], const void *key, u16 *port)
{
	struct smc_ib_meeting *meeting = &link->meeting;
	struct smc_ib_listener *listener;
	union ib_gid own;

	memcpy(&own, address, sizeof(own));
	listener = smc_ib_listener_get(net, link->domain->ibdev, &own);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	memcpy(meeting->hello, key, SMC_IB_HELLO_KEY_BYTES);
	meeting->listener = listener;
	*port = listener->port;
	mutex_lock(&listener->mutex);
	list_add_tail(&meeting->list, &listener->expected);
	mutex_unlock(&listener->mutex);
	return 0;
}

/* ---- The client's side ---- */

static int smc_ib_meeting_wait(struct smc_ib_meeting *meeting)
{
	int rc = wait_for_completion_interruptible(&meeting->step);

	reinit_completion(&meeting->step);
	return rc ?: meeting->status;
}

static int smc_ib_meeting_try(struct smc_ib_link *link)
{
	struct smc_ib_meeting *meeting = &link->meeting;
	struct rdma_conn_param param;
	struct rdma_cm_id *id = meeting->id;
	int rc;

	/* Of the try before. */
	if (id) {
		meeting->id = NULL;
		rdma_destroy_id(id);
	}
	id = rdma_create_id(meeting->net, smc_ib_meeting_event, link, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	meeting->id = id;
	rc = rdma_resolve_addr(id, (struct sockaddr *)&meeting->from,
			       (struct sockaddr *)&meeting->to, SMC_IB_RESOLVE_MS);
	rc = rc ?: smc_ib_meeting_wait(meeting);
	if (!rc && id->device != link->domain->ibdev)
		rc = -EXDEV;
	rc = rc ?: rdma_resolve_route(id, SMC_IB_RESOLVE_MS);
	rc = rc ?: smc_ib_meeting_wait(meeting);
	if (rc)
		return rc;
	smc_ib_meeting_fill(link, &param);
	param.private_data = meeting->hello;
	param.private_data_len = SMC_IB_HELLO_BYTES;
	return rdma_connect(id, &param);
}

static int smc_ib_meeting_run(void *data)
{
	struct smc_ib_link *link = data;
	int tries = SMC_IB_PORT_TRIES;
	int rc;

	allow_signal(SIGKILL);
	/* Pairs with smc_ib_link_leave(): the mark is seen here, or its signal comes. */
	smp_mb();
	do {
		rc = READ_ONCE(link->meeting.given_up) ? -EINTR : smc_ib_meeting_try(link);
	} while (rc == -EADDRINUSE && --tries);
	if (rc)
		smc_ib_link_break(link, rc);
	return 0;
}

int smc_ib_link_connect(struct smc_ib_link *link, struct net *net, const u8 from[SMC_IB_GID_SIZE],
			const u8 to[SMC_IB_GID_SIZE], u16 port, const void *hello)
{
	struct smc_ib_meeting *meeting = &link->meeting;
	struct task_struct *task;

	if (meeting->task)
		return -EALREADY;
	meeting->net = net;
	smc_ib_address(&meeting->from, from);
	smc_ib_address(&meeting->to, to);
	*smc_ib_port_of(&meeting->to) = cpu_to_be16(port);
	memcpy(meeting->hello, hello, SMC_IB_HELLO_BYTES);
	task = kthread_create(smc_ib_meeting_run, link, "smc_iwarp");
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* It may end by itself. */
	meeting->task = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

/* ---- Both ---- */

void smc_ib_meeting_prepare(struct smc_ib_link *link)
{
	init_completion(&link->meeting.step);
	INIT_LIST_HEAD(&link->meeting.list);
}

/*
 * Neither the signal nor anything else ends the wait for an answer to rdma_connect() that the
 * driver has sent: iw_cm lets no id go before the driver has reported how that went.
 */
void smc_ib_link_leave(struct smc_ib_link *link)
{
	struct smc_ib_meeting *meeting = &link->meeting;

	if (meeting->listener) {
		mutex_lock(&meeting->listener->mutex);
		list_del_init(&meeting->list);
		mutex_unlock(&meeting->listener->mutex);
	}
	if (meeting->task) {
		WRITE_ONCE(meeting->given_up, true);
		/* See smc_ib_meeting_run(). */
		smp_mb();
		send_sig(SIGKILL, meeting->task, 1);
		kthread_stop(meeting->task);
		put_task_struct(meeting->task);
		meeting->task = NULL;
	}
	if (meeting->id)
		rdma_destroy_id(meeting->id);
	meeting->id = NULL;
	if (meeting->listener)
		smc_ib_listener_put(meeting->listener);
	meeting->listener = NULL;
}

#else

bool smc_ib_device_meets_in(const struct smc_ib_device *dev, const struct net *net)
{
	return false;
}

int smc_ib_link_expect(struct smc_ib_link *link, struct net *net,
		       const u8 address[SMC_IB_GID_SIZE], const void *key, u16 *port)
{
	return -EOPNOTSUPP;
}

int smc_ib_link_connect(struct smc_ib_link *link, struct net *net, const u8 from[SMC_IB_GID_SIZE],
			const u8 to[SMC_IB_GID_SIZE], u16 port, const void *hello)
{
	return -EOPNOTSUPP;
}

void smc_ib_meeting_prepare(struct smc_ib_link *link)
{
}

void smc_ib_link_leave(struct smc_ib_link *link)
{
}

#endif
