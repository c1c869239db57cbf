// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_xfer: transfers seeded streams between two hosts and checks every byte.
 *
 *   smc_xfer --serve                 on one host; stays, serves any number of runs
 *   smc_xfer --to HOST [options]     on the other; steers both sides, one line of JSON
 *
 * Exit status 0: all bytes arrived unharmed, in the way that --expect names. 1: not so.
 * 2: wrong options, or the server cannot be reached.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/argument.h"
#include "client.h"
#include "server.h"

#define CALL_BYTES_DEFAULT 65536
#define CALL_BYTES_MAX (256 << 20)
#define TIMEOUT_DEFAULT_S 120
#define COUNT_MAX 1000000

enum expectation {
	EXPECT_ANY,
	EXPECT_SMCR, /* every connection over SMC-R, and its bytes counted there */
	EXPECT_SMCD, /* the same with SMC-D */
	EXPECT_FALLBACK, /* every SMC socket fell back */
	EXPECT_TCP, /* SMC had no part in it */
};

struct wanted {
	enum expectation how;
	uint32_t client_reason; /* 0: any */
	uint32_t server_reason;
	/* Kernels before 5.11 have a module of their own without statistics. */
	bool client_uncounted;
	bool server_uncounted;
};

enum option_id {
	OPT_SERVE = 256,
	OPT_TO,
	OPT_PORT,
	OPT_MODE,
	OPT_SERVER_MODE,
	OPT_CONNECTIONS,
	OPT_PARALLEL,
	OPT_HOLD,
	OPT_UP,
	OPT_DOWN,
	OPT_WRITE,
	OPT_READ,
	OPT_SEED,
	OPT_IO,
	OPT_NONBLOCK,
	OPT_CLOSER,
	OPT_CLOSE,
	OPT_LINGER,
	OPT_SNDBUF,
	OPT_RCVBUF,
	OPT_READ_DELAY,
	OPT_READ_PAUSE,
	OPT_TIMEOUT,
	OPT_EXPECT,
	OPT_CLIENT_REASON,
	OPT_SERVER_REASON,
	OPT_UNCOUNTED,
	OPT_HELP,
};

static const struct option options[] = {
	{ "serve", no_argument, NULL, OPT_SERVE },
	{ "to", required_argument, NULL, OPT_TO },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "server-mode", required_argument, NULL, OPT_SERVER_MODE },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "parallel", required_argument, NULL, OPT_PARALLEL },
	{ "hold", no_argument, NULL, OPT_HOLD },
	{ "up", required_argument, NULL, OPT_UP },
	{ "down", required_argument, NULL, OPT_DOWN },
	{ "write", required_argument, NULL, OPT_WRITE },
	{ "read", required_argument, NULL, OPT_READ },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "io", required_argument, NULL, OPT_IO },
	{ "nonblock", no_argument, NULL, OPT_NONBLOCK },
	{ "closer", required_argument, NULL, OPT_CLOSER },
	{ "close", required_argument, NULL, OPT_CLOSE },
	{ "linger", required_argument, NULL, OPT_LINGER },
	{ "sndbuf", required_argument, NULL, OPT_SNDBUF },
	{ "rcvbuf", required_argument, NULL, OPT_RCVBUF },
	{ "read-delay", required_argument, NULL, OPT_READ_DELAY },
	{ "read-pause", required_argument, NULL, OPT_READ_PAUSE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "client-reason", required_argument, NULL, OPT_CLIENT_REASON },
	{ "server-reason", required_argument, NULL, OPT_SERVER_REASON },
	{ "uncounted", required_argument, NULL, OPT_UNCOUNTED },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Returns the exit status. */
