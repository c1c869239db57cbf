/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control plane: PNET table, EIDs, and walks over the groups, links, devices and
 * sockets that user space asks for. Defined in shell/control/, which has state and locks.
 * Unless it says otherwise a function may be called in any context, never sleeps and takes
 * only a lock of class SMC_LOCK_CONTROL.
 *
 * Walks (smc_ctl_*_next) take a cursor that starts at 0 and is advanced past
 * the object returned. They return 1 with an object, 0 at the end, or a
 * negative errno. No lock is held between two steps, objects may come and go
 * meanwhile; one that stays is returned exactly once. All of them see only
 * what belongs to @net.
 */
#ifndef SMC_KERNEL_ABI_CALLBACKS_CONTROL_H
#define SMC_KERNEL_ABI_CALLBACKS_CONTROL_H

#include "kernel/abi/control.h"

SMC_ABI_BEGIN

/*
 * The data of one namespace. create() may sleep and returns NULL without memory; destroy() first
 * has the directory's owner end its objects in @net. Where several namespaces go together, leave()
 * comes first for each of them, so that slow endings run at the same time.
 */
void *smc_control_net_create(struct net *net);
void smc_control_net_leave(struct net *net);
void smc_control_net_destroy(struct net *net, void *control);

/* ---- PNET table, for kernel/netlink_pnet.c ---- */

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

/* ---- EID table, for kernel/netlink.c ---- */

/* EINVAL: not a valid EID. ERANGE: all SMC_UEIDS used. EEXIST. */
int smc_ctl_ueid_add(struct net *net, const u8 eid[SMC_EID_LEN]);
/* ENOENT. */
int smc_ctl_ueid_del(struct net *net, const u8 eid[SMC_EID_LEN]);
void smc_ctl_ueid_flush(struct net *net);
int smc_ctl_ueid_next(struct net *net, u64 *cursor, u8 out[SMC_EID_LEN]);
/* False unless connections of @net have the default EID, which is in no table. */
bool smc_ctl_default_eid(struct net *net, u8 out[SMC_EID_LEN]);

/* ---- peers that are remembered, for kernel/netlink_peers.c ---- */

/* Only those that net.smc.plain_peer_time does not let be forgotten. */
int smc_ctl_peer_next(struct net *net, u64 *cursor, struct smc_peer_info *out);
void smc_ctl_peers_flush(struct net *net);

/* A setting of @net has changed by which its connections may reach more peers. Any context. */
void smc_ctl_reach_changed(struct net *net);

/* ---- rules about peers, for kernel/netlink_peers.c and kernel/tcp_listener.c ---- */

/*
 * EINVAL: no direction, ports the wrong way round, or bits behind the prefix. EEXIST. ENOSPC: there
 * is no room for more. ENOMEM. May sleep.
 */
int smc_ctl_rule_add(struct net *net, const struct smc_peer_rule *rule);
/* ENOENT. */
int smc_ctl_rule_del(struct net *net, const struct smc_peer_rule *rule);
void smc_ctl_rules_flush(struct net *net);
int smc_ctl_rule_next(struct net *net, u64 *cursor, struct smc_peer_rule *out);
/* Of a client with @address, which connects to @port here. Counts a refusal. */
bool smc_ctl_client_allowed(struct net *net, const u8 address[16], u16 port);

/* ---- fallback reasons (counts: kernel/abi/stats.h) ---- */

/*
 * The code in slot @slot of a role's list, 0 .. SMC_FALLBACK_REASONS - 1;
 * false if the slot is free, and so are all behind it.
 */
bool smc_ctl_fallback_reason(struct net *net, bool server, u32 slot, u32 *reason);

/* ---- snapshots: these four in process context ---- */

int smc_ctl_lgr_next(struct net *net, u64 *cursor, struct smc_lgr_info *out);
/* At most one group, and only while @net has an end in it. */
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
