/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA devices, links (one RC queue pair each), and registered buffers.
 *
 * C keeps the objects of the RDMA core; C++ makes the decisions. There is no protocol in here.
 * Integers are in host byte order unless a comment says otherwise; QPNs and PSNs use the low 24
 * bits. Functions return 0 or a negative errno.
 *
 * Contexts: "process" may sleep; "softirq" must not and runs with bottom
 * halves off; "any" is either of them.
 *
 * Lifetime, from the outside in:
 *   device   counted; outlives the hardware. Once smc_ib_device_removing() was
 *            delivered, calls that need the hardware answer -ENODEV.
 *   link     created on a device. Destroy the link first, then its regions, so
 *            that the hardware has stopped before memory is unmapped.
 *   buffer   memory; independent of devices.
 *   region   a buffer made reachable on one link. Destroy all regions of a
 *            buffer before the buffer.
 */
#ifndef SMC_KERNEL_ABI_VERBS_H
#define SMC_KERNEL_ABI_VERBS_H

#include "kernel/abi/types.h"

/* Ports of a device that are used (ports are numbered from 1). */
#define SMC_IB_PORTS_MAX 2
#define SMC_IB_NAME_SIZE 64
#define SMC_IB_NETDEV_NAME_SIZE 16
#define SMC_IB_GID_SIZE 16
#define SMC_IB_MAC_SIZE 6

/* A message up to this long arrives in one piece, without a tail. */
#define SMC_IB_MESSAGE_HEAD_BYTES 64
/* Longest message sent or received: 72 + 255 * 16 bytes of LLC ADD_LINK fit. */
#define SMC_IB_MESSAGE_MAX_BYTES 4160
/* Receives that a link keeps posted. */
#define SMC_IB_RECEIVES 64
/* RDMA writes in one post. */
#define SMC_IB_WRITES_MAX 4

SMC_ABI_BEGIN

struct smc_ib_device;
struct smc_ib_link;
struct smc_ib_receive_slot;
struct smc_ib_buffer;
struct smc_ib_region;

/* ---- Devices and ports ------------------------------------------------- */

struct smc_ib_device_info {
	char name[SMC_IB_NAME_SIZE];        /* "mlx5_0", "rxe0" */
	char parent_name[SMC_IB_NAME_SIZE]; /* "0000:01:00.0"; "" if there is none */
	u8 ports;                           /* 1..SMC_IB_PORTS_MAX */
	bool iwarp;                         /* its links need a connection manager */
	bool pci;                           /* the next two are valid */
	u16 pci_vendor;
	u16 pci_device;
	u32 links;              /* links alive on it */
	u32 memory_regions;     /* MRs alive on it */
	u64 buffer_max_bytes;   /* largest buffer that one MR can cover */
	u64 node_guid;          /* host byte order */
};

struct smc_ib_port_info {
	bool active;
	bool has_netdev;
	/* Path MTU code of RFC 7609 and IB: 1 = 256, 2 = 512 ... 5 = 4096 bytes. */
	u8 mtu_code;
	u8 mac[SMC_IB_MAC_SIZE]; /* of the netdev; zero without one */
	u32 ifindex;             /* in the netdev's own namespace; 0 without one */
	char netdev_name[SMC_IB_NETDEV_NAME_SIZE];
};

/* References. Any context; NULL is fine. */
void smc_ib_device_get(struct smc_ib_device *dev);
void smc_ib_device_put(struct smc_ib_device *dev);

/*
 * Walks the devices in order of arrival: pass NULL, then what the last call
 * returned. Takes a reference on the result and drops the one on @prev, so a
 * walk that is left early must put its last device. Process context.
 */
struct smc_ib_device *smc_ib_device_next(struct smc_ib_device *prev);
/* True if there is any device. A hint: one may come or go. Any context. */
bool smc_ib_device_any(void);
/* The same for iWARP devices. Any context. */
bool smc_ib_device_any_iwarp(void);
/* With a reference, or NULL. Process context. */
struct smc_ib_device *smc_ib_device_find(const char *name);

/* True until removal starts. Any context. */
bool smc_ib_device_present(const struct smc_ib_device *dev);
/* True if sockets of @net may use it (RDMA core's namespace mode). Process context. */
bool smc_ib_device_accessible(struct smc_ib_device *dev, const struct net *net);
/* How many ports it has, from 1; whether it is an iWARP device. Any context. */
u8 smc_ib_device_ports(const struct smc_ib_device *dev);
bool smc_ib_device_iwarp(const struct smc_ib_device *dev);
/*
 * For display, and for names. Process context. Name, ports and counts are filled in even when the
 * device has gone.
 */
