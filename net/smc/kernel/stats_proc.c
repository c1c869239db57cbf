// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/net/smc_stat: all counters of a network namespace as lines of "name value".
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/stats.h"
#include "kernel/pernet.h"
#include "kernel/ring_memory.h"

#define SMC_STATS_FILE "smc_stat"

static const char * const smc_tech_names[SMC_TECHS] = {
	[SMC_TECH_R] = "smcr",
	[SMC_TECH_D] = "smcd",
};

static const char * const smc_size_names[SMC_STAT_SIZES] = {
	"8k", "16k", "32k", "64k", "128k", "256k", "512k", "1024k", "larger",
};

static const char * const smc_buf_names[SMC_BUF_STATS] = {
	[SMC_BUF_SIZE_SMALL_PEER] = "size_small_peer",
	[SMC_BUF_SIZE_SMALL] = "size_small",
	[SMC_BUF_FULL_PEER] = "full_peer",
	[SMC_BUF_FULL] = "full",
	[SMC_BUF_REUSE] = "reuse",
	[SMC_BUF_ALLOC] = "alloc",
	[SMC_BUF_DOWNGRADE] = "downgrade",
};

/* Where a run of counters starts, its prefix, and the names in it. */
static const struct {
	u32 first;
	u32 num;
	const char *prefix;
	const char * const *names;
} smc_tech_runs[] = {
	{ SMC_TS_TX_BUF_SIZE, SMC_STAT_SIZES, "tx_buf_", smc_size_names },
	{ SMC_TS_RX_BUF_SIZE, SMC_STAT_SIZES, "rx_buf_", smc_size_names },
	{ SMC_TS_TX_PAYLOAD, SMC_STAT_SIZES, "tx_payload_", smc_size_names },
	{ SMC_TS_RX_PAYLOAD, SMC_STAT_SIZES, "rx_payload_", smc_size_names },
	{ SMC_TS_TX_BUF, SMC_BUF_STATS, "tx_buf_", smc_buf_names },
	{ SMC_TS_RX_BUF, SMC_BUF_STATS, "rx_buf_", smc_buf_names },
};

static const struct {
	u32 stat;
	const char *name;
} smc_tech_singles[] = {
	{ SMC_TS_CLNT_V1, "client_v1" },
	{ SMC_TS_CLNT_V2, "client_v2" },
	{ SMC_TS_SRV_V1, "server_v1" },
	{ SMC_TS_SRV_V2, "server_v2" },
	{ SMC_TS_SPLICE, "splice" },
	{ SMC_TS_CORK, "cork" },
	{ SMC_TS_NODELAY, "nodelay" },
	{ SMC_TS_URGENT, "urgent" },
	{ SMC_TS_RX_BYTES, "rx_bytes" },
	{ SMC_TS_TX_BYTES, "tx_bytes" },
	{ SMC_TS_RX_CALLS, "rx_calls" },
	{ SMC_TS_TX_CALLS, "tx_calls" },
	{ SMC_TS_RX_BUF_USAGE, "rx_buf_usage" },
	{ SMC_TS_TX_BUF_USAGE, "tx_buf_usage" },
};

