/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of the generic netlink families SMC_PNETID, SMC_GEN_NETLINK and SMC_PEERS, for the module
 * and for user space. Those of the first two are Linux's <linux/smc.h>; a header of our own because
 * that of older kernels lacks newer attributes. The third one is this module's alone.
 *
 * "uint" is 4 or 8 bytes, whichever the value needs.
 */
#ifndef SMC_GENL_H
#define SMC_GENL_H

/* ---- Family SMC_PNETID: the PNET table ---- */

#define SMC_NL_PNET_FAMILY "SMC_PNETID"
#define SMC_NL_PNET_VERSION 1

enum {
	SMC_NL_PNET_GET = 1,
	SMC_NL_PNET_ADD,
	SMC_NL_PNET_DEL,
	SMC_NL_PNET_FLUSH,
};

enum {
	SMC_NL_PNET_A_NAME = 1,		/* string */
	SMC_NL_PNET_A_ETH,		/* string, "n/a" in an entry without */
	SMC_NL_PNET_A_IB,		/* string, same */
	SMC_NL_PNET_A_IB_PORT,		/* u8, 0xff same */
	SMC_NL_PNET_A_END,
};

/* ---- Family SMC_GEN_NETLINK: all the rest ---- */

#define SMC_NL_GEN_FAMILY "SMC_GEN_NETLINK"
#define SMC_NL_GEN_VERSION 1

enum {
	SMC_NL_GET_SYS_INFO = 1,
	SMC_NL_GET_LGR_SMCR,
	SMC_NL_GET_LINK_SMCR,
	SMC_NL_GET_LGR_SMCD,
	SMC_NL_GET_DEV_SMCD,
	SMC_NL_GET_DEV_SMCR,
	SMC_NL_GET_STATS,
	SMC_NL_GET_FBACK_STATS,
	SMC_NL_DUMP_UEID,
	SMC_NL_ADD_UEID,
	SMC_NL_REMOVE_UEID,
	SMC_NL_FLUSH_UEID,
	SMC_NL_DUMP_SEID,
	SMC_NL_ENABLE_SEID,
	SMC_NL_DISABLE_SEID,
	SMC_NL_DUMP_HS_LIMIT,
	SMC_NL_ENABLE_HS_LIMIT,
	SMC_NL_DISABLE_HS_LIMIT,
	SMC_NL_CMD_END,
};

/* Top level: one nest a message (EID, SEID and limit messages have none). */
enum {
	SMC_NL_A_SYS_INFO = 1,
	SMC_NL_A_LGR_SMCR,
	SMC_NL_A_LINK_SMCR,
	SMC_NL_A_LGR_SMCD,
	SMC_NL_A_DEV_SMCD,
	SMC_NL_A_DEV_SMCR,
	SMC_NL_A_STATS,
	SMC_NL_A_FBACK_STATS,
	SMC_NL_A_END,
};

/* In SYS_INFO. */
enum {
	SMC_NL_SYS_VER = 1,		/* u8 */
	SMC_NL_SYS_REL,			/* u8 */
	SMC_NL_SYS_IS_ISM_V2,		/* u8 */
	SMC_NL_SYS_LOCAL_HOST,		/* string */
	SMC_NL_SYS_SEID,		/* string */
	SMC_NL_SYS_IS_SMCR_V2,		/* u8 */
	SMC_NL_SYS_END,
	/* Ours: string, the EID of a namespace for which none is set; not there if one is. */
	SMC_NL_SYS_DEFAULT_EID = 0x1000,
};

/* In LGR_SMCR. */
enum {
	SMC_NL_LGR_ID = 1,		/* u32, wire bytes */
	SMC_NL_LGR_ROLE,		/* u8: 0 client, 1 server */
	SMC_NL_LGR_TYPE,		/* u8: none, single, symmetric, asymmetric peer/local */
	SMC_NL_LGR_PNETID,		/* string */
	SMC_NL_LGR_VLAN_ID,		/* u8, truncated */
	SMC_NL_LGR_CONNS,		/* u32 */
	SMC_NL_LGR_V2_COMMON,		/* nest */
	SMC_NL_LGR_V2,			/* nest */
	SMC_NL_LGR_NET_COOKIE,		/* u64 */
	SMC_NL_LGR_PAD,
	SMC_NL_LGR_BUF_TYPE,		/* u8: physical, virtual, mixed */
	SMC_NL_LGR_SNDBUF_ALLOC,	/* uint, bytes */
	SMC_NL_LGR_RMB_ALLOC,		/* uint, bytes */
	SMC_NL_LGR_END,
};

