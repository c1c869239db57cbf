// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection manager of iWARP devices, between two in this kernel. Real ones speak MPA by TCP;
 * here a request goes to whoever listens at the address, and its answer comes back, each at once.
 *
 * A queue pair that is joined takes its peer's with it when it fails, as by a reset of TCP.
 * Everything here is guarded by sim_fabric, events included: the core only queues them.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

#include "sim.h"

/*
 * One end: of a request, then of a connection. The core has each request accepted or rejected, and
 * keeps the client's queue pair until then.
 */
struct sim_end {
	struct iw_cm_id *id; /* with a reference; NULL: a server's that has not accepted yet */
	struct sim_end *peer; /* from the request on; NULL: it has gone */
	struct sim_qp *qp;
	bool server;
	bool heard; /* something has come from the peer */
};

struct sim_listener {
	struct list_head list;
	struct iw_cm_id *id; /* with a reference */
};

static LIST_HEAD(sim_listeners);

static bool sim_same_address(const struct sockaddr_storage *one,
			     const struct sockaddr_storage *other)
{
	const struct sockaddr_in6 *one6 = (const struct sockaddr_in6 *)one;
	const struct sockaddr_in6 *other6 = (const struct sockaddr_in6 *)other;
	const struct sockaddr_in *one4 = (const struct sockaddr_in *)one;
	const struct sockaddr_in *other4 = (const struct sockaddr_in *)other;

	if (one->ss_family != other->ss_family)
		return false;
	if (one->ss_family == AF_INET)
		return one4->sin_port == other4->sin_port &&
		       one4->sin_addr.s_addr == other4->sin_addr.s_addr;
	return one6->sin6_port == other6->sin6_port &&
	       ipv6_addr_equal(&one6->sin6_addr, &other6->sin6_addr);
}

static void sim_end_set_id(struct sim_end *end, struct iw_cm_id *id)
{
	id->add_ref(id);
	id->provider_data = end;
	end->id = id;
}

/* No event of it follows. */
static void sim_end_free(struct sim_end *end)
{
	if (end->peer)
		end->peer->peer = NULL;
	if (end->id) {
		end->id->provider_data = NULL;
		end->id->rem_ref(end->id);
	}
	kfree(end);
}

static void sim_end_report(struct sim_end *end, enum iw_cm_event_type type, int status,
			   const struct iw_cm_conn_param *param)
{
	struct iw_cm_event event = {
		.event = type,
		.status = status,
		.local_addr = end->id->m_local_addr,
		.remote_addr = end->id->m_remote_addr,
	};

	if (param) {
		event.private_data = (void *)param->private_data;
		event.private_data_len = param->private_data_len;
		event.ord = param->ord;
		event.ird = param->ird;
	}
	end->id->event_handler(end->id, &event);
}

/* ---- Listening -------------------------------------------------------------- */

int sim_iw_create_listen(struct iw_cm_id *id, int backlog)
{
	struct sim_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);

	if (!listener)
		return -ENOMEM;
	id->add_ref(id);
	id->provider_data = listener;
	listener->id = id;
	spin_lock_bh(&sim_fabric);
	list_add_tail(&listener->list, &sim_listeners);
	spin_unlock_bh(&sim_fabric);
	return 0;
}

int sim_iw_destroy_listen(struct iw_cm_id *id)
{
	struct sim_listener *listener = id->provider_data;

	spin_lock_bh(&sim_fabric);
	list_del(&listener->list);
	spin_unlock_bh(&sim_fabric);
	id->provider_data = NULL;
	id->rem_ref(id);
	kfree(listener);
	return 0;
}

static struct sim_listener *sim_listener_find(const struct sockaddr_storage *address)
{
	struct sim_listener *listener;

	list_for_each_entry(listener, &sim_listeners, list) {
		if (sim_same_address(&listener->id->m_local_addr, address) &&
		    sim_device_port_active(to_sim_device(listener->id->device)))
			return listener;
	}
	return NULL;
}

/* ---- Meeting ---------------------------------------------------------------- */

/* The request of @client, whose peer is @server from then on. False: nobody takes it. */
static bool sim_request(struct sim_end *client, struct sim_end *server,
			const struct iw_cm_conn_param *param)
{
	struct sim_listener *listener = sim_listener_find(&client->id->m_remote_addr);
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = client->id->m_remote_addr,
		.remote_addr = client->id->m_local_addr,
		.private_data = (void *)param->private_data,
		.private_data_len = param->private_data_len,
		.provider_data = server,
		.ord = param->ird,
		.ird = param->ord,
	};

	if (!listener || !sim_device_port_active(to_sim_device(client->id->device)) ||
	    listener->id->event_handler(listener->id, &event))
		return false;
	client->peer = server;
	server->peer = client;
	return true;
}

