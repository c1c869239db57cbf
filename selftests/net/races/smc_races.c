// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls at the same time on the same socket, round after round.
 *
 *   smc_races [--to HOST] [--port P] [--mode tcp|smc|inet|ulp] [--rounds N] [--seed S]
 *             [--only PATTERN] [--expect smcd|smcr]
 *   smc_races --serve PORT [--mode …]        the other end, for --to
 *   smc_races --list
 *
 * Without --to the other end is a process of this program's. Round number i has the seed S + i; the
 * order in which threads get to run is not drawn from it. TAP, a case for each race.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/smc_stat.h"
#include "race.h"

#define DEFAULT_PORT 7700
/* Longer than any round takes on a busy machine. */
#define PATIENCE_MS 90000
#define WATCH_MS 20
#define PROBES 5
#define SERVICE_MS_MAX 20000
/* In most races at least one round in so many must use SMC. */
#define ROUNDS_PER_HANDSHAKE 4
#define RACES_MAX 32
#define FAILURES_SHOWN 5

enum expect { EXPECT_NOTHING, EXPECT_SMCD, EXPECT_SMCR };

struct options {
	struct setting setting;
	const char *host;
	uint16_t port;
	uint32_t rounds;
	uint64_t seed;
	const char *only;
	enum expect expect;
};

static const struct race *const tables[] = { connect_races, accept_races, stream_races, poll_races,
					     turn_races };

/* Shared with the watching process. */
struct progress {
	volatile uint32_t round;
	volatile uint32_t failures;
};

static unsigned int chosen(const struct options *options, const struct race **races)
{
	unsigned int count = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct race *race = tables[i]; race->name; race++)
			if (!options->only || !fnmatch(options->only, race->name, 0))
				races[count++] = race;
	return count;
}

static void run_round(const struct options *options, const struct race *race, uint32_t number,
		      struct progress *progress)
{
	struct round round = {
		.setting = &options->setting,
		.race = race->name,
		.number = number,
		.random = { options->seed + number },
		.seed = options->seed + number,
		.fd = -1,
		.copy = -1,
	};

	progress->round = number;
	race->round(&round);
	progress->failures += (uint32_t)round.failures;
}

/* Runs in a process of its own, which can be killed if it hangs. */
static bool run_race(const struct options *options, const struct race *race,
		     struct progress *progress)
{
	uint64_t since_ms = now_ms();
	uint32_t seen = 0;
	int status = 0;
	pid_t pid;

	*progress = (struct progress){ 0 };
	fflush(stdout);
	pid = fork();
	if (!pid) {
		for (uint32_t i = 0; i < options->rounds; i++) {
			run_round(options, race, i, progress);
			if (progress->failures >= FAILURES_SHOWN)
				break;
		}
		fflush(stdout);
		_exit(progress->failures != 0);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		sleep_ms(WATCH_MS);
		if (progress->round != seen) {
			seen = progress->round;
			since_ms = now_ms();
		}
		if (now_ms() - since_ms > PATIENCE_MS) {
			printf("# %s hangs in round %u\n", race->name, seen);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
	}
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* How many streams the service found wrong; 1 if it does not answer. */
static uint64_t wrong_streams(const struct setting *setting)
{
	const struct order order = { .what = SERVICE_VERDICT };
	uint64_t wrong = 1;
	int fd = control_connect(&setting->plain);

	if (fd < 0)
		return 1;
	if (write_whole(fd, &order, sizeof(order)) || read_whole(fd, &wrong, sizeof(wrong)))
		wrong = 1;
	close(fd);
	return wrong;
}

/* Measures how long a connection, an order and an answer take: the upper bound of delays. */
static void measure(struct options *options)
{
	struct round round = { .setting = &options->setting, .race = "measure" };
	uint64_t start_ms = now_ms();

	for (int i = 0; i < PROBES; i++) {
		int fd = ordered(&round, SERVICE_SOURCE, 0);

		receive_whole(&round, fd);
		close(fd);
	}
	options->setting.scale_us = (unsigned int)(now_ms() - start_ms) * 1000 / PROBES + 100;
	if (options->setting.scale_us > 50000)
		options->setting.scale_us = 50000;
}

static uint64_t handshakes(const struct options *options)
{
	struct smc_stat stat;

	if (options->expect == EXPECT_NOTHING || smc_stat_read(&stat))
		return 0;
	return options->expect == EXPECT_SMCD ? stat.smcd.client_handshakes :
						stat.smcr.client_handshakes;
}

static int run_all(struct options *options)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct race *races[RACES_MAX];
	unsigned int count = chosen(options, races);
	uint64_t before = handshakes(options);
	unsigned int failed = 0;
	uint64_t wrong;
	uint64_t by_smc;

	if (progress == MAP_FAILED) {
		perror("smc_races");
		return 1;
	}
	measure(options);
	printf("TAP version 13\n1..%u\n# %u rounds, seeds from %" PRIu64 ", delays to %u us\n",
	       count + 1, options->rounds, options->seed, options->setting.scale_us);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t start_ms = now_ms();
		bool good = run_race(options, races[i], progress);

		failed += !good;
		printf("%s %u - %s # %" PRIu64 " ms\n", good ? "ok" : "not ok", i + 1,
		       races[i]->name, now_ms() - start_ms);
		fflush(stdout);
	}
	wrong = wrong_streams(&options->setting);
	by_smc = handshakes(options) - before;
	if (wrong || (options->expect != EXPECT_NOTHING &&
		      by_smc * ROUNDS_PER_HANDSHAKE < (uint64_t)count * options->rounds)) {
		failed++;
		printf("not ");
	}
	printf("ok %u - %" PRIu64 " wrong streams, %" PRIu64 " connections by SMC\n", count + 1,
	       wrong, by_smc);
	return failed != 0;
}

