/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control plane: PNET table, EIDs, and the snapshots of groups, links,
 * devices and sockets that user space asks for.
 *
 * State and locks are in shell/control/ (C++); kernel/netlink.c and
 * kernel/diag.c translate it from and to attributes. Unless it says
 * otherwise a function is defined in C++, may be called in any context,
 * never sleeps and takes only a lock of class SMC_LOCK_CONTROL.
 *
 * Walks (smc_ctl_*_next) take a cursor that starts at 0 and is advanced past
 * the object returned. They return 1 with an object, 0 at the end, or a
 * negative errno. No lock is held between two steps, objects may come and go
 * meanwhile; one that stays is returned exactly once. All of them see only
 * what belongs to @net.
 */
#ifndef SMC_KERNEL_ABI_CONTROL_H
#define SMC_KERNEL_ABI_CONTROL_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

#define SMC_PNETID_LEN 16
#define SMC_EID_LEN 32
#define SMC_IB_NAME_LEN 64	/* with the final NUL */
#define SMC_UEIDS 4
#define SMC_DEV_PORTS 2
#define SMC_GROUP_LINKS 3

/*
 * One namespace's state. create() may sleep and returns NULL without memory;
 * destroy() first lets the directory's owner end what it has in @net. Where several
 * go together leave() comes before that, for each of them: what takes its time begins
 * in all of them, before any is waited for.
 */
void *smc_control_net_create(struct net *net);
void smc_control_net_leave(struct net *net);
void smc_control_net_destroy(struct net *net, void *control);

/* ---- device search, called by the shell ---- */

/*
 * PNET ID of a network device: the entry of the lowest device under it, then
 * of the device itself. Blank padded. False if there is none. Defined in C
 * (kernel/pnet.c); any context that may take RCU's read lock.
 *
 * Both a device without PNET ID and a port without PNET ID are "unset"; the
 * search then goes by the fabric alone (the port whose network device the
 * route uses). Unset never equals a set PNET ID.
 */
bool smc_pnet_of_netdev(struct net *net, u32 ifindex, u8 out[SMC_PNETID_LEN]);

/*
 * PNET ID of port @port (from 1) of the RDMA device @name; @parent is the
 * name of the device it sits on (a PCI address) or NULL. RDMA devices are
 * configured in the initial namespace alone.
 */
bool smc_pnet_of_ib(const char *name, const char *parent, u8 port, u8 out[SMC_PNETID_LEN]);

/* ---- EIDs, called by the shell ---- */

/*
 * User EIDs belong to a network namespace and start out empty in each; a
 * container neither sees nor uses the host's.
 */
u32 smc_eid_list(struct net *net, u8 out[SMC_UEIDS][SMC_EID_LEN]);

/* ---- PNET table, called by kernel/netlink.c ---- */

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

/*
 * 0 if at least one entry is new. EINVAL: bad PNET ID, name or port. EEXIST:
 * nothing new. ENOSPC: table full. ENOMEM. May sleep. All or nothing, but for
 * a part that exists already.
 */
int smc_ctl_pnet_add(struct net *net, const struct smc_pnet_request *request);
/* ENOENT if there was none. */
int smc_ctl_pnet_del(struct net *net, const char *pnetid);
void smc_ctl_pnet_flush(struct net *net);
/* @pnetid NULL: all. */
int smc_ctl_pnet_next(struct net *net, const char *pnetid, u64 *cursor,
		      struct smc_pnet_entry *out);
bool smc_ctl_pnet_of_eth(struct net *net, const char *name, u8 out[SMC_PNETID_LEN]);

/* ---- EID table, called by kernel/netlink.c ---- */

/* EINVAL: not a valid EID. ERANGE: all SMC_UEIDS used. EEXIST. */
int smc_ctl_ueid_add(struct net *net, const u8 eid[SMC_EID_LEN]);
/* ENOENT. */
int smc_ctl_ueid_del(struct net *net, const u8 eid[SMC_EID_LEN]);
void smc_ctl_ueid_flush(struct net *net);
int smc_ctl_ueid_next(struct net *net, u64 *cursor, u8 out[SMC_EID_LEN]);

/* ---- fallback reasons (counts: kernel/abi/stats.h) ---- */

/*
 * The code in slot @slot of a role's list, 0 .. SMC_FALLBACK_REASONS - 1;
 * false if the slot is free, and so are all behind it.
 */
bool smc_ctl_fallback_reason(struct net *net, bool server, u32 slot, u32 *reason);

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
 * What a namespace has in the SMC-D link group of the loopback device. Both
 * sides of a connection are ends in this group, each counted in its namespace.
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

/* These four in process context. */
int smc_ctl_lgr_next(struct net *net, u64 *cursor, struct smc_lgr_info *out);
/* One group at most, and only while @net has an end in it. */
int smc_ctl_smcd_lgr_next(struct net *net, u64 *cursor, struct smc_smcd_lgr_info *out);
/*
 * RDMA devices that @net may use, with the links that groups of @net have on
 * them. The cursor counts devices, so one that is unplugged meanwhile may hide
 * its neighbour from this walk.
 */
int smc_ctl_dev_next(struct net *net, u64 *cursor, struct smc_dev_info *out);
int smc_ctl_sock_next(struct net *net, u64 *cursor, struct smc_sock_info *out);

SMC_ABI_END

#endif
