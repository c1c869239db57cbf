/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC statistics of this network namespace, read over generic netlink
 * (SMC_GEN_NETLINK: GET_STATS and GET_FBACK_STATS).
 */
#ifndef SELFTEST_SMC_STAT_H
#define SELFTEST_SMC_STAT_H

#include <stdbool.h>
#include <stdint.h>

#define SMC_STAT_REASONS_MAX 128

/* One transport: SMC-R or SMC-D. All values count up from the namespace's start. */
struct smc_stat_tech {
	uint64_t client_handshakes; /* finished as SMC, versions 1 and 2 together */
	uint64_t server_handshakes;
	uint64_t rx_bytes;
	uint64_t tx_bytes;
	uint64_t rx_calls;
	uint64_t tx_calls;
};

struct smc_stat_reason {
	uint32_t code; /* CLC diagnosis code, 0x03010000 = peer does not speak SMC, … */
	bool server;
	uint64_t count;
};

struct smc_stat {
	struct smc_stat_tech smcr;
	struct smc_stat_tech smcd;
	uint64_t client_handshake_errors;
	uint64_t server_handshake_errors;
	uint64_t client_fallbacks;
	uint64_t server_fallbacks;
	unsigned int reason_count;
	struct smc_stat_reason reasons[SMC_STAT_REASONS_MAX];
};

/* 0, -ENOENT where no smc module is loaded, or another negative errno. */
int smc_stat_read(struct smc_stat *stat);

/* How often the reason was counted; 0 if it never was. */
uint64_t smc_stat_reason_count(const struct smc_stat *stat, bool server, uint32_t code);

/* after - before, reason by reason; reasons that did not change are left out. */
void smc_stat_delta(struct smc_stat *delta, const struct smc_stat *before,
		    const struct smc_stat *after);

#endif
