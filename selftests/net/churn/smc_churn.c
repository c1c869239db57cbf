// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens connections, says a few words on each and closes them, again and again.
 *
 *   smc_churn serve PORT [-m mode]
 *   smc_churn call HOST PORT [-n connections] [-j threads] [-s seconds] [-w closer] [-t] [-m mode]
 *             [-u]
 *
 * -m is how sockets are made: smc, inet, ulp, or tcp, which others may make SMC sockets. -u:
 * io_uring makes the client's, for TCP.
 *
 * A connection's first byte says who closes: c (the client, the server after end of stream), s (the
 * server), a (the client, with the answer unread: an abort), m (any of them by turns). -s keeps on
 * until the time is over, whatever -n says. -t takes failed calls as they come; without it the
 * first one ends the run. A changed byte always does. At the end one line:
 *
 *   opened 1000 served 998 failed 2 worst_ms 130 errors ECONNRESET=2
 *
 * worst_ms is the longest that any single call took.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/net.h"
#include "../lib/uring.h"

#define WORDS_BYTES 32
#define BACKLOG 256
#define THREADS_MAX 64
#define STACK_BYTES (128 << 10)
#define ERRNO_MAX 256
#define CLOSERS "csa"

struct run {
	struct address to;
	uint64_t end_ms; /* 0: connections says how long */
	atomic_long connections; /* yet to be opened */
	int tolerant;
	char closer;
	enum mode mode;
	int by_uring;

	atomic_ulong opened;
	atomic_ulong served;
	atomic_ulong failed;
	atomic_ulong worst_ms;
	atomic_int corrupt;
	atomic_ulong errors[ERRNO_MAX];
};

static struct run run;

/* --- the server ----------------------------------------------------------- */

static void *answer(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char words[WORDS_BYTES];
	char rest;

	if (!read_whole(fd, words, sizeof(words)) && !write_whole(fd, words, sizeof(words)) &&
	    words[0] != 's') {
		/* Until the client has closed, whichever way. */
		while (read(fd, &rest, 1) > 0)
			;
	}
	close(fd);
	return NULL;
}

static int serve(uint16_t port)
{
	struct address address;
	pthread_attr_t attributes;
	pthread_t thread;
	int one = 1;
	int listener;
	int fd;

	address_make(&address, AF_INET, NULL, port);
	listener = mode_socket(run.mode, AF_INET, 0);
	if (listener < 0 ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (struct sockaddr *)&address.storage, address.length) ||
	    listen(listener, BACKLOG)) {
		perror("smc_churn");
		return 1;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (pthread_create(&thread, &attributes, answer, (void *)(intptr_t)fd))
			close(fd);
	}
}

/* --- the client ----------------------------------------------------------- */

/* Counts how long a call took that began at start_ms. */
static void took(uint64_t start_ms)
{
	unsigned long ms = now_ms() - start_ms;
	unsigned long worst_ms = run.worst_ms;

	while (ms > worst_ms && !atomic_compare_exchange_weak(&run.worst_ms, &worst_ms, ms))
		;
}

/* 0, or -errno of the call that failed. */
static int converse(int fd, char closer, unsigned long number)
{
	char words[WORDS_BYTES];
	char answered[WORDS_BYTES];
	uint64_t start_ms = now_ms();
	char rest;
	int ret;

	ret = connect(fd, (struct sockaddr *)&run.to.storage, run.to.length) ? -errno : 0;
	took(start_ms);
	if (ret)
		return ret;
	memset(words, 0, sizeof(words));
	snprintf(words, sizeof(words), "%c connection %lu", closer, number);
	start_ms = now_ms();
	ret = write_whole(fd, words, sizeof(words));
	took(start_ms);
	if (ret || closer == 'a')
		return ret;
	start_ms = now_ms();
	ret = read_whole(fd, answered, sizeof(answered));
	took(start_ms);
	if (ret)
		return ret;
	if (memcmp(words, answered, sizeof(words))) {
		run.corrupt = 1;
		return -EBADMSG;
	}
	if (closer != 's')
		return 0;
	start_ms = now_ms();
	ret = read(fd, &rest, 1);
	ret = ret < 0 ? -errno : ret ? -EBADMSG : 0;
	took(start_ms);
	return ret;
}

static int wanted(void)
{
	if (run.corrupt || (run.failed && !run.tolerant))
		return 0;
	if (run.end_ms)
		return now_ms() < run.end_ms;
	return atomic_fetch_sub(&run.connections, 1) > 0;
}

static void *call_thread(void *unused)
{
	uint64_t start_ms;
	unsigned long number;
	char closer;
	int ret;
	int fd;

	while (wanted()) {
		number = run.opened++;
		closer = run.closer == 'm' ? CLOSERS[number % strlen(CLOSERS)] : run.closer;
		fd = run.by_uring ? uring_socket(AF_INET, SOCK_STREAM) :
				    mode_socket(run.mode, AF_INET, 0);
		ret = fd < 0 ? (run.by_uring ? fd : -errno) : converse(fd, closer, number);
		start_ms = now_ms();
		if (fd >= 0)
			close(fd);
		took(start_ms);
		if (!ret) {
			run.served++;
			continue;
		}
		run.failed++;
		run.errors[-ret % ERRNO_MAX]++;
	}
	return unused;
}

static int call(int threads)
{
	pthread_t ids[THREADS_MAX];
	int i;

	for (i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, call_thread, NULL)) {
			perror("smc_churn");
			return 1;
		}
	}
	printf("calling\n");
	fflush(stdout);
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("opened %lu served %lu failed %lu worst_ms %lu errors", run.opened, run.served,
	       run.failed, run.worst_ms);
	for (i = 0; i < ERRNO_MAX; i++) {
		if (run.errors[i])
			printf(" %s=%lu", strerrorname_np(i), run.errors[i]);
	}
	printf("\n");
	return run.corrupt || (run.failed && !run.tolerant);
}

static int usage(void)
{
	fprintf(stderr, "smc_churn serve PORT [-m mode]\n"
			"smc_churn call HOST PORT [-n connections] [-j threads] [-s seconds]"
			" [-w c|s|a|m] [-t] [-m mode] [-u]\n");
	return 2;
}

int main(int argc, char **argv)
{
	int threads = 1;
	int option;

	run.mode = MODE_SMC;
	if (argc == 5 && !strcmp(argv[1], "serve") && !strcmp(argv[3], "-m"))
		run.mode = argument_mode(argv[4]);
	if ((argc == 3 || argc == 5) && !strcmp(argv[1], "serve"))
		return serve(atoi(argv[2]));
	if (argc < 4 || strcmp(argv[1], "call"))
		return usage();
	if (address_make(&run.to, AF_INET, argv[2], atoi(argv[3])))
		return usage();
	run.closer = 'm';
	run.connections = 1;
	optind = 4;
	while ((option = getopt(argc, argv, "n:j:s:w:tm:u")) != -1) {
		switch (option) {
		case 'n':
			run.connections = atol(optarg);
			break;
		case 'j':
			threads = atoi(optarg);
			break;
		case 's':
			run.end_ms = now_ms() + 1000 * strtoul(optarg, NULL, 10);
			break;
		case 'w':
			run.closer = optarg[0];
			break;
		case 't':
			run.tolerant = 1;
			break;
		case 'm':
			run.mode = argument_mode(optarg);
			break;
		case 'u':
			run.by_uring = 1;
			break;
		default:
			return usage();
		}
	}
	if (threads < 1 || threads > THREADS_MAX || !strchr(CLOSERS "m", run.closer))
		return usage();
	return call(threads);
}
