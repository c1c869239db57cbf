// SPDX-License-Identifier: GPL-2.0-only
#include "order.h"

#include <endian.h>
#include <stddef.h>

static void order32(void *first, size_t count)
{
	for (uint32_t *field = first; count; field++, count--)
		*field = htole32(*field);
}

static void order64(void *first, size_t count)
{
	for (uint64_t *field = first; count; field++, count--)
		*field = htole64(*field);
}

/* How many fields of one width lie from one to another, both included. */
#define FIELDS(type, first, last) \
	((offsetof(type, last) - offsetof(type, first)) / sizeof(((type *)0)->first) + 1)

void plan_order(struct plan *plan)
{
	order32(&plan->magic, FIELDS(struct plan, magic, timeout_s));
	order64(&plan->up_bytes, FIELDS(struct plan, up_bytes, seed));
}

static void tech_order(struct smc_stat_tech *tech)
{
	order64(&tech->client_handshakes,
		FIELDS(struct smc_stat_tech, client_handshakes, tx_calls));
}

static void stat_order(struct smc_stat *stat)
{
	tech_order(&stat->smcr);
	tech_order(&stat->smcd);
	order64(&stat->client_handshake_errors,
		FIELDS(struct smc_stat, client_handshake_errors, server_fallbacks));
	order32(&stat->reason_count, 1);
	for (size_t i = 0; i < SMC_STAT_REASONS_MAX; i++) {
		order32(&stat->reasons[i].code, 1);
		order64(&stat->reasons[i].count, 1);
	}
}

void report_order(struct report *report)
{
	struct tally *tally = &report->tally;

	order32(&report->magic, FIELDS(struct report, magic, stat_error));
	order64(&tally->connections, FIELDS(struct tally, connections, received_bytes));
	order32(&tally->sent_crc, FIELDS(struct tally, sent_crc, received_crc));
	order64(&tally->failures, 1);
	stat_order(&report->delta);
}