/* In LGR_SMCD. */
enum {
	SMC_NL_LGR_D_ID = 1,		/* u32 */
	SMC_NL_LGR_D_GID,		/* u64 */
	SMC_NL_LGR_D_PEER_GID,		/* u64 */
	SMC_NL_LGR_D_VLAN_ID,		/* u8, truncated */
	SMC_NL_LGR_D_CONNS,		/* u32 */
	SMC_NL_LGR_D_PNETID,		/* string */
	SMC_NL_LGR_D_CHID,		/* u32, of which 16 bits are used */
	SMC_NL_LGR_D_PAD,
	SMC_NL_LGR_D_V2_COMMON,		/* nest */
	SMC_NL_LGR_D_EXT_GID,		/* u64, the second half of the GID */
	SMC_NL_LGR_D_PEER_EXT_GID,	/* u64 */
	SMC_NL_LGR_D_SNDBUF_ALLOC,	/* uint, bytes */
	SMC_NL_LGR_D_DMB_ALLOC,		/* uint, bytes */
	SMC_NL_LGR_D_END,
};

/* In LGR_V2_COMMON; the numbers do start at 0. */
enum {
	SMC_NL_LGR_V2_VER,		/* u8 */
	SMC_NL_LGR_V2_REL,		/* u8, the peer's release */
	SMC_NL_LGR_V2_OS,		/* u8, the peer's: 1 z/OS, 2 Linux, 3 AIX */
	SMC_NL_LGR_V2_NEG_EID,		/* string */
	SMC_NL_LGR_V2_PEER_HOST,	/* string */
	SMC_NL_LGR_V2_END,
};

/* In LGR_V2. */
enum {
	SMC_NL_LGR_R_V2_DIRECT = 1,	/* u8 */
	SMC_NL_LGR_R_V2_MAX_CONNS,	/* u8 */
	SMC_NL_LGR_R_V2_MAX_LINKS,	/* u8 */
	SMC_NL_LGR_R_V2_END,
};

/* In LINK_SMCR. */
enum {
	SMC_NL_LINK_ID = 1,		/* u8 */
	SMC_NL_LINK_IB_DEV,		/* string */
	SMC_NL_LINK_IB_PORT,		/* u8 */
	SMC_NL_LINK_GID,		/* string */
	SMC_NL_LINK_PEER_GID,		/* string */
	SMC_NL_LINK_CONNS,		/* u32 */
	SMC_NL_LINK_NET_DEV,		/* u32 */
	SMC_NL_LINK_UID,		/* u32, wire bytes */
	SMC_NL_LINK_PEER_UID,		/* u32, wire bytes */
	SMC_NL_LINK_STATE,		/* u32: unused, inactive, activating, active */
	SMC_NL_LINK_END,
};

/* In DEV_SMCR and DEV_SMCD. */
enum {
	SMC_NL_DEV_USE_CNT = 1,		/* u32 */
	SMC_NL_DEV_IS_CRIT,		/* u8 */
	SMC_NL_DEV_PCI_FID,		/* u32 */
	SMC_NL_DEV_PCI_CHID,		/* u16 */
	SMC_NL_DEV_PCI_VENDOR,		/* u16 */
	SMC_NL_DEV_PCI_DEVICE,		/* u16 */
	SMC_NL_DEV_PCI_ID,		/* string */
	SMC_NL_DEV_PORT,		/* nest, port 1 */
	SMC_NL_DEV_PORT2,		/* nest, port 2 */
	SMC_NL_DEV_IB_NAME,		/* string */
	SMC_NL_DEV_END,
};

/* In DEV_PORT and DEV_PORT2. */
enum {
	SMC_NL_PORT_PNET_USR = 1,	/* u8 */
	SMC_NL_PORT_PNETID,		/* string */
	SMC_NL_PORT_NETDEV,		/* u32 */
	SMC_NL_PORT_STATE,		/* u8: 1 active */
	SMC_NL_PORT_VALID,		/* u8 */
	SMC_NL_PORT_LINKS,		/* u32 */
	SMC_NL_PORT_END,
};

/* In STATS. */
enum {
	SMC_NL_STATS_PAD,
	SMC_NL_STATS_SMCD,		/* nest */
	SMC_NL_STATS_SMCR,		/* nest */
	SMC_NL_STATS_CLNT_HS_ERR,	/* u64 */
	SMC_NL_STATS_SRV_HS_ERR,	/* u64 */
	SMC_NL_STATS_END,
};

