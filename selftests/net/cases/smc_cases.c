// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_cases: socket calls on TCP and on SMC between two hosts, with the same result wanted.
 *
 *   smc_cases --agent                on one host; stays
 *   smc_cases --to HOST [options]    on the other; TAP on stdout
 *
 * Exit status 0: every case passed, or is listed with --known. 1: not so. 2: wrong options, or
 * no agent at HOST.
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "agent.h"
#include "host.h"
#include "runner.h"

#define AGENT_PORT_DEFAULT 7200
#define STEP_TIMEOUT_DEFAULT_S 30
#define STEP_TIMEOUT_MAX_S 3600
#define KNOWN_MAX 64
#define KNOWN_LINE_BYTES 256

static const struct test_case *const tables[] = {
	connect_cases,	   accept_cases,   transfer_cases, poll_cases,	    shutdown_cases,
	close_cases,	   option_cases,   fault_cases,	   share_cases,	    fallback_cases,
	urgent_cases,	   killed_cases,   zerocopy_cases, splice_cases,    message_cases,
	low_water_cases,   signal_cases,   uring_cases,	   disconnect_cases, limit_cases,
	peek_offset_cases, mapped_cases,   inherit_cases,  sweep_cases,	    epoll_cases,
};

struct known {
	char pattern[KNOWN_LINE_BYTES];
	const char *reason; /* inside pattern */
};

struct settings {
	struct runner runner;
	const char *only;
	struct known known[KNOWN_MAX];
	int known_count;
};

