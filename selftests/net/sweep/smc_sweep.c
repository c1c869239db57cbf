// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repeats an operation while the first, then the second, … allocation in it fails, until none of
 * them is the n-th any more.
 *
 *   smc_sweep serve PORT [-l seconds]
 *   smc_sweep socket|namespace|connect|accept|talk|module|command -k kind -b START-END
 *             [-s START-END] [-f frames] [-t HOST:PORT] [-d netdev] [-r command] [-x smcr|smcd]
 *             [-l seconds] [-n nth] [file or command]
 *
 * -k is failslab or fail_page_alloc, -b the code below which allocations count, -s that below
 * which none fails, -f how many frames up the stack they may be. -t is where "smc_sweep serve"
 * runs. Before each step the interface of -d goes down and up, for a first contact, and the command
 * of -r is run, which may fail. -x: what the last step's connection has to use. -l: no call may
 * take longer. -n: that step only, and the kernel's log gets the stack of what fails.
 *
 * A step ends with success, by SMC or by TCP, or with an errno that speaks of resources or of a
 * lost connection; anything else ends the run. A line for each step, then
 *
 *   swept 23 smc 14 tcp 7 refused 2
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/smc_stat.h"
#include "netdev.h"
#include "operation.h"
#include "partner.h"

#define LIMIT_DEFAULT_S 60
#define FRAMES_DEFAULT 8
#define FRAMES_MAX 32
#define STEPS_MAX 1000
/* After a failure the next connection may still meet its consequences. */
#define UNTOUCHED_MAX 3

enum way { WAY_ANY, WAY_SMCR, WAY_SMCD };

struct sweep {
	struct job job;
	operation run;
	const char *netdev;
	const char *reset;
	enum way last_by;
	unsigned int only; /* the one step; 0 for all */
	unsigned int failed;
	unsigned int smc;
	unsigned int tcp;
	unsigned int refused;
};

static bool is_fair(int error)
{
	static const int fair[] = {
		ENOMEM,	   ENOBUFS,   ENFILE, ECONNRESET, ECONNABORTED, ECONNREFUSED,
		ETIMEDOUT, ENETDOWN, EPIPE,
	};

	for (size_t i = 0; i < sizeof(fair) / sizeof(fair[0]); i++)
		if (fair[i] == -error)
			return true;
	return false;
}

/* Only where connections are made: reading the counters would load the module. */
static struct smc_stat stat_now(enum way way)
{
	struct smc_stat now;

	if (way == WAY_ANY || smc_stat_read(&now))
		memset(&now, 0, sizeof(now));
	return now;
}

static uint64_t fallbacks(const struct smc_stat *stat)
{
	return stat->client_fallbacks + stat->server_fallbacks;
}

static bool went_as_wanted(enum way way, const struct smc_stat *before, const struct smc_stat *now)
{
	switch (way) {
	case WAY_SMCR:
		return now->smcr.client_handshakes + now->smcr.server_handshakes >
		       before->smcr.client_handshakes + before->smcr.server_handshakes;
	case WAY_SMCD:
		return now->smcd.client_handshakes + now->smcd.server_handshakes >
		       before->smcd.client_handshakes + before->smcd.server_handshakes;
	case WAY_ANY:
		break;
	}
	return true;
}

static void count(struct sweep *sweep, unsigned int nth, const struct outcome *outcome,
		  const struct smc_stat *before, const struct smc_stat *now)
{
	const char *end = "success";

	sweep->failed += outcome->failed;
	if (outcome->error) {
		sweep->refused++;
		end = strerrorname_np(-outcome->error);
	} else if (sweep->last_by != WAY_ANY && fallbacks(now) > fallbacks(before)) {
		sweep->tcp++;
		end = "tcp";
	} else {
		sweep->smc++;
	}
	printf("%u%s: %s\n", nth, outcome->failed ? "" : " untouched", end);
	fflush(stdout);
}

/* The limit of a step. */
static bool is_ready(const struct sweep *sweep)
{
	int ret = sweep->netdev ? netdev_bounce(sweep->netdev) : 0;

	if (!ret && sweep->reset && system(sweep->reset) == -1)
		ret = -errno;
	if (ret)
		fprintf(stderr, "smc_sweep: not ready: %s\n", strerror(-ret));
	return !ret;
}

