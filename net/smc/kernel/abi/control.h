/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control plane: the PNET ID of a network device, and the requests of user space: PNET entries,
 * and snapshots of groups, links, devices and sockets.
 *
 * State and locks are in shell/control/ (C++, kernel/abi/callbacks/control.h); kernel/netlink*.c
 * and kernel/diag.c translate it from and to attributes.
 */
#ifndef SMC_KERNEL_ABI_CONTROL_H
#define SMC_KERNEL_ABI_CONTROL_H

#include "kernel/abi/tcp_peer.h"
#include "kernel/abi/types.h"

SMC_ABI_BEGIN

#define SMC_PNETID_LEN 16
#define SMC_EID_LEN 32
#define SMC_IB_NAME_LEN 64	/* with the final NUL */
#define SMC_UEIDS 4
#define SMC_DEV_PORTS 2
#define SMC_GROUP_LINKS 3

/*
 * PNET ID of a network device: the entry of the lowest device under it, then
 * of the device itself. Blank padded. False if there is none. Any context that
 * may take RCU's read lock.
 *
 * Both a device without PNET ID and a port without PNET ID are "unset"; the
 * search then goes by the fabric alone (the port whose network device the
 * route uses). Unset never equals a set PNET ID.
 */
bool smc_pnet_of_netdev(struct net *net, u32 ifindex, u8 out[SMC_PNETID_LEN]);

/* ---- PNET table ---- */

struct smc_pnet_request {
	const char *pnetid;	/* as the user wrote it */
	const char *eth_name;	/* NULL: no network device named */
	const char *ib_name;	/* NULL: no RDMA device named */
	u8 ib_port;		/* 1 .. SMC_DEV_PORTS */
};

struct smc_pnet_entry {
	bool is_ib;
	u8 ib_port;
	char pnetid[SMC_PNETID_LEN + 1];
	char dev_name[SMC_IB_NAME_LEN];
};

/* ---- peers that are remembered ---- */

struct smc_peer_info {
	struct smc_peer peer;
	bool is_server;		/* it has answered by CLC; else it is a stranger */
	u64 rest_ms;		/* until it is forgotten */
};

/* ---- rules about peers; the first one that matches decides ---- */

struct smc_peer_rule {
	bool allow;
	bool out;		/* connections that are made from here */
	bool in;		/* that come here */
	u8 address[16];		/* the peer's; v4 as ::ffff:a.b.c.d */
	u8 prefix_bits;		/* 0: every address */
	u16 port_first;		/* the server's, whichever side that is */
	u16 port_last;
};

/*
 * ---- snapshots; groups and sockets: whoever owns them fills them in
 * (shell/control/directory.hpp)
 */

struct smc_link_info {
	u8 id;
	u8 ib_port;
	u32 state;		/* SMC_LINK_STATE_* */
	u32 conns;
	u32 ifindex;
	u8 uid[4];		/* as on the wire */
	u8 peer_uid[4];
	u8 gid[16];
	u8 peer_gid[16];
	char ib_name[SMC_IB_NAME_LEN];
};

enum {
	SMC_LINK_STATE_UNUSED,
	SMC_LINK_STATE_INACTIVE,
	SMC_LINK_STATE_ACTIVATING,
	SMC_LINK_STATE_ACTIVE,
};

enum {
	SMC_LGR_TYPE_NONE,
	SMC_LGR_TYPE_SINGLE,
	SMC_LGR_TYPE_SYMMETRIC,
	SMC_LGR_TYPE_ASYMMETRIC_PEER,
	SMC_LGR_TYPE_ASYMMETRIC_LOCAL,
};

/* An SMC-R link group with its links in one consistent view. */
struct smc_lgr_info {
	u8 id[4];		/* as on the wire */
	bool is_server;
	u8 type;		/* SMC_LGR_TYPE_* */
	u8 buf_type;		/* SMC_BUF_TYPE_* */
	u8 version;		/* 1 or 2 */
	u8 peer_release;	/* the rest of this block: version 2 */
	u8 peer_os;		/* 1 z/OS, 2 Linux, 3 AIX */
	bool direct;		/* no gateway on the way */
	u8 max_conns;
	u8 max_links;
	u16 vlan_id;
	u32 conns;
	u64 sndbuf_bytes;	/* allocated */
	u64 rmb_bytes;
	u8 pnetid[SMC_PNETID_LEN];	/* of the first link's port; filled by smc_ctl_lgr_next() */
	u8 eid[SMC_EID_LEN];
	u8 peer_host[SMC_EID_LEN];	/* blank padded */
	u32 links;		/* used members of link[] */
	struct smc_link_info link[SMC_GROUP_LINKS];
};