void smc_ib_device_info(struct smc_ib_device *dev, struct smc_ib_device_info *out);
/* For traces: of whatever it is being renamed to, a part may be there. Any context. */
const char *smc_ib_device_name(const struct smc_ib_device *dev);
/*
 * Process context. With @net, a netdev of another namespace counts as none;
 * NULL: any. -ENODEV: device gone or no such port.
 */
int smc_ib_port_info(struct smc_ib_device *dev, u8 port, const struct net *net,
		     struct smc_ib_port_info *out);
/* Asks the device for the port's MTU: not every driver reports each change. Process context. */
void smc_ib_port_update_mtu(struct smc_ib_device *dev, u8 port);
/* Last known state of the port. Any context. */
bool smc_ib_port_active(const struct smc_ib_device *dev, u8 port);
/* The same of its path MTU, see smc_ib_port_info; 0: not known, or no such port. Any context. */
u8 smc_ib_port_mtu(const struct smc_ib_device *dev, u8 port);

/*
 * True if the port sits on netdev @ifindex of @net, or below it (VLAN, bond, ...). Process context.
 */
bool smc_ib_port_carries(struct smc_ib_device *dev, u8 port, struct net *net, u32 ifindex);

/* ---- GIDs and routes --------------------------------------------------- */

enum smc_ib_gid_type {
	SMC_IB_GID_ROCE_V1,
	SMC_IB_GID_ROCE_V2, /* IPv4-mapped only */
	SMC_IB_GID_IWARP,   /* an IP address of the netdev, IPv4 mapped; in no table of the port */
};

struct smc_ib_gid_query {
	enum smc_ib_gid_type type;
	u16 vlan_id;        /* 0 = untagged */
	/* v2: an address of the GID's netdev must have this one in its subnet. */
	u8 ipv4[4];         /* network order; 0.0.0.0 = any */
	const struct net *net; /* of the GID's netdev; NULL = any */
};

struct smc_ib_gid {
	u8 raw[SMC_IB_GID_SIZE];
	u8 mac[SMC_IB_MAC_SIZE]; /* source MAC of packets with this GID */
	enum smc_ib_gid_type type;
	u16 vlan_id;             /* 0 = untagged */
	u32 ifindex;             /* netdev that owns the GID */
};

/*
 * First entry of the port's GID table that fits. -ENOENT: none. Process context. From then on the
 * GID is known by its content, not by its index: an address that is removed and added again may get
 * another index.
 */
int smc_ib_gid_find(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid_query *query,
		    struct smc_ib_gid *out);

/*
 * iWARP: an address of the port's network device, which has to be in @net, of the family of @like.
 * With @peer, one from which a route leads there over that device; NULL: any.
 * -EADDRNOTAVAIL, or another error: none. Process context.
 */
int smc_ib_port_address(struct smc_ib_device *dev, u8 port, struct net *net,
			const u8 like[SMC_IB_GID_SIZE], const u8 *peer, bool *uses_gateway,
			struct smc_ib_gid *out);

struct smc_ib_route {
	bool uses_gateway;
	u8 next_hop_mac[SMC_IB_MAC_SIZE];
};

/*
 * How packets leave from @from (RoCE v2, IPv4-mapped) to IPv4 @peer (network
 * order). Resolves the neighbour; -EHOSTUNREACH if it does not answer within
 * @timeout_ms, other errors if there is no route. Process context, sleeps.
 */
int smc_ib_route_resolve(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid *from,
			 const u8 peer[4], u32 timeout_ms, struct smc_ib_route *out);
/* As above without sending or waiting: is there a route, through a gateway? */
int smc_ib_route_lookup(struct smc_ib_device *dev, u8 port, const struct smc_ib_gid *from,
			const u8 peer[4], bool *uses_gateway);

/* ---- Links ------------------------------------------------------------- */

/*
 * A QP in state RESET with a CQ, a PD, message rings and receive buffers of
 * its own. @context comes back in the callbacks below. -EOPNOTSUPP: device
 * unfit (queues too short). Process context.
 */
int smc_ib_link_create(struct smc_ib_device *dev, u8 port, void *context,
		       struct smc_ib_link **out);
/*
 * Stops the QP, for good: no packet of it leaves, and none is taken in. Returns when all that had
 * been taken in has been delivered by callbacks, or after half a second on a device that does not
 * say so. smc_ib_link_failed() is not called for it. Process context, not from a callback, not
 * under a lock that callbacks take.
 */
void smc_ib_link_drain(struct smc_ib_link *link);
/*
 * No callback runs once this returns, but for smc_ib_link_failed() and smc_ib_link_met(), and
 * nothing is posted any more. Process context, not from a callback, not under a lock that callbacks
 * take.
 */