/* Exit status. */
static int go(struct sweep *sweep)
{
	unsigned int untouched = 0;
	unsigned int nth = sweep->only ? sweep->only : 1;

	while (nth <= STEPS_MAX && untouched < UNTOUCHED_MAX) {
		struct smc_stat before;
		struct smc_stat now;
		struct outcome outcome;

		if (!is_ready(sweep))
			return 1;
		before = stat_now(sweep->last_by);
		outcome = sweep->run(&sweep->job, nth);
		now = stat_now(sweep->last_by);
		if (outcome.armed) {
			fprintf(stderr, "smc_sweep: %s\n", strerror(-outcome.armed));
			return 1;
		}
		count(sweep, nth, &outcome, &before, &now);
		if (outcome.error && !is_fair(outcome.error)) {
			fprintf(stderr, "smc_sweep: that is no way to end\n");
			return 1;
		}
		if (sweep->only)
			return 0;
		if (outcome.failed) {
			nth++;
			untouched = 0;
			continue;
		}
		untouched++;
		if (!outcome.error && fallbacks(&now) <= fallbacks(&before) &&
		    went_as_wanted(sweep->last_by, &before, &now))
			return 0;
	}
	fprintf(stderr, "smc_sweep: no step succeeded untouched\n");
	return 1;
}

static struct text_range range(const char *text)
{
	struct text_range range;

	if (sscanf(text, "%" SCNx64 "-%" SCNx64, &range.start, &range.end) != 2) {
		fprintf(stderr, "smc_sweep: %s is not START-END\n", text);
		exit(EXIT_USAGE);
	}
	return range;
}

/* HOST:PORT; the text is split in place. */
static void set_partner(struct job *job, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon) {
		fprintf(stderr, "smc_sweep: %s is not HOST:PORT\n", text);
		exit(EXIT_USAGE);
	}
	*colon = '\0';
	job->host = text;
	job->port = (uint16_t)argument_number(colon + 1, 10, UINT16_MAX - 1);
}

static int usage(void)
{
	fprintf(stderr, "smc_sweep serve PORT [-l seconds]\n"
			"smc_sweep socket|namespace|connect|accept|talk|module|command\n"
			"          -k kind -b START-END [-s START-END] [-f frames] [-t HOST:PORT]\n"
			"          [-d netdev] [-r command] [-x smcr|smcd] [-l seconds] [-n nth]\n"
			"          [file or command]\n");
	return EXIT_USAGE;
}

static int read_options(struct sweep *sweep, int argc, char **argv)
{
	static const char *const ways[] = { "any", "smcr", "smcd", NULL };
	struct job *job = &sweep->job;
	int option;

	while ((option = getopt(argc, argv, "k:b:s:f:t:d:r:x:l:n:")) != -1) {
		switch (option) {
		case 'k':
			job->aim.kind = optarg;
			break;
		case 'b':
			job->aim.below = range(optarg);
			break;
		case 's':
			job->aim.spared = range(optarg);
			break;
		case 'f':
			job->aim.frames = (unsigned int)argument_number(optarg, 10, FRAMES_MAX);
			break;
		case 't':
			set_partner(job, optarg);
			break;
		case 'd':
			sweep->netdev = optarg;
			break;
		case 'r':
			sweep->reset = optarg;
			break;
		case 'x':
			sweep->last_by = (enum way)argument_choice(optarg, ways);
			break;
		case 'l':
			job->limit_s = (unsigned int)argument_number(optarg, 10, 1000);
			break;
		case 'n':
			sweep->only = (unsigned int)argument_number(optarg, 10, STEPS_MAX);
			job->aim.logged = true;
			break;
		default:
			return usage();
		}
	}
	job->argument = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct sweep sweep = { .job = { .limit_s = LIMIT_DEFAULT_S, .control = -1,
					.aim.frames = FRAMES_DEFAULT } };
	const char *name = argc > 1 ? argv[1] : "";
	int ret;

	signal(SIGPIPE, SIG_IGN);
	optind = 2;
	ret = read_options(&sweep, argc, argv);
	if (ret)
		return ret;
	if (!strcmp(name, "serve") && sweep.job.argument)
		return partner_serve((uint16_t)argument_number(sweep.job.argument, 10,
							       UINT16_MAX - 1),
				     sweep.job.limit_s);
	sweep.run = operation_named(name);
	if (!sweep.run || !sweep.job.aim.kind || !sweep.job.aim.below.end ||
	    ((!strcmp(name, "command") || !strcmp(name, "module")) && !sweep.job.argument))
		return usage();
	if (sweep.job.host) {
		sweep.job.control = partner_reach(sweep.job.host, sweep.job.port);
		if (sweep.job.control < 0) {
			fprintf(stderr, "smc_sweep: no partner: %s\n",
				strerror(-sweep.job.control));
			return 1;
		}
	}
	ret = go(&sweep);
	printf("swept %u smc %u tcp %u refused %u\n", sweep.failed, sweep.smc, sweep.tcp,
	       sweep.refused);
	return ret;
}
