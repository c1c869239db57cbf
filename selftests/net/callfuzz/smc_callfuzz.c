// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of socket calls, inside one host: what each call gives on TCP, and what on SMC.
 *
 *   smc_callfuzz [--mode tcp|smc|inet|ulp|mixed] [--sequences N] [--seed S] [--expect-smcd]
 *   smc_callfuzz --show SEED [--mode …]       one sequence, call by call
 *   smc_callfuzz --wild [--sequences N] …     nothing is compared, and nothing left out
 *
 * Sequence number i of a run has the seed S + i. In mode "mixed" each socket is drawn one of the
 * four. Mode tcp compares TCP with itself, and must not find anything. A difference is printed as
 * the shortest sequence that shows it. TAP, with one case.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/smc_stat.h"
#include "compare.h"
#include "wild.h"

/* A call that takes so long hangs. */
#define PATIENCE_MS 90000
#define WATCH_MS 100
/* Enough for one run; each of them takes a while to shorten. */
#define DIFFERENCES_MAX 3
/* At least one SMC connection in so many sequences. */
#define SEQUENCES_PER_HANDSHAKE 4

struct options {
	enum mode mode;
	uint64_t sequences;
	uint64_t seed;
	bool wild;
	bool show;
	bool expect_smcd;
};

static const char *mode_text(enum mode mode)
{
	return mode == MODE_COUNT ? "mixed" : mode_name(mode);
}

/* How many differences. */
static int compare_all(const struct options *options, struct progress *progress)
{
	static struct comparison comparison;
	int found = 0;

	world_make(&comparison.world);
	comparison.progress = progress;
	for (uint64_t i = 0; i < options->sequences && found < DIFFERENCES_MAX; i++) {
		struct sequence sequence;

		progress->seed = options->seed + i;
		progress->sequences++;
		sequence_draw(&sequence, progress->seed, options->mode, true);
		if (options->show) {
			show(&comparison, &sequence);
			continue;
		}
		if (differs(&comparison, &sequence)) {
			found++;
			shorten(&comparison, &sequence);
			show(&comparison, &sequence);
		}
		for (unsigned int at = 0; at < sequence.count; at++)
			progress->good_calls += comparison.on_smc.outcomes[at].ret >= 0;
		progress->calls += sequence.count;
	}
	return found;
}

static void play_all(const struct options *options, struct progress *progress)
{
	static struct world world;

	world_make(&world);
	for (uint64_t i = 0; i < options->sequences; i++) {
		progress->seed = options->seed + i;
		progress->sequences++;
		wild_round(&world, progress->seed, options->mode, progress);
	}
}

static pid_t start(const struct options *options, struct progress *progress)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* FIOASYNC and MSG_OOB, and sending to nobody. */
	signal(SIGIO, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGURG, SIG_IGN);
	if (options->wild) {
		play_all(options, progress);
		_exit(0);
	}
	_exit(compare_all(options, progress));
}

/* The exit status of the run; -1 if it was killed, or had to be. */
static int watch_over(pid_t pid, const struct progress *progress)
{
	uint64_t since_ms = now_ms();
	uint64_t seen = 0;
	uint64_t now;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		sleep_ms(WATCH_MS);
		now = progress->sequences * CALLS_MAX + progress->at;
		if (now != seen) {
			seen = now;
			since_ms = now_ms();
		}
		if (now_ms() - since_ms > PATIENCE_MS) {
			printf("# hangs in call %u of seed %" PRIu64 "\n", progress->at,
			       progress->seed);
			kill(pid, SIGKILL);
			return -1;
		}
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	printf("# killed by signal %d in seed %" PRIu64 "\n", WTERMSIG(status), progress->seed);
	return -1;
}

static uint64_t handshakes(void)
{
	struct smc_stat stat;

	return smc_stat_read(&stat) ? 0 : stat.smcd.client_handshakes;
}

static int judge(const struct options *options)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t before;
	uint64_t by_smc;
	bool good;
	pid_t pid;

	if (progress == MAP_FAILED) {
		perror("smc_callfuzz");
		return 1;
	}
	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	before = handshakes();
	pid = start(options, progress);
	if (pid < 0) {
		perror("smc_callfuzz");
		return 1;
	}
	good = watch_over(pid, progress) == 0;
	by_smc = handshakes() - before;
	if (options->expect_smcd && by_smc * SEQUENCES_PER_HANDSHAKE < options->sequences) {
		printf("# too few by SMC-D\n");
		good = false;
	}
	printf("%s 1 - %s%s, seeds from %" PRIu64 ": %" PRIu64 " sequences, %" PRIu64
	       " calls (%" PRIu64 " good), %" PRIu64 " differed in haste, %" PRIu64 " by SMC-D\n",
	       good ? "ok" : "not ok", mode_text(options->mode), options->wild ? ", wild" : "",
	       options->seed, options->sequences, progress->calls, progress->good_calls,
	       progress->repeated, by_smc);
	return !good;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "mode", required_argument, NULL, 'm' },
		{ "sequences", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "show", required_argument, NULL, 'o' },
		{ "wild", no_argument, NULL, 'w' },
		{ "expect-smcd", no_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .mode = MODE_COUNT, .sequences = 1000, .seed = 1 };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'm':
			options.mode = strcmp(optarg, "mixed") ? argument_mode(optarg) : MODE_COUNT;
			break;
		case 'n':
			options.sequences = argument_number(optarg, 10, UINT32_MAX);
			break;
		case 'o':
			options.show = true;
			options.sequences = 1;
			options.seed = argument_number(optarg, 10, UINT64_MAX);
			break;
		case 's':
			options.seed = argument_number(optarg, 10, UINT64_MAX);
			break;
		case 'w':
			options.wild = true;
			break;
		case 'e':
			options.expect_smcd = true;
			break;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return EXIT_USAGE;
	return judge(&options);
}