void smc_ib_link_close(struct smc_ib_link *link);
/*
 * Stops the QP and frees the link. What the peer's hardware knows to be delivered may get lost,
 * unless the link was drained before. No callback of it runs once this returns; none of its posts
 * touches memory any more. Posts made meanwhile fail. Never waits for the peer (over iWARP: after
 * smc_ib_link_leave()), but for some milliseconds. Process context, not from a callback, not under
 * a lock that callbacks take.
 */
void smc_ib_link_destroy(struct smc_ib_link *link);

u32 smc_ib_link_qpn(const struct smc_ib_link *link);
/* Names what polls its completions, for smc_sk_busy_poll_by(). Any context. */
u32 smc_ib_link_napi_id(const struct smc_ib_link *link);
/* Work requests that the send queue holds (a message or a write is one each). */
u32 smc_ib_link_send_queue(const struct smc_ib_link *link);

struct smc_ib_path {
	struct smc_ib_gid gid;          /* own */
	u8 peer_gid[SMC_IB_GID_SIZE];
	u8 peer_mac[SMC_IB_MAC_SIZE];   /* or the gateway's */
	u32 peer_qpn;
	u32 peer_psn;
	u8 mtu_code;                    /* min(own, peer's), 1..5 */
	u8 hop_limit;                   /* 1 on the link, 64 through a gateway */
};

/*
 * The states of the QP, in this order; each once. Process context.
 * to_init posts the receives, so no message of the peer finds an empty queue.
 * to_rtr: -EADDRNOTAVAIL if the port has lost the GID.
 */
int smc_ib_link_to_init(struct smc_ib_link *link);
int smc_ib_link_to_rtr(struct smc_ib_link *link, const struct smc_ib_path *path);
int smc_ib_link_to_rts(struct smc_ib_link *link, u32 own_psn);

/*
 * Links of iWARP devices, instead of to_rtr and to_rts: the server's expects its client, and the
 * client's connects, showing some bytes of which the server knows the first. Either way
 * smc_ib_link_met() follows and the link can be used, or smc_ib_link_failed() does, or, where
 * nobody comes or answers, nothing: then destroy the link. The client's end has to send first.
 * Process context. -EXDEV: @address is on another RDMA device.
 * leave: the connection manager forgets the link. It waits for an answer that the peer owes, as
 * long as the driver does (soft-iWARP 10 s). No callback of the connection manager's runs once this
 * returns. Process context, under no lock, once, before the link is destroyed.
 */
#define SMC_IB_HELLO_BYTES 24
#define SMC_IB_HELLO_KEY_BYTES 20
/* False: those of @dev cannot, by addresses of @net. Any context. */
bool smc_ib_device_meets_in(const struct smc_ib_device *dev, const struct net *net);
/*
 * Addresses are GIDs of that type, of @net. The connection manager keeps @net until the link is
 * destroyed. @port: where the client has to connect to.
 */
int smc_ib_link_expect(struct smc_ib_link *link, struct net *net,
		       const u8 address[SMC_IB_GID_SIZE], const void *key, u16 *port);
int smc_ib_link_connect(struct smc_ib_link *link, struct net *net, const u8 from[SMC_IB_GID_SIZE],
			const u8 to[SMC_IB_GID_SIZE], u16 port, const void *hello);
void smc_ib_link_leave(struct smc_ib_link *link);

struct smc_ib_write {
	struct smc_ib_region *local; /* the send buffer, on this link */
	u32 offset_bytes;            /* in it */
	u32 length_bytes;
	/*
	 * The same bytes as the CPU sees them; lets the device take a short
	 * write inline. NULL: never inline.
	 */
	const void *data;
	u64 remote_address;
	u32 remote_key;
};

/* For smc_ib_link_post(): */
/* Ask for a completion. Otherwise one is asked for every quarter queue. */
#define SMC_IB_POST_SIGNAL 1u
/*
 * May use the few places that ordinary posts leave free, so that link
 * maintenance gets through while data fills the queue.
 */
#define SMC_IB_POST_CONTROL 2u
/* The same for the group's last message: a place of its own. */
#define SMC_IB_POST_LAST 4u

/*
 * Posts @n_writes RDMA writes (0..SMC_IB_WRITES_MAX), then @message as one SEND (solicited), all at
 * once. The message is copied. The local bytes of the writes must not change until
 * smc_ib_link_sent() reports *@seq or later; this function syncs them for the device, and posts the
 * registration of a send buffer that has none before the first write from it. Posts are numbered
 * from 1 in the order made.
 *
 * 0: posted. -EAGAIN: no room; try again after the next smc_ib_link_sent(), which is certain to
 * come (or smc_ib_link_failed()). Anything else: the link is dead, or was so before;
 * smc_ib_link_failed() follows if it has not been delivered yet. A message longer than
 * SMC_IB_MESSAGE_HEAD_BYTES can be in flight twice at most, else -EAGAIN.
 *
 * Callers serialise posts of a link (its send-queue lock, bottom halves off).
 * Any context. Needs RTS.
 */