/* Returns the exit status. */
static int usage(FILE *out)
{
	fputs("Usage: smc_cases --agent [--port PORT]\n"
	      "       smc_cases --list\n"
	      "       smc_cases --to HOST [--port PORT] [options]\n"
	      "\n"
	      "  --mode MODE                 the client's sockets: tcp, smc, inet (IPPROTO_SMC),\n"
	      "                              ulp or selected (smc)\n"
	      "  --server-mode MODE          the server's sockets (as --mode)\n"
	      "  --role client|server        what this host is (client)\n"
	      "  --expect any|smcr|smcd|fallback  how connections go, told by the counters (any)\n"
	      "  --client-reason CODE, --server-reason CODE   of the fallback, hexadecimal\n"
	      "  --only PATTERN              cases whose names match, as a shell matches files\n"
	      "  --known FILE                lines of a pattern and a reason: these may fail\n"
	      "  --step-timeout SECONDS      a step that takes longer has failed (30)\n",
	      out);
	return out == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

/* The next case of all tables after the given place; NULL at the end. */
static const struct test_case *next_case(size_t *table, size_t *index)
{
	while (*table < sizeof(tables) / sizeof(tables[0])) {
		const struct test_case *found = &tables[*table][*index];

		if (found->name) {
			(*index)++;
			return found;
		}
		(*table)++;
		*index = 0;
	}
	return NULL;
}

static bool is_wanted(const struct settings *settings, const struct test_case *test_case)
{
	return !settings->only || !fnmatch(settings->only, test_case->name, FNM_EXTMATCH);
}

/* Why the case may fail, or NULL. */
static const char *known_reason(const struct settings *settings, const char *name)
{
	for (int i = 0; i < settings->known_count; i++)
		if (!fnmatch(settings->known[i].pattern, name, 0))
			return settings->known[i].reason;
	return NULL;
}

static void read_known(struct settings *settings, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[KNOWN_LINE_BYTES];

	if (!file) {
		fprintf(stderr, "smc_cases: %s: %s\n", path, strerror(errno));
		exit(EXIT_USAGE);
	}
	while (fgets(line, sizeof(line), file)) {
		struct known *known = &settings->known[settings->known_count];
		char *reason;

		line[strcspn(line, "\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		if (settings->known_count == KNOWN_MAX) {
			fprintf(stderr, "smc_cases: %s: more than %d lines\n", path, KNOWN_MAX);
			exit(EXIT_USAGE);
		}
		memcpy(known->pattern, line, sizeof(line));
		reason = strpbrk(known->pattern, " \t");
		if (!reason) {
			fprintf(stderr, "smc_cases: %s: \"%s\" has no reason\n", path, line);
			exit(EXIT_USAGE);
		}
		*reason++ = '\0';
		known->reason = reason + strspn(reason, " \t");
		settings->known_count++;
	}
	fclose(file);
}

static int run_all(const struct settings *settings)
{
	const char *family = settings->runner.test.family == AF_INET6 ? "ipv6" : "ipv4";
	const struct test_case *test_case;
	int number = 0;
	int failed = 0;
	int known_failed = 0;
	int skipped = 0;
	int count = 0;

	for (size_t table = 0, index = 0; (test_case = next_case(&table, &index));)
		count += is_wanted(settings, test_case);
	printf("TAP version 13\n1..%d\n", count);
	for (size_t table = 0, index = 0; (test_case = next_case(&table, &index));) {
		const char *wrong;
		const char *reason;
		bool skip;

		if (!is_wanted(settings, test_case))
			continue;
		wrong = run_case(&settings->runner, test_case, &skip);
		reason = known_reason(settings, test_case->name);
		number++;
		if (skip) {
			printf("ok %d - %s %s %s # SKIP %s\n", number,
			       mode_name(settings->runner.test.client_mode), family,
			       test_case->name, wrong);
			skipped++;
			continue;
		}
		printf("%s %d - %s %s %s%s%s\n", wrong ? "not ok" : "ok", number,
		       mode_name(settings->runner.test.client_mode), family, test_case->name,
		       reason ? " # TODO " : "", reason ? reason : "");
		if (wrong) {
			printf("# %s\n", wrong);
			if (reason)
				known_failed++;
			else
				failed++;
		}
		fflush(stdout);
	}
	printf("# %d cases: %d passed, %d failed, %d failed as known, %d skipped\n", count,
	       count - failed - known_failed - skipped, failed, known_failed, skipped);
	return failed || count == skipped ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A child of this process serves as the agent of this host; it ends with us. */
static void start_own_agent(struct host *host)
{
	struct address address = { .length = sizeof(address.storage) };
	int listener = control_listen(0);
	pid_t parent = getpid();

	if (listener < 0 ||
	    getsockname(listener, (struct sockaddr *)&address.storage, &address.length) < 0) {
		fprintf(stderr, "smc_cases: cannot listen: %s\n", strerror(errno));
		exit(EXIT_USAGE);
	}
	switch (fork()) {
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
		agent_serve(listener);
		_exit(EXIT_FAILURE);
	case -1:
		fprintf(stderr, "smc_cases: fork: %s\n", strerror(errno));
		exit(EXIT_USAGE);
	}
	close(listener);
	address_make(&host->agent, AF_INET, "127.0.0.1", address_port(&address));
}

/* An address beside the given one; nobody is to have it. */
static struct address neighbour(const struct address *address)
{
	struct address other = *address;

	address_set_port(&other, 0);
	if (address->storage.ss_family == AF_INET6) {
		struct in6_addr *in6 = &((struct sockaddr_in6 *)&other.storage)->sin6_addr;

		in6->s6_addr[14] = 0xfe;
		in6->s6_addr[15] = 0xfe;
	} else {
		struct in_addr *in = &((struct sockaddr_in *)&other.storage)->sin_addr;

		in->s_addr = (in->s_addr & htonl(0xffffff00)) | htonl(0xfa);
	}
	return other;
}

/* Finds both hosts, and the address under which the client reaches the server. */
static void meet(struct settings *settings, const struct address *peer, bool is_client)
{
	static struct host here = {.name = "this host", .actors = {-1, -1, -1, -1, -1, -1, -1, -1}};
	static struct host there = { .name = "the other host",
				     .actors = { -1, -1, -1, -1, -1, -1, -1, -1 } };
	struct runner *runner = &settings->runner;
	struct address local = { .length = sizeof(local.storage) };
	int ret;

	start_own_agent(&here);
	there.agent = *peer;
	ret = host_open(&there);
	if (ret) {
		fprintf(stderr, "smc_cases: no agent there: %s\n", strerror(-ret));
		exit(EXIT_USAGE);
	}
	if (getsockname(there.actors[0], (struct sockaddr *)&local.storage, &local.length) < 0) {
		perror("smc_cases: getsockname");
		exit(EXIT_USAGE);
	}
	host_close(&there);
	runner->test.client = is_client ? &here : &there;
	runner->test.server = is_client ? &there : &here;
	runner->test.server_address = is_client ? *peer : local;
	address_set_port(&runner->test.server_address, 0);
	runner->test.family = peer->storage.ss_family;
	runner->test.nowhere = neighbour(peer);
}

enum option_id {
	OPT_AGENT = 256,
	OPT_LIST,
	OPT_TO,
	OPT_PORT,
	OPT_MODE,
	OPT_SERVER_MODE,
	OPT_ROLE,
	OPT_EXPECT,
	OPT_CLIENT_REASON,
	OPT_SERVER_REASON,
	OPT_ONLY,
	OPT_KNOWN,
	OPT_STEP_TIMEOUT,
	OPT_HELP,
};

static const struct option options[] = {
	{ "agent", no_argument, NULL, OPT_AGENT },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "to", required_argument, NULL, OPT_TO },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "server-mode", required_argument, NULL, OPT_SERVER_MODE },
	{ "role", required_argument, NULL, OPT_ROLE },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "client-reason", required_argument, NULL, OPT_CLIENT_REASON },
	{ "server-reason", required_argument, NULL, OPT_SERVER_REASON },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "known", required_argument, NULL, OPT_KNOWN },
	{ "step-timeout", required_argument, NULL, OPT_STEP_TIMEOUT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int serve_as_agent(uint16_t port)
{
	int listener = control_listen(port);
	int ret = listener;

	if (listener >= 0) {
		puts("ready");
		fflush(stdout);
		ret = agent_serve(listener);
	}
	fprintf(stderr, "smc_cases: agent: %s\n", strerror(-ret));
	return EXIT_USAGE;
}

static int list_cases(void)
{
	const struct test_case *test_case;

	for (size_t table = 0, index = 0; (test_case = next_case(&table, &index));)
		puts(test_case->name);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const char *const role_names[] = { "client", "server", NULL };
	static const char *const expect_names[] = { "any", "smcr", "smcd", "fallback", NULL };
	static struct settings settings;
	struct runner *runner = &settings.runner;
	uint16_t port = AGENT_PORT_DEFAULT;
	const char *host = NULL;
	struct address peer;
	bool is_agent = false;
	bool is_client = true;
	int option;

	signal(SIGPIPE, SIG_IGN);
	runner->test.client_mode = MODE_SMC;
	runner->test.server_mode = MODE_COUNT;
	runner->step_timeout_ms = STEP_TIMEOUT_DEFAULT_S * 1000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case OPT_AGENT:
			is_agent = true;
			break;
		case OPT_LIST:
			return list_cases();
		case OPT_PORT:
			port = (uint16_t)argument_number(optarg, 10, UINT16_MAX);
			break;
		case OPT_TO:
			host = optarg;
			break;
		case OPT_MODE:
			runner->test.client_mode = argument_mode(optarg);
			break;
		case OPT_SERVER_MODE:
			runner->test.server_mode = argument_mode(optarg);
			break;
		case OPT_ROLE:
			is_client = argument_choice(optarg, role_names) == 0;
			break;
		case OPT_EXPECT:
			runner->expectation =
				(enum expectation)argument_choice(optarg, expect_names);
			break;
		case OPT_CLIENT_REASON:
			runner->client_reason = (uint32_t)argument_number(optarg, 16, UINT32_MAX);
			break;
		case OPT_SERVER_REASON:
			runner->server_reason = (uint32_t)argument_number(optarg, 16, UINT32_MAX);
			break;
		case OPT_ONLY:
			settings.only = optarg;
			break;
		case OPT_KNOWN:
			read_known(&settings, optarg);
			break;
		case OPT_STEP_TIMEOUT:
			runner->step_timeout_ms =
				(int)argument_number(optarg, 10, STEP_TIMEOUT_MAX_S) * 1000;
			break;
		case OPT_HELP:
			return usage(stdout);
		default:
			return usage(stderr);
		}
	}
	if (is_agent)
		return serve_as_agent(port);
	if (!host || optind != argc || address_make(&peer, AF_UNSPEC, host, port))
		return usage(stderr);
	if (runner->test.server_mode == MODE_COUNT)
		runner->test.server_mode = runner->test.client_mode;
	meet(&settings, &peer, is_client);
	return run_all(&settings);
}