static pid_t start_service(const struct options *options)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	serve(options->port, options->setting.mode);
	_exit(1);
}

/* Whether the service still answers at the end. */
static bool served(const struct setting *setting)
{
	for (uint64_t end_ms = now_ms() + SERVICE_MS_MAX; now_ms() < end_ms; sleep_ms(WATCH_MS))
		if (!wrong_streams(setting))
			return true;
	fprintf(stderr, "smc_races: nobody serves\n");
	return false;
}

static int judge(struct options *options)
{
	struct setting *setting = &options->setting;
	pid_t service = 0;
	int ret = 1;

	if (address_make(&setting->service, AF_INET, options->host ?: "127.0.0.1", options->port) ||
	    address_make(&setting->plain, AF_INET, options->host ?: "127.0.0.1",
			 (uint16_t)(options->port + 1)))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	if (!options->host)
		service = start_service(options);
	if (service >= 0 && served(setting))
		ret = run_all(options);
	if (service > 0) {
		kill(service, SIGKILL);
		waitpid(service, NULL, 0);
	}
	return ret;
}

static int list(const struct options *options)
{
	const struct race *races[RACES_MAX];
	unsigned int count = chosen(options, races);

	for (unsigned int i = 0; i < count; i++)
		puts(races[i]->name);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const expects[] = { "nothing", "smcd", "smcr", NULL };
	static const struct option names[] = {
		{ "to", required_argument, NULL, 't' },
		{ "port", required_argument, NULL, 'p' },
		{ "mode", required_argument, NULL, 'm' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'o' },
		{ "expect", required_argument, NULL, 'e' },
		{ "serve", required_argument, NULL, 'v' },
		{ "list", no_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .port = DEFAULT_PORT, .rounds = 200, .seed = 1 };
	bool service = false;
	bool lists = false;
	int option;

	options.setting.mode = MODE_SMC;
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 't':
			options.host = optarg;
			break;
		case 'v':
			service = true;
			/* fallthrough */
		case 'p':
			options.port = (uint16_t)argument_number(optarg, 10, UINT16_MAX - 1);
			break;
		case 'm':
			options.setting.mode = argument_mode(optarg);
			break;
		case 'n':
			options.rounds = (uint32_t)argument_number(optarg, 10, UINT32_MAX);
			break;
		case 's':
			options.seed = argument_number(optarg, 10, UINT64_MAX);
			break;
		case 'o':
			options.only = optarg;
			break;
		case 'e':
			options.expect = (enum expect)argument_choice(optarg, expects);
			break;
		case 'l':
			lists = true;
			break;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return EXIT_USAGE;
	if (lists)
		return list(&options);
	if (!service)
		return judge(&options);
	serve(options.port, options.setting.mode);
	return 1;
}
