/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a TCP connection runs, and whether its peer is in this kernel.
 */
#ifndef SMC_KERNEL_ABI_TCP_PATH_H
#define SMC_KERNEL_ABI_TCP_PATH_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Of each family; up to 8 IPv6 prefixes go into a Proposal. */
#define SMC_PATH_PREFIXES 8
struct smc_tcp_path {
	u32 ifindex;		/* the device the route leaves by; 0 if unknown */
	u16 vlan_id;		/* of that device or below it; 0 if there is none */
	bool ipv4;		/* IPv4, or IPv6 with v4-mapped addresses */
	u8 local[16];		/* v4 as ::ffff:a.b.c.d */
	u8 peer[16];
	bool ipsec;
	bool own;		/* the route leads into the namespace itself */
	/* Different prefixes of that device, masked (CLC Proposal, v1 part). */
	u8 prefix4_count;
	u8 prefix4_own;		/* the first so many have the local address in them */
	u8 prefix4[SMC_PATH_PREFIXES][4];
	u8 prefix4_len[SMC_PATH_PREFIXES];
	u8 prefix6_count;
	u8 prefix6[SMC_PATH_PREFIXES][16];
	u8 prefix6_len[SMC_PATH_PREFIXES];
};
/* False if there is no route (any more). Process context. */
bool smc_tcp_path(struct sock *sk, struct smc_tcp_path *path);

/* How the initial namespace would reach a peer. */
struct smc_host_path {
	u32 ifindex;
	u16 vlan_id;		/* as in smc_tcp_path */
	u8 ipv4[4];		/* its source address; 0.0.0.0 by IPv6 */
};
/* False if it would not reach @path's peer by a network device. Process context. */
bool smc_tcp_host_path(const struct smc_tcp_path *path, struct smc_host_path *host);

/*
 * Before connect(): true if @addr belongs to the sock's own namespace. That does not tell who
 * answers there. Any context.
 */
bool smc_tcp_addr_is_own(const struct sock *sk, const struct sockaddr *addr, int addr_len);

/*
 * Between the two the namespace counts as one with a listener of ours; calls are counted. Process
 * context.
 */
void smc_net_listens(struct net *net);
void smc_net_stops_listening(struct net *net);
/*
 * True if @addr (v4 as ::ffff:a.b.c.d) is that of a device of another namespace than @own: of the
 * initial one, or of one that listens. Both meet others. Of many namespaces only the first
 * ones are asked. Any context.
 */
bool smc_addr_is_near(const struct net *own, const u8 addr[16]);

SMC_ABI_END

#endif