static int usage(FILE *out)
{
	fputs("Usage: smc_xfer --serve [--port PORT]\n"
	      "       smc_xfer --to HOST [--port PORT] [options]\n"
	      "\n"
	      "  --mode tcp|smc|inet         the client's sockets; inet is IPPROTO_SMC (smc)\n"
	      "  --server-mode tcp|smc|inet  the server's sockets (as --mode)\n"
	      "  --connections N             in all (1)\n"
	      "  --parallel N                open at once (1)\n"
	      "  --hold                      send nothing before all parallel ones are connected\n"
	      "  --up BYTES, --down BYTES    client to server and back, per connection (0)\n"
	      "  --write BYTES, --read BYTES per call (65536)\n"
	      "  --seed N                    of the streams (1)\n"
	      "  --io poll|block             non-blocking, or a blocking thread each way (poll)\n"
	      "  --nonblock                  non-blocking connect\n"
	      "  --closer client|server|both who ends first (client)\n"
	      "  --close shutdown|close      how (shutdown)\n"
	      "  --linger SECONDS            SO_LINGER before close, both sides\n"
	      "  --sndbuf BYTES, --rcvbuf BYTES\n"
	      "  --read-delay MS             before the first read\n"
	      "  --read-pause MS             after each read\n"
	      "  --timeout SECONDS           for the whole run (120)\n"
	      "  --expect any|smcr|smcd|fallback|tcp\n"
	      "  --client-reason CODE, --server-reason CODE   of the fallback, hexadecimal\n"
	      "  --uncounted client|server   whose module has no statistics: not looked at\n",
	      out);
	return out == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

static int32_t small(const char *text)
{
	return (int32_t)argument_number(text, 10, COUNT_MAX);
}

static void print_side(const char *name, const struct report *report, bool comma)
{
	const struct tally *tally = &report->tally;
	const struct smc_stat *delta = &report->delta;

	printf("\"%s\":{\"connections\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"received\":%" PRIu64
	       ",\"sent_crc\":\"%08x\",\"received_crc\":\"%08x\",\"failures\":%" PRIu64
	       ",\"error\":\"%s\",\"smc_stat\":%s,\"smcr\":%" PRIu64 ",\"smcd\":%" PRIu64
	       ",\"smcr_tx\":%" PRIu64 ",\"smcr_rx\":%" PRIu64 ",\"fallbacks\":%" PRIu64
	       ",\"handshake_errors\":%" PRIu64 ",\"reasons\":{",
	       name, tally->connections, tally->sent_bytes, tally->received_bytes,
	       tally->sent_crc, tally->received_crc, tally->failures, tally->error,
	       report->stat_error ? "false" : "true",
	       delta->smcr.client_handshakes + delta->smcr.server_handshakes,
	       delta->smcd.client_handshakes + delta->smcd.server_handshakes,
	       delta->smcr.tx_bytes, delta->smcr.rx_bytes,
	       delta->client_fallbacks + delta->server_fallbacks,
	       delta->client_handshake_errors + delta->server_handshake_errors);
	for (unsigned int i = 0; i < delta->reason_count; i++)
		printf("%s\"%s 0x%08x\":%" PRIu64, i ? "," : "",
		       delta->reasons[i].server ? "server" : "client", delta->reasons[i].code,
		       delta->reasons[i].count);
	printf("}}%s", comma ? "," : "");
}

static const char *check_bytes(const struct plan *plan, const struct outcome *outcome)
{
	const struct tally *client = &outcome->client.tally;
	const struct tally *server = &outcome->server.tally;
	uint64_t count = (uint64_t)plan->connections;

	if (client->failures || server->failures)
		return "a transfer failed";
	if (client->connections != count || server->connections != count)
		return "connections are missing";
	if (client->sent_bytes != plan->up_bytes * count ||
	    server->received_bytes != plan->up_bytes * count ||
	    server->sent_bytes != plan->down_bytes * count ||
	    client->received_bytes != plan->down_bytes * count)
		return "byte counts differ";
	if (client->sent_crc != server->received_crc || server->sent_crc != client->received_crc)
		return "checksums differ";
	return NULL;
}

static const char *check_smc_side(const struct report *report, const struct smc_stat_tech *tech,
				  uint64_t count, uint64_t handshakes, uint64_t fallbacks,
				  uint64_t tx_bytes, uint64_t rx_bytes)
{
	if (report->stat_error)
		return "no SMC statistics";
	if (handshakes != count)
		return "not every connection became SMC";
	if (fallbacks)
		return "fallbacks were counted";
	if (tech->tx_bytes < tx_bytes * count || tech->rx_bytes < rx_bytes * count)
		return "bytes are missing in the SMC counters";
	return NULL;
}

static const char *check_smc(const struct plan *plan, const struct wanted *wanted,
			     const struct smc_stat_tech *client, const struct smc_stat_tech *server,
			     const struct outcome *outcome)
{
	uint64_t count = (uint64_t)plan->connections;
	const char *wrong = NULL;

	if (!wanted->client_uncounted)
		wrong = check_smc_side(&outcome->client, client, count, client->client_handshakes,
				       outcome->client.delta.client_fallbacks, plan->up_bytes,
				       plan->down_bytes);
	if (!wrong && !wanted->server_uncounted)
		wrong = check_smc_side(&outcome->server, server, count, server->server_handshakes,
				       outcome->server.delta.server_fallbacks, plan->down_bytes,
				       plan->up_bytes);
	return wrong;
}

static const char *check_fallback(const struct plan *plan, const struct wanted *wanted,
				  const struct outcome *outcome)
{
	uint64_t count = (uint64_t)plan->connections;
	const struct smc_stat *client = &outcome->client.delta;
	const struct smc_stat *server = &outcome->server.delta;

	if (plan->client_mode != MODE_TCP && !wanted->client_uncounted) {
		if (outcome->client.stat_error)
			return "no SMC statistics at the client";
		if (client->smcr.client_handshakes || client->smcd.client_handshakes ||
		    client->client_fallbacks != count)
			return "not every client connection fell back";
		if (wanted->client_reason &&
		    smc_stat_reason_count(client, false, wanted->client_reason) != count)
			return "another fallback reason at the client";
	}
	if (plan->server_mode != MODE_TCP && !wanted->server_uncounted) {
		if (outcome->server.stat_error)
			return "no SMC statistics at the server";
		if (server->smcr.server_handshakes || server->smcd.server_handshakes ||
		    server->server_fallbacks != count)
			return "not every server connection fell back";
		if (wanted->server_reason &&
		    smc_stat_reason_count(server, true, wanted->server_reason) != count)
			return "another fallback reason at the server";
	}
	return NULL;
}

static const char *check_tcp(const struct outcome *outcome)
{
	const struct smc_stat *client = &outcome->client.delta;
	const struct smc_stat *server = &outcome->server.delta;

	if (client->smcr.client_handshakes || server->smcr.server_handshakes ||
	    client->smcd.client_handshakes || server->smcd.server_handshakes ||
	    client->client_fallbacks || server->server_fallbacks)
		return "SMC had a part in it";
	return NULL;
}

/* NULL if all is as wanted, else what is not. */
static const char *verdict(const struct plan *plan, const struct wanted *wanted,
			   const struct outcome *outcome)
{
	const char *wrong = check_bytes(plan, outcome);

	if (wrong)
		return wrong;
	switch (wanted->how) {
	case EXPECT_SMCR:
		return check_smc(plan, wanted, &outcome->client.delta.smcr,
				 &outcome->server.delta.smcr, outcome);
	case EXPECT_SMCD:
		return check_smc(plan, wanted, &outcome->client.delta.smcd,
				 &outcome->server.delta.smcd, outcome);
	case EXPECT_FALLBACK:
		return check_fallback(plan, wanted, outcome);
	case EXPECT_TCP:
		return check_tcp(outcome);
	case EXPECT_ANY:
		break;
	}
	return NULL;
}

static int run_and_print(const struct plan *plan, const struct address *server,
			 const struct wanted *wanted)
{
	static struct outcome outcome;
	const char *wrong;
	int ret = run_plan(plan, server, &outcome);

	if (ret < 0) {
		printf("{\"ok\":false,\"wrong\":\"server: %s\"}\n", strerror(-ret));
		return EXIT_USAGE;
	}
	wrong = verdict(plan, wanted, &outcome);
	printf("{\"ok\":%s,\"wrong\":\"%s\",\"mode\":\"%s\",\"server_mode\":\"%s\",\"family\":%d,"
	       "\"connections\":%d,\"up\":%" PRIu64 ",\"down\":%" PRIu64 ",\"ms\":%" PRIu64 ",",
	       wrong ? "false" : "true", wrong ? wrong : "",
	       mode_name((enum mode)plan->client_mode), mode_name((enum mode)plan->server_mode),
	       plan->family == AF_INET6 ? 6 : 4, plan->connections, plan->up_bytes,
	       plan->down_bytes, outcome.elapsed_ms);
	print_side("client", &outcome.client, true);
	print_side("server", &outcome.server, false);
	puts("}");
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const char *const io_names[] = { "poll", "block", NULL };
	static const char *const closer_names[] = { "client", "server", "both", NULL };
	static const char *const close_names[] = { "shutdown", "close", NULL };
	static const char *const side_names[] = { "client", "server", NULL };
	static const char *const expect_names[] = { "any",	"smcr", "smcd",
						    "fallback", "tcp",	NULL };
	struct plan plan = {
		.magic = XFER_MAGIC,
		.version = XFER_VERSION,
		.client_mode = MODE_SMC,
		.server_mode = MODE_COUNT,
		.connections = 1,
		.parallel = 1,
		.linger_s = -1,
		.timeout_s = TIMEOUT_DEFAULT_S,
		.write_bytes = CALL_BYTES_DEFAULT,
		.read_bytes = CALL_BYTES_DEFAULT,
		.seed = 1,
	};
	struct wanted wanted = { .how = EXPECT_ANY };
	struct address server;
	uint16_t port = XFER_PORT_DEFAULT;
	const char *host = NULL;
	bool serving = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case OPT_SERVE:
			serving = true;
			break;
		case OPT_TO:
			host = optarg;
			break;
		case OPT_PORT:
			port = (uint16_t)argument_number(optarg, 10, UINT16_MAX);
			break;
		case OPT_MODE:
			plan.client_mode = (int32_t)argument_mode(optarg);
			break;
		case OPT_SERVER_MODE:
			plan.server_mode = (int32_t)argument_mode(optarg);
			break;
		case OPT_CONNECTIONS:
			plan.connections = small(optarg);
			break;
		case OPT_PARALLEL:
			plan.parallel = small(optarg);
			break;
		case OPT_HOLD:
			plan.hold = 1;
			break;
		case OPT_UP:
			plan.up_bytes = argument_number(optarg, 10, INT64_MAX);
			break;
		case OPT_DOWN:
			plan.down_bytes = argument_number(optarg, 10, INT64_MAX);
			break;
		case OPT_WRITE:
			plan.write_bytes = argument_number(optarg, 10, CALL_BYTES_MAX);
			break;
		case OPT_READ:
			plan.read_bytes = argument_number(optarg, 10, CALL_BYTES_MAX);
			break;
		case OPT_SEED:
			plan.seed = argument_number(optarg, 10, UINT64_MAX);
			break;
		case OPT_IO:
			plan.io = argument_choice(optarg, io_names);
			break;
		case OPT_NONBLOCK:
			plan.connect_nonblock = 1;
			break;
		case OPT_CLOSER:
			plan.closer = argument_choice(optarg, closer_names);
			break;
		case OPT_CLOSE:
			plan.close_how = argument_choice(optarg, close_names);
			break;
		case OPT_LINGER:
			plan.linger_s = small(optarg);
			break;
		case OPT_SNDBUF:
			plan.sndbuf_bytes = (int32_t)argument_number(optarg, 10, INT32_MAX);
			break;
		case OPT_RCVBUF:
			plan.rcvbuf_bytes = (int32_t)argument_number(optarg, 10, INT32_MAX);
			break;
		case OPT_READ_DELAY:
			plan.read_delay_ms = argument_number(optarg, 10, COUNT_MAX);
			break;
		case OPT_READ_PAUSE:
			plan.read_pause_ms = argument_number(optarg, 10, COUNT_MAX);
			break;
		case OPT_TIMEOUT:
			plan.timeout_s = small(optarg);
			break;
		case OPT_EXPECT:
			wanted.how = (enum expectation)argument_choice(optarg, expect_names);
			break;
		case OPT_CLIENT_REASON:
			wanted.client_reason = (uint32_t)argument_number(optarg, 16, UINT32_MAX);
			break;
		case OPT_SERVER_REASON:
			wanted.server_reason = (uint32_t)argument_number(optarg, 16, UINT32_MAX);
			break;
		case OPT_UNCOUNTED:
			if (argument_choice(optarg, side_names) == 0)
				wanted.client_uncounted = true;
			else
				wanted.server_uncounted = true;
			break;
		case OPT_HELP:
			return usage(stdout);
		default:
			return usage(stderr);
		}
	}
	signal(SIGPIPE, SIG_IGN);
	if (serving) {
		fprintf(stderr, "smc_xfer: %s\n", strerror(-serve(port)));
		return EXIT_USAGE;
	}
	if (plan.server_mode == MODE_COUNT)
		plan.server_mode = plan.client_mode;
	if (!host || optind != argc || !plan.connections || !plan.parallel || !plan.write_bytes ||
	    !plan.read_bytes || (plan.hold && plan.connections % plan.parallel))
		return usage(stderr);
	if (address_make(&server, AF_UNSPEC, host, port)) {
		fprintf(stderr, "smc_xfer: %s is not an address\n", host);
		return EXIT_USAGE;
	}
	plan.family = server.storage.ss_family;
	return run_and_print(&plan, &server, &wanted);
}