static const struct {
	u32 index;
	const char *name;
} smc_events[] = {
	{ SMC_STAT_CLNT_HS_ERR, "client_handshake_error" },
	{ SMC_STAT_SRV_HS_ERR, "server_handshake_error" },
	{ SMC_STAT_FALLBACK_CLNT, "client_fallback" },
	{ SMC_STAT_FALLBACK_SRV, "server_fallback" },
	{ SMC_STAT_VIOLATION, "wire_violation" },
	{ SMC_STAT_CLC_MALFORMED, "clc_malformed" },
	{ SMC_STAT_CLC_UNEXPECTED, "clc_unexpected" },
	{ SMC_STAT_LLC_MALFORMED, "llc_malformed" },
	{ SMC_STAT_LLC_UNEXPECTED, "llc_unexpected" },
	{ SMC_STAT_LLC_OVERFLOW, "llc_overflow" },
	{ SMC_STAT_CDC_MALFORMED, "cdc_malformed" },
	{ SMC_STAT_CDC_BAD_TOKEN, "cdc_bad_token" },
	{ SMC_STAT_CDC_WRONG_LINK, "cdc_wrong_link" },
	{ SMC_STAT_IWARP_REFUSED, "iwarp_refused" },
	{ SMC_STAT_CDC_BAD_CURSOR, "cdc_bad_cursor" },
	{ SMC_STAT_CDC_BAD_SEQUENCE, "cdc_bad_sequence" },
	{ SMC_STAT_RMBE_BAD_INDEX, "rmbe_bad_index" },
	{ SMC_STAT_CLC_NEAR, "clc_near" },
	{ SMC_STAT_SELECTED, "selected" },
	{ SMC_STAT_CONNECTED_AGAIN, "connected_again" },
	{ SMC_STAT_KNOWN_STRANGER, "known_stranger" },
	{ SMC_STAT_KNOWN_ELSEWHERE, "known_elsewhere" },
	{ SMC_STAT_RULED_OUT, "ruled_out" },
	{ SMC_STAT_CLC_TIMEOUT, "clc_timeout" },
	{ SMC_STAT_LLC_TIMEOUT, "llc_timeout" },
	{ SMC_STAT_TCP_DIED, "tcp_died" },
	{ SMC_STAT_END_TIMEOUT, "end_timeout" },
	{ SMC_STAT_NO_MEMORY, "no_memory" },
	{ SMC_STAT_SQ_FULL, "sq_full" },
	{ SMC_STAT_HS_LIMITED, "handshake_limited" },
	{ SMC_STAT_ORPHAN_LIMITED, "orphan_limited" },
	{ SMC_STAT_FORMING_LIMITED, "forming_limited" },
	{ SMC_STAT_GROUP_LIMITED, "group_limited" },
	{ SMC_STAT_RING_LIMITED, "ring_limited" },
	{ SMC_STAT_CDC_TX, "cdc_tx" },
	{ SMC_STAT_CDC_RX, "cdc_rx" },
	{ SMC_STAT_COMPACT_TX, "compact_tx" },
	{ SMC_STAT_COMPACT_RX, "compact_rx" },
	{ SMC_STAT_LLC_TX, "llc_tx" },
	{ SMC_STAT_LLC_RX, "llc_rx" },
	{ SMC_STAT_RDMA_WRITES, "rdma_writes" },
	{ SMC_STAT_RDMA_WRITE_BYTES, "rdma_write_bytes" },
	{ SMC_STAT_CURSOR_UPDATES, "cursor_updates" },
	{ SMC_STAT_END_ANSWERED, "end_answered" },
	{ SMC_STAT_RING_GROWN, "ring_grown" },
	{ SMC_STAT_CONN_NEW, "conn_new" },
	{ SMC_STAT_CONN_FREE, "conn_free" },
	{ SMC_STAT_CONN_ABORT, "conn_abort" },
	{ SMC_STAT_CONN_MOVED, "conn_moved" },
	{ SMC_STAT_GROUP_NEW, "group_new" },
	{ SMC_STAT_GROUP_FREE, "group_free" },
	{ SMC_STAT_GROUP_TERMINATED, "group_terminated" },
	{ SMC_STAT_LINK_UP, "link_up" },
	{ SMC_STAT_LINK_DOWN, "link_down" },
	{ SMC_STAT_QP_NEW, "qp_new" },
	{ SMC_STAT_QP_FREE, "qp_free" },
	{ SMC_STAT_MR_NEW, "mr_new" },
	{ SMC_STAT_MR_FREE, "mr_free" },
	{ SMC_STAT_BUF_NEW, "buf_new" },
	{ SMC_STAT_BUF_FREE, "buf_free" },
};

static void smc_stats_show_tech(struct seq_file *seq, struct net *net, u32 tech)
{
	const char *name = smc_tech_names[tech];
	u32 first, i, k;

	for (i = 0; i < ARRAY_SIZE(smc_tech_singles); i++)
		seq_printf(seq, "%s_%s %llu\n", name, smc_tech_singles[i].name,
			   smc_stat_read(net, SMC_STAT_OF(tech, smc_tech_singles[i].stat)));

	for (i = 0; i < ARRAY_SIZE(smc_tech_runs); i++) {
		first = SMC_STAT_OF(tech, smc_tech_runs[i].first);
		for (k = 0; k < smc_tech_runs[i].num; k++)
			seq_printf(seq, "%s_%s%s %llu\n", name,
				   smc_tech_runs[i].prefix, smc_tech_runs[i].names[k],
				   smc_stat_read(net, first + k));
	}
}

static void smc_stats_show_reasons(struct seq_file *seq, struct net *net, bool server)
{
	const char *role = server ? "server" : "client";
	u32 first = server ? SMC_STAT_REASON_SRV : SMC_STAT_REASON_CLNT;
	u32 reason, slot;

	for (slot = 0; smc_ctl_fallback_reason(net, server, slot, &reason); slot++)
		seq_printf(seq, "%s_fallback_0x%08x %llu\n", role, reason,
			   smc_stat_read(net, first + slot));
	seq_printf(seq, "%s_fallback_other %llu\n", role,
		   smc_stat_read(net, first + SMC_FALLBACK_REASONS));
}

static int smc_stats_show(struct seq_file *seq, void *v)
{
	struct net *net = seq_file_single_net(seq);
	u32 i;

	/* An event without a name would not show. */
	BUILD_BUG_ON(ARRAY_SIZE(smc_events) != SMC_STAT_REASON_CLNT - SMC_STAT_CLNT_HS_ERR);

	for (i = 0; i < ARRAY_SIZE(smc_events); i++)
		seq_printf(seq, "%s %llu\n", smc_events[i].name,
			   smc_stat_read(net, smc_events[i].index));
	/* As sockstat does, of the whole host: so is the limit. */
	seq_printf(seq, "ring_bytes %llu\n", smc_ring_bytes());
	smc_stats_show_reasons(seq, net, false);
	smc_stats_show_reasons(seq, net, true);
	for (i = 0; i < SMC_TECHS; i++)
		smc_stats_show_tech(seq, net, i);
	return 0;
}

int smc_stats_proc_init(struct net *net)
{
	if (IS_ENABLED(CONFIG_PROC_FS) &&
	    !proc_create_net_single(SMC_STATS_FILE, 0444, net->proc_net, smc_stats_show, NULL))
		return -ENOMEM;
	return 0;
}

void smc_stats_proc_exit(struct net *net)
{
	remove_proc_entry(SMC_STATS_FILE, net->proc_net);
}