/* In STATS_SMCD and STATS_SMCR. */
enum {
	SMC_NL_TECH_PAD,
	SMC_NL_TECH_TX_BUF_SIZE,	/* nest of sizes */
	SMC_NL_TECH_RX_BUF_SIZE,	/* nest of sizes */
	SMC_NL_TECH_TX_PAYLOAD,		/* nest of sizes */
	SMC_NL_TECH_RX_PAYLOAD,		/* nest of sizes */
	SMC_NL_TECH_TX_BUF,		/* nest about buffers */
	SMC_NL_TECH_RX_BUF,		/* nest about buffers */
	SMC_NL_TECH_CLNT_V1,		/* from here on u64 */
	SMC_NL_TECH_CLNT_V2,
	SMC_NL_TECH_SRV_V1,
	SMC_NL_TECH_SRV_V2,
	SMC_NL_TECH_SENDPAGE,
	SMC_NL_TECH_SPLICE,
	SMC_NL_TECH_CORK,
	SMC_NL_TECH_NODELAY,
	SMC_NL_TECH_URGENT,
	SMC_NL_TECH_RX_BYTES,
	SMC_NL_TECH_TX_BYTES,
	SMC_NL_TECH_RX_CALLS,
	SMC_NL_TECH_TX_CALLS,
	SMC_NL_TECH_RX_BUF_USAGE,	/* uint */
	SMC_NL_TECH_TX_BUF_USAGE,	/* uint */
	SMC_NL_TECH_END,
};

/* A nest of sizes: u64 for up to 8 KiB, 16 KiB, ... 1024 KiB, and above. */
enum {
	SMC_NL_SIZE_PAD,
	SMC_NL_SIZE_FIRST,
	SMC_NL_SIZE_LAST = 9,
};

/* A nest about the buffers of one direction: u64 each. */
enum {
	SMC_NL_BUF_PAD,
	SMC_NL_BUF_SIZE_SMALL_PEER,
	SMC_NL_BUF_SIZE_SMALL,
	SMC_NL_BUF_FULL_PEER,
	SMC_NL_BUF_FULL,
	SMC_NL_BUF_REUSE,
	SMC_NL_BUF_ALLOC,
	SMC_NL_BUF_DOWNGRADE,
	SMC_NL_BUF_END,
};

/* In FBACK_STATS. */
enum {
	SMC_NL_FBACK_PAD,
	SMC_NL_FBACK_TYPE,		/* u8: 1 server, 0 client */
	SMC_NL_FBACK_SRV_CNT,		/* u64, in the first message only */
	SMC_NL_FBACK_CLNT_CNT,		/* u64, same */
	SMC_NL_FBACK_RSN_CODE,		/* u32 */
	SMC_NL_FBACK_RSN_CNT,		/* u16, stops at 65535 */
	SMC_NL_FBACK_END,
	/*
	 * Ours, far from numbers that others may use: the whole count, u64. Programs that do not
	 * know it skip it.
	 */
	SMC_NL_FBACK_RSN_CNT64 = 0x1000,
};

/* In messages about user EIDs. */
enum {
	SMC_NL_UEID_ENTRY = 1,		/* string of 32 characters, blank padded */
	SMC_NL_UEID_END,
};

/* In messages about the system EID. */
enum {
	SMC_NL_SEID_ENTRY = 1,		/* string */
	SMC_NL_SEID_ENABLED,		/* u8 */
	SMC_NL_SEID_END,
};

/* In messages about the handshake limitation. */
enum {
	SMC_NL_HS_LIMIT_ENABLED = 1,	/* u8 */
	SMC_NL_HS_LIMIT_END,
};

/* ---- Family SMC_PEERS: with whom this network namespace does SMC ---- */

#define SMC_NL_PEERS_FAMILY "SMC_PEERS"
#define SMC_NL_PEERS_VERSION 1

enum {
	SMC_NL_PEERS_GET = 1,		/* dump of what is remembered */
	SMC_NL_PEERS_FLUSH,
	SMC_NL_RULES_GET,		/* dump, in the order in which they apply */
	SMC_NL_RULE_ADD,
	SMC_NL_RULE_DEL,
	SMC_NL_RULES_FLUSH,
};

/* A peer has the first four; a rule has those from ADDRESS on, but for SCOPE_ID. */
enum {
	SMC_NL_PEER_A_PAD,
	SMC_NL_PEER_A_IS_SERVER,	/* u8: 1 it has answered by CLC, 0 it is a stranger */
	SMC_NL_PEER_A_REST_MS,		/* u64, until it is forgotten */
	SMC_NL_PEER_A_SCOPE_ID,		/* u32 */
	SMC_NL_PEER_A_ADDRESS,		/* 16 bytes, IPv4 as ::ffff:a.b.c.d */
	SMC_NL_PEER_A_PORT,		/* u16; of a rule the first one of a range */
	SMC_NL_PEER_A_PORT_LAST,	/* u16 */
	SMC_NL_PEER_A_PREFIX_BITS,	/* u8: 0..128 */
	SMC_NL_PEER_A_ALLOW,		/* u8: 1 allow, 0 deny */
	SMC_NL_PEER_A_DIRECTION,	/* u8: SMC_NL_OUT, SMC_NL_IN, or both */
	SMC_NL_PEER_A_END,
};

#define SMC_NL_OUT 1	/* connections that are made from here */
#define SMC_NL_IN 2	/* that come here */

#endif