int sim_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct sim_end *client = kzalloc(sizeof(*client), GFP_KERNEL);
	struct sim_end *server = kzalloc(sizeof(*server), GFP_KERNEL);
	int rc = 0;

	spin_lock_bh(&sim_fabric);
	if (!client || !server)
		rc = -ENOMEM;
	else if (sim_fault_happens(to_sim_device(id->device), SIM_FAULT_CONNECT))
		rc = -EIO;
	else
		client->qp = sim_qp_find(param->qpn);
	if (!rc && (!client->qp || client->qp->end || client->qp->state != IB_QPS_INIT))
		rc = -EINVAL;
	if (!rc) {
		server->server = true;
		sim_end_set_id(client, id);
		if (!sim_request(client, server, param)) {
			sim_end_report(client, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED, NULL);
			sim_end_free(client);
			client = NULL;
			rc = 1;
		}
	}
	spin_unlock_bh(&sim_fabric);
	if (rc) {
		kfree(client);
		kfree(server);
	}
	/* That nobody listens was reported. */
	return min(rc, 0);
}

static void sim_join(struct sim_end *end)
{
	struct sim_qp *qp = end->qp;

	qp->end = end;
	qp->attr.dest_qp_num = end->peer->qp->ibqp.qp_num;
	/* TCP's patience, much shortened: half a second. */
	qp->attr.timeout = 14;
	qp->attr.retry_cnt = 7;
	sim_qp_set_state(qp, IB_QPS_RTS);
}

int sim_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct sim_end *server = id->provider_data;
	struct sim_end *client;
	struct sim_qp *qp;
	int rc = 0;

	spin_lock_bh(&sim_fabric);
	client = server->peer;
	qp = sim_qp_find(param->qpn);
	if (client->qp->state != IB_QPS_INIT)
		rc = -ECONNRESET;
	else if (!qp || qp->end || qp->state != IB_QPS_INIT)
		rc = -EINVAL;
	else if (sim_fault_happens(to_sim_device(id->device), SIM_FAULT_ACCEPT))
		rc = -EIO;
	if (rc) {
		/* Nobody is asked to reject it any more. */
		sim_end_report(client, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET, NULL);
		sim_end_free(client);
		id->provider_data = NULL;
		sim_end_free(server);
	} else {
		server->qp = qp;
		sim_end_set_id(server, id);
		sim_join(server);
		sim_join(client);
		sim_end_report(server, IW_CM_EVENT_ESTABLISHED, 0, NULL);
		sim_end_report(client, IW_CM_EVENT_CONNECT_REPLY, 0, param);
	}
	spin_unlock_bh(&sim_fabric);
	return rc;
}

int sim_iw_reject(struct iw_cm_id *id, const void *data, u8 bytes)
{
	struct iw_cm_conn_param param = { .private_data = data, .private_data_len = bytes };
	struct sim_end *server = id->provider_data;
	struct sim_end *client;

	spin_lock_bh(&sim_fabric);
	client = server->peer;
	sim_end_report(client, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED, &param);
	sim_end_free(client);
	id->provider_data = NULL;
	sim_end_free(server);
	spin_unlock_bh(&sim_fabric);
	return 0;
}

/* ---- The queue pair ----------------------------------------------------------- */

/* Interrupts may be off. The caller knows that the queue pair stays. */
struct ib_qp *sim_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct sim_qp *qp = sim_qp_find(qpn);

	return qp && qp->ibqp.device == ibdev ? &qp->ibqp : NULL;
}

void sim_iw_add_ref(struct ib_qp *ibqp)
{
	refcount_inc(&to_sim_qp(ibqp)->users);
}

void sim_iw_rem_ref(struct ib_qp *ibqp)
{
	struct sim_qp *qp = to_sim_qp(ibqp);

	if (refcount_dec_and_test(&qp->users))
		complete(&qp->unused);
}

void sim_part(struct sim_qp *qp)
{
	struct sim_end *end = qp->end;
	struct sim_end *peer;

	if (!end)
		return;
	qp->end = NULL;
	peer = end->peer;
	sim_end_report(end, IW_CM_EVENT_CLOSE, 0, NULL);
	sim_end_free(end);
	if (peer)
		sim_qp_fail(peer->qp);
}

struct sim_qp *sim_joined_to(struct sim_qp *qp)
{
	struct sim_end *peer = qp->end ? qp->end->peer : NULL;

	return peer && peer->qp->end ? peer->qp : NULL;
}

/* RFC 5044, 7.1.2: the responder sends nothing before it has received something. */
bool sim_may_send(struct sim_qp *qp)
{
	if (qp->end->server && !qp->end->heard)
		return false;
	if (qp->end->peer)
		qp->end->peer->heard = true;
	return true;
}
