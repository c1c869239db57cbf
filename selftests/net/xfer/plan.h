/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one run of smc_xfer does, as the client tells it to the server over the control
 * connection, and what each side reports at the end. Both ends are the same program, on machines
 * that align alike: the structures travel as they lie in memory, but for the order of bytes
 * (order.h).
 */
#ifndef XFER_PLAN_H
#define XFER_PLAN_H

#include <stdint.h>

#include "../lib/net.h"
#include "../lib/smc_stat.h"

#define XFER_MAGIC 0x52454658u /* also tells apart a server of another version */
#define XFER_VERSION 1
#define XFER_PORT_DEFAULT 7100
#define XFER_ERROR_BYTES 160

enum closer {
	CLOSER_CLIENT, /* the client ends its side first, the server after end of stream */
	CLOSER_SERVER,
	CLOSER_BOTH, /* each on its own, without waiting for the other's end of stream */
};

enum close_how {
	CLOSE_SHUTDOWN, /* the first closer shuts down writing, then reads to the end */
	CLOSE_CLOSE, /* it closes without shutdown() when it has received all that it expects */
};

enum io {
	IO_POLL, /* one thread, non-blocking, both directions */
	IO_BLOCK, /* blocking calls: a thread to send, a thread to receive */
};

struct plan {
	uint32_t magic;
	uint32_t version;
	int32_t client_mode; /* enum mode */
	int32_t server_mode;
	int32_t family; /* AF_INET or AF_INET6 */
	int32_t connections;
	int32_t parallel; /* how many of them are open at once */
	int32_t hold; /* wait until all parallel ones are connected before the first byte */
	int32_t io; /* enum io */
	int32_t connect_nonblock;
	int32_t closer; /* enum closer */
	int32_t close_how; /* enum close_how */
	int32_t linger_s; /* -1: SO_LINGER is not set */
	int32_t sndbuf_bytes; /* 0: not set */
	int32_t rcvbuf_bytes;
	int32_t timeout_s; /* for the whole run */
	uint64_t up_bytes; /* client to server, per connection */
	uint64_t down_bytes;
	uint64_t write_bytes; /* per call */
	uint64_t read_bytes;
	uint64_t read_delay_ms; /* before the first read */
	uint64_t read_pause_ms; /* after each read */
	uint64_t seed;
};

struct tally {
	uint64_t connections; /* finished without an error */
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint32_t sent_crc; /* exclusive or of the CRC-32 of each connection */
	uint32_t received_crc;
	uint64_t failures;
	char error[XFER_ERROR_BYTES]; /* the first one */
};

struct report {
	uint32_t magic;
	int32_t stat_error; /* 0, or the errno that left delta empty */
	struct tally tally;
	struct smc_stat delta; /* of the host during the run */
};

#endif