int smc_ib_link_post(struct smc_ib_link *link, const struct smc_ib_write *writes,
		     unsigned int n_writes, const void *message, size_t message_bytes,
		     unsigned int flags, u64 *seq);
/*
 * The same without a message: the last of the writes (1..SMC_IB_WRITES_MAX) carries @immediate
 * (solicited). The peer gets smc_ib_link_written().
 */
int smc_ib_link_post_immediate(struct smc_ib_link *link, const struct smc_ib_write *writes,
			       unsigned int n_writes, u32 immediate, unsigned int flags, u64 *seq);
/*
 * True if a post of SMC_IB_WRITES_MAX writes and a message would find room. Same serialisation as
 * posts.
 */
bool smc_ib_link_writable(const struct smc_ib_link *link);

/*
 * Posts a receive that smc_ib_link_received() kept. While the link lives, with
 * bottom halves off; once each. Any context.
 */
void smc_ib_link_give_back(struct smc_ib_link *link, struct smc_ib_receive_slot *receive);

/* ---- Buffers and regions ----------------------------------------------- */

enum smc_ib_buffer_kind {
	SMC_IB_BUFFER_RMB,  /* the peer writes into it */
	SMC_IB_BUFFER_SEND, /* source of our writes */
};

/*
 * Zeroed memory for a ring of @sk (kernel/abi/ring_memory.h). NULL: one for any sock, a send
 * buffer of the smallest size, which is charged to nobody. @size_bytes is a
 * power of two and at least 16 KiB. With @contiguous physically so if that is
 * easy to have, else mapped from single pages. Process context.
 */
int smc_ib_buffer_create(struct sock *sk, enum smc_ib_buffer_kind kind, size_t size_bytes,
			 bool contiguous, struct smc_ib_buffer **out);
void smc_ib_buffer_destroy(struct smc_ib_buffer *buffer);
/* Any context. */
void *smc_ib_buffer_data(const struct smc_ib_buffer *buffer);

struct smc_ib_region_info {
	u64 address;    /* of the first byte, for writes from or into it */
	u32 local_key;
	u32 remote_key; /* RMBs only, else 0 */
	/*
	 * CPU and device see different bytes (a bounce buffer, or a cache that
	 * the device does not look into) until smc_ib_region_sync_for_*().
	 */
	bool must_sync;
};

/*
 * Maps @buffer for @link's device and, where an MR is needed (every RMB; send
 * buffers that are not contiguous for the device), allocates one. The keys are
 * valid from here on but usable only after registration. Process context.
 */
int smc_ib_region_create(struct smc_ib_link *link, struct smc_ib_buffer *buffer,
			 struct smc_ib_region **out);
/*
 * Process context. While the link lives, no post and no peer may use it any
 * more, and a registration that was posted must have ended.
 */
void smc_ib_region_destroy(struct smc_ib_region *region);
void smc_ib_region_info(const struct smc_ib_region *region, struct smc_ib_region_info *out);
/*
 * Only needed where must_sync is set. For bytes of the buffer that the device has written, before
 * the CPU reads them; and for bytes that the CPU has written, before the device may read them or
 * the CPU may sync them again. The device may be writing other bytes meanwhile. When
 * smc_ib_region_create() returns both see the same bytes everywhere. (smc_ib_link_post() syncs the
 * local bytes of writes.) Any context.
 */
void smc_ib_region_sync_for_cpu(const struct smc_ib_region *region, u32 offset_bytes,
				u32 length_bytes);
void smc_ib_region_sync_for_device(const struct smc_ib_region *region, u32 offset_bytes,
				   u32 length_bytes);

/* Registrations in a link's send queue at a time. */
#define SMC_IB_REGISTRATIONS 8

/*
 * Posts the registration of an RMB; the link is the one it was created on and in RTS. It
 * stands in the send queue like any other request, behind what the peer has
 * not received, and cannot be taken back. Same serialisation as
 * smc_ib_link_post(). 0: it is registered, or there is nothing to register.
 * -EINPROGRESS: posted, now or before. -EAGAIN: no room, or
 * SMC_IB_REGISTRATIONS are under way. After both of these ask again after the
 * next smc_ib_link_sent(), which is certain to come (or smc_ib_link_failed()).
 * Anything else: the link is dead. Any context.
 */
int smc_ib_region_post(struct smc_ib_region *region);
/*
 * True if it was posted and has not ended: then it must not be destroyed while the link lives. Any
 * context.
 */
bool smc_ib_region_posted(const struct smc_ib_region *region);

SMC_ABI_END

#endif