/*
 * A namespace's share in the SMC-D link group of the loopback device. Both sides of a connection
 * are ends in this group, each counted in its namespace.
 */
struct smc_smcd_lgr_info {
	u32 id;			/* as in smc_sock_info */
	u64 gid;		/* of both sides: they share a device */
	u64 gid_extension;
	u16 chid;
	u8 version;
	u8 peer_release;
	u8 peer_os;		/* 1 z/OS, 2 Linux, 3 AIX */
	u32 conns;		/* ends: two for a connection inside the namespace */
	u64 dmb_bytes;		/* that they receive in */
	u8 peer_host[SMC_EID_LEN];	/* blank padded */
};

struct smc_dev_port_info {
	bool valid;
	bool active;
	u32 ifindex;		/* 0: no network device */
	u32 links;
	bool pnet_by_user;
	u8 pnetid[SMC_PNETID_LEN];
};

/* An RDMA device that SMC-R may use. */
struct smc_dev_info {
	char name[SMC_IB_NAME_LEN];
	char parent[SMC_IB_NAME_LEN];	/* empty: none */
	bool critical;		/* a group would end with it */
	bool is_pci;		/* the rest of this block is valid */
	u16 pci_vendor;
	u16 pci_device;
	u32 pci_fid;		/* s390 only, else 0 */
	u16 pci_chid;
	struct smc_dev_port_info port[SMC_DEV_PORTS];
};

/* A ring cursor: wraps so far (low 16 bit) and offset in bytes. */
struct smc_cursor_info {
	u16 wrap;
	u32 count;
};

enum {
	SMC_MODE_SMCR,		/* also: not connected */
	SMC_MODE_TCP,
	SMC_MODE_SMCD,
};

/* A socket. @sk comes with a reference, which kernel/diag.c gives back. */
struct smc_sock_info {
	struct sock *sk;	/* the TCP sock */
	u8 state;		/* enum smc_sock_state of SMC (ACTIVE 1 .. PROCESSABORT 27) */
	u8 mode;		/* SMC_MODE_* */
	u32 fallback_reason;
	u32 peer_diagnosis;
	bool has_conn;		/* the block below is valid */
	u32 token;
	u32 sndbuf_bytes;
	u32 rmbe_bytes;
	u32 peer_rmbe_bytes;
	struct smc_cursor_info rx_prod;
	struct smc_cursor_info rx_cons;
	struct smc_cursor_info tx_prod;
	struct smc_cursor_info tx_cons;
	struct smc_cursor_info tx_prep;
	struct smc_cursor_info tx_sent;
	struct smc_cursor_info tx_fin;
	u64 sent_bytes;		/* of the stream: written into the peer's memory */
	u64 received_bytes;	/* announced by the peer */
	u64 sent_messages;	/* CDC */
	u64 stale_messages;	/* that came behind newer ones */
	u32 sends_without_room;	/* a send found the send buffer full */
	u32 sends_without_window; /* of these: the peer's buffer was full as well */
	u32 sends_behind_cork;	/* a send left bytes to wait for more */
	u32 messages_without_room; /* a message found the link's send queue full */
	u64 repeated_bytes;	/* written once more, after a link was lost */
	u8 rx_prod_flags;	/* flag bytes as in the CDC message */
	u8 rx_conn_flags;
	u8 tx_prod_flags;
	u8 tx_conn_flags;
	bool has_link;		/* the block below is valid (SMC-R) */
	bool is_server;
	struct smc_link_info link;
	bool has_dmb;		/* the block below is valid (SMC-D) */
	struct {
		u32 link_id;
		u64 gid;	/* of both: they share a device */
		u64 gid_extension;
		u64 token;
		u64 peer_token;
	} dmb;
};

SMC_ABI_END

#endif
