/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of one network namespace.
 *
 * They live in per-CPU arrays of u64, one array a namespace, and are only
 * summed up when somebody reads them: through SMC_GEN_NETLINK (GET_STATS,
 * GET_FBACK_STATS) and, all of them by name, through /proc/net/smc_stat.
 *
 * To add an event: an enumerator here, its name in kernel/stats_proc.c.
 */
#ifndef SMC_KERNEL_ABI_STATS_H
#define SMC_KERNEL_ABI_STATS_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

enum smc_tech {
	SMC_TECH_R,
	SMC_TECH_D,
	SMC_TECHS,
};

/* Size classes: up to 8 KiB, 16 KiB, ... 1024 KiB, and all that is larger. */
#define SMC_STAT_SIZES 9

/* Counters about the buffers of one direction. */
enum smc_buf_stat {
	SMC_BUF_SIZE_SMALL_PEER,	/* one send had more than the peer's whole buffer */
	SMC_BUF_SIZE_SMALL,		/* than the own; a receive asked for less than was there */
	SMC_BUF_FULL_PEER,		/* a send found no room, and the peer's window closed */
	SMC_BUF_FULL,			/* a send found no room; a receive, no room for more */
	SMC_BUF_REUSE,			/* taken from the pool */
	SMC_BUF_ALLOC,			/* newly allocated */
	SMC_BUF_DOWNGRADE,		/* smaller than asked for */
	SMC_BUF_STATS,
};

/* Offsets inside the block of one technology; runs give their first member. */
enum smc_tech_stat {
	SMC_TS_TX_BUF_SIZE = 0,		/* run of SMC_STAT_SIZES, a gauge */
	SMC_TS_RX_BUF_SIZE = SMC_TS_TX_BUF_SIZE + SMC_STAT_SIZES,
	SMC_TS_TX_PAYLOAD = SMC_TS_RX_BUF_SIZE + SMC_STAT_SIZES,
	SMC_TS_RX_PAYLOAD = SMC_TS_TX_PAYLOAD + SMC_STAT_SIZES,
	SMC_TS_TX_BUF = SMC_TS_RX_PAYLOAD + SMC_STAT_SIZES,	/* run of SMC_BUF_STATS */
	SMC_TS_RX_BUF = SMC_TS_TX_BUF + (int)SMC_BUF_STATS,
	SMC_TS_CLNT_V1 = SMC_TS_RX_BUF + (int)SMC_BUF_STATS,	/* connections set up */
	SMC_TS_CLNT_V2,
	SMC_TS_SRV_V1,
	SMC_TS_SRV_V2,
	SMC_TS_SPLICE,			/* calls of splice() out of a socket */
	SMC_TS_CORK,			/* TCP_CORK was taken away */
	SMC_TS_NODELAY,			/* TCP_NODELAY was set */
	SMC_TS_URGENT,			/* calls with MSG_OOB */
	SMC_TS_RX_BYTES,
	SMC_TS_TX_BYTES,
	SMC_TS_RX_CALLS,
	SMC_TS_TX_CALLS,
	SMC_TS_RX_BUF_USAGE,		/* bytes of receive buffers in use, a gauge */
	SMC_TS_TX_BUF_USAGE,
	SMC_TECH_STATS,
};

/* Distinct fallback reasons kept apart per role; later ones share "other". */
#define SMC_FALLBACK_REASONS 64

/* Index of a technology's counter, for smc_stat_add(). */
#define SMC_STAT_OF(tech, stat) ((u32)(tech) * SMC_TECH_STATS + (u32)(stat))

enum smc_stat {
	SMC_STAT_CLNT_HS_ERR = (int)SMC_TECHS * (int)SMC_TECH_STATS,
	SMC_STAT_SRV_HS_ERR,
	SMC_STAT_FALLBACK_CLNT,
	SMC_STAT_FALLBACK_SRV,

	/*
	 * The peer's violations. The first counter has all of them, those below it one kind each.
	 */
	SMC_STAT_VIOLATION,
	SMC_STAT_CLC_MALFORMED,
	SMC_STAT_CLC_UNEXPECTED,
	SMC_STAT_LLC_MALFORMED,
	SMC_STAT_LLC_UNEXPECTED,
	SMC_STAT_LLC_OVERFLOW,
	SMC_STAT_CDC_MALFORMED,
	SMC_STAT_CDC_BAD_TOKEN,
	SMC_STAT_CDC_WRONG_LINK,
	SMC_STAT_IWARP_REFUSED,	/* connections that showed no link's key */
	SMC_STAT_CDC_BAD_CURSOR,
	SMC_STAT_CDC_BAD_SEQUENCE,
	SMC_STAT_RMBE_BAD_INDEX,

	/* Handshakes whose CLC messages were handed over in memory. */
	SMC_STAT_CLC_NEAR,
	/* TCP sockets that were made SMC sockets: net.smc.tcp2smc. */
	SMC_STAT_SELECTED,
	/* Connections made a second time, by TCP alone: the peer could not do what it had shown. */
	SMC_STAT_CONNECTED_AGAIN,
	/* Connections without the option, since the peer is known for a stranger to SMC. */
	SMC_STAT_KNOWN_STRANGER,
	/* Connections without the option, since no device leads to the peer. */
	SMC_STAT_KNOWN_ELSEWHERE,
	/* Connections without the option, since a rule forbids it. */
	SMC_STAT_RULED_OUT,

	/* Silence. */
	SMC_STAT_CLC_TIMEOUT,
	SMC_STAT_LLC_TIMEOUT,
	SMC_STAT_TCP_DIED,
	/* Ends of file that were withheld for data of the peer's, till a time limit. */
	SMC_STAT_END_TIMEOUT,

