// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is ours in the copies of TCP's tables (tcp_af.h).
 */
#include "kernel/tcp_af.h"
#include "kernel/tcp_option.h"

void smc_tables_fill(enum smc_af_kind kind, struct inet_connection_sock_af_ops *ops)
{
	if (kind < SMC_AF_LISTENING) {
		smc_option_fill_offering(ops);
		return;
	}
	ops->conn_request = smc_option_take_syn;
	ops->syn_recv_sock = smc_listener_make_child;
}