	/* Resources. */
	SMC_STAT_NO_MEMORY,
	SMC_STAT_SQ_FULL,
	SMC_STAT_HS_LIMITED,
	SMC_STAT_ORPHAN_LIMITED,
	SMC_STAT_FORMING_LIMITED,
	SMC_STAT_GROUP_LIMITED,
	SMC_STAT_RING_LIMITED,

	/* Traffic. */
	SMC_STAT_CDC_TX,
	SMC_STAT_CDC_RX,
	SMC_STAT_COMPACT_TX,	/* in the compact form, which are not among CDC_TX */
	SMC_STAT_COMPACT_RX,
	SMC_STAT_LLC_TX,
	SMC_STAT_LLC_RX,
	SMC_STAT_RDMA_WRITES,
	SMC_STAT_RDMA_WRITE_BYTES,
	SMC_STAT_CURSOR_UPDATES,
	SMC_STAT_END_ANSWERED,	/* ends of file that the peer's answers made certain */
	SMC_STAT_RING_GROWN,

	/* Objects: made minus freed is 0 once everything is closed. */
	SMC_STAT_CONN_NEW,
	SMC_STAT_CONN_FREE,
	SMC_STAT_CONN_ABORT,
	SMC_STAT_CONN_MOVED,	/* to another link */
	SMC_STAT_GROUP_NEW,
	SMC_STAT_GROUP_FREE,
	SMC_STAT_GROUP_TERMINATED,
	SMC_STAT_LINK_UP,
	SMC_STAT_LINK_DOWN,
	SMC_STAT_QP_NEW,
	SMC_STAT_QP_FREE,
	SMC_STAT_MR_NEW,
	SMC_STAT_MR_FREE,
	SMC_STAT_BUF_NEW,
	SMC_STAT_BUF_FREE,

	/* Runs: the client's fallback reasons and "other", the server's. */
	SMC_STAT_REASON_CLNT,
	SMC_STAT_REASON_SRV = SMC_STAT_REASON_CLNT + SMC_FALLBACK_REASONS + 1,
	SMC_STATS = SMC_STAT_REASON_SRV + SMC_FALLBACK_REASONS + 1,
};

/*
 * Adds @n (below zero for a gauge) to counter @index, an enum smc_stat or
 * SMC_STAT_OF(). @net must be alive (something holds it, or it is the
 * namespace of a socket at hand). Any context. Costs one per-CPU addition.
 */
void smc_stat_add(struct net *net, u32 index, s64 n);
/*
 * For frequent counting in one namespace: its counters, valid as long as @net is alive. smc_count()
 * is smc_stat_add(); smc_count_call() adds 1 to @calls and @payload and @n to @bytes, all three
 * constants of its caller, which the tests' doubles check. Any context.
 */
struct smc_counters;
struct smc_counters *smc_counters(struct net *net);
void smc_count(struct smc_counters *counters, u32 index, s64 n);
void smc_count_call(struct smc_counters *counters, u32 calls, u32 payload, u32 bytes, s64 n);

static inline void smc_stat_inc(struct net *net, u32 index)
{
	smc_stat_add(net, index, 1);
}

/* Size class of @len bytes, 0 .. SMC_STAT_SIZES - 1. */
static inline u32 smc_stat_size_class(u64 len)
{
	u32 size_class = 0;

	while (size_class < SMC_STAT_SIZES - 1 && len > (8192ULL << size_class))
		size_class++;
	return size_class;
}

/* One send call asked for @len bytes, @done of them (below zero: errno) went. */
static inline void smc_stat_tx(struct smc_counters *counters, u32 tech, u64 len, s64 done)
{
	if (done <= 0 || !len)
		smc_count(counters, SMC_STAT_OF(tech, SMC_TS_TX_CALLS), 1);
	else
		smc_count_call(counters, SMC_STAT_OF(tech, SMC_TS_TX_CALLS),
			       SMC_STAT_OF(tech, SMC_TS_TX_PAYLOAD) + smc_stat_size_class(len),
			       SMC_STAT_OF(tech, SMC_TS_TX_BYTES), done);
}

/* One receive call asked for @len bytes and got @done. */
static inline void smc_stat_rx(struct smc_counters *counters, u32 tech, u64 len, s64 done)
{
	if (done <= 0 || !len)
		smc_count(counters, SMC_STAT_OF(tech, SMC_TS_RX_CALLS), 1);
	else
		smc_count_call(counters, SMC_STAT_OF(tech, SMC_TS_RX_CALLS),
			       SMC_STAT_OF(tech, SMC_TS_RX_PAYLOAD) + smc_stat_size_class(len),
			       SMC_STAT_OF(tech, SMC_TS_RX_BYTES), done);
}

/* A connection took (@sign 1) or gave back (@sign -1) a buffer of @len bytes. */
static inline void smc_stat_tx_buf(struct smc_counters *counters, u32 tech, u64 len, int sign)
{
	smc_count(counters, SMC_STAT_OF(tech, SMC_TS_TX_BUF_SIZE) + smc_stat_size_class(len), sign);
	smc_count(counters, SMC_STAT_OF(tech, SMC_TS_TX_BUF_USAGE), (s64)len * sign);
}

static inline void smc_stat_rx_buf(struct smc_counters *counters, u32 tech, u64 len, int sign)
{
	smc_count(counters, SMC_STAT_OF(tech, SMC_TS_RX_BUF_SIZE) + smc_stat_size_class(len), sign);
	smc_count(counters, SMC_STAT_OF(tech, SMC_TS_RX_BUF_USAGE), (s64)len * sign);
}

SMC_ABI_END

#endif
