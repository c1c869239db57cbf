// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_bench: how fast sockets are, between two hosts.
 *
 *   smc_bench --serve [--port PORT]          on one host; stays
 *   smc_bench --to HOST --test TEST …        on the other; one line of JSON
 *
 * rtt: round trips of --size bytes each way, µs for one. bulk: one direction, MiB/s until the peer
 * has read all. connect: connect, a byte each way, close; connections per second. Each runs for
 * --seconds after a warm-up, which also pays for what only a first connection costs.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/smc_stat.h"

#define PORT_DEFAULT 7400
#define BACKLOG 64
#define SIZE_MAX_BYTES (1 << 20)
#define WARM_UP_ROUNDS 20
#define WARM_UP_CONNECTIONS 2

enum bench_test { TEST_RTT, TEST_BULK, TEST_CONNECT };

struct order {
	int32_t mode; /* enum mode, the client's */
	int32_t server_mode;
	int32_t family;
	int32_t test; /* enum bench_test */
	int32_t size_bytes;
};

static char buffer[SIZE_MAX_BYTES];

__attribute__((noreturn)) static void die(const char *what, int error)
{
	fprintf(stderr, "smc_bench: %s: %s\n", what, strerror(error));
	exit(EXIT_FAILURE);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- the server ------------------------------------------------------------------------------- */

/* Answers each size bytes with as many, until the client ends. */
static void serve_echo(int fd, size_t size)
{
	while (!read_whole(fd, buffer, size) && !write_whole(fd, buffer, size))
		;
}

/* Takes all there is and tells how much that was. */
static void serve_sink(int fd)
{
	uint64_t total = 0;
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		total += (uint64_t)got;
	write_whole(fd, &total, sizeof(total));
}

static int open_listener(const struct order *order, uint16_t *port)
{
	struct address address;
	int fd = mode_socket((enum mode)order->server_mode, order->family, SOCK_CLOEXEC);

	address_make(&address, order->family, NULL, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0)
		return -errno;
	*port = address_port(&address);
	return fd;
}

/* The session is a process; the client ends it by ending the control connection. */
static void run_session(int control)
{
	struct order order;
	uint16_t port = 0;
	int32_t answer;
	int listener;

	if (read_whole(control, &order, sizeof(order)))
		return;
	listener = open_listener(&order, &port);
	answer = listener < 0 ? listener : port;
	if (write_whole(control, &answer, sizeof(answer)) || listener < 0)
		return;
	if (fork() == 0) {
		for (;;) {
			int fd = accept(listener, NULL, NULL);

			if (fd < 0)
				continue;
			if (order.test == TEST_BULK)
				serve_sink(fd);
			else
				serve_echo(fd, (size_t)order.size_bytes);
			close(fd);
		}
	}
	read_whole(control, &answer, sizeof(answer));
	kill(0, SIGKILL);
}

static void serve(uint16_t port)
{
	int listener = control_listen(port);

	if (listener < 0)
		die("listen", -listener);
	signal(SIGCHLD, SIG_IGN);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int control = accept(listener, NULL, NULL);

		if (control >= 0 && fork() == 0) {
			setpgid(0, 0); /* so that the session can end itself as a whole */
			run_session(control);
			_exit(EXIT_SUCCESS);
		}
		if (control >= 0)
			close(control);
	}
}

/* --- the client ------------------------------------------------------------------------------- */

static int connected_socket(const struct order *order, const struct address *server)
{
	int fd = mode_socket((enum mode)order->mode, order->family, SOCK_CLOEXEC);
	int one = 1;

	if (fd < 0)
		die("socket", errno);
	if (connect(fd, (const struct sockaddr *)&server->storage, server->length) < 0)
		die("connect", errno);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void round_trip(int fd, size_t size)
{
	int ret = write_whole(fd, buffer, size);

	if (!ret)
		ret = read_whole(fd, buffer, size);
	if (ret)
		die("round trip", -ret);
}

/* µs for one round trip. */
static double run_rtt(const struct order *order, const struct address *server, double seconds)
{
	int fd = connected_socket(order, server);
	size_t size = (size_t)order->size_bytes;
	uint64_t rounds = 0;
	double start_s;
	double elapsed_s;

	for (int i = 0; i < WARM_UP_ROUNDS; i++)
		round_trip(fd, size);
	start_s = now_s();
	do {
		round_trip(fd, size);
		rounds++;
		elapsed_s = now_s() - start_s;
	} while (elapsed_s < seconds);
	close(fd);
	return elapsed_s * 1e6 / (double)rounds;
}

/* MiB/s, until the peer has read the last byte. */
static double run_bulk(const struct order *order, const struct address *server, double seconds)
{
	int fd = connected_socket(order, server);
	uint64_t total = 0;
	uint64_t read_there;
	double start_s = now_s();
	int ret;

	do {
		ret = write_whole(fd, buffer, (size_t)order->size_bytes);
		if (ret)
			die("send", -ret);
		total += (uint64_t)order->size_bytes;
	} while (now_s() - start_s < seconds);
	if (shutdown(fd, SHUT_WR) < 0)
		die("shutdown", errno);
	ret = read_whole(fd, &read_there, sizeof(read_there));
	if (ret)
		die("end of bulk", -ret);
	if (read_there != total)
		die("bytes were lost", EIO);
	close(fd);
	return (double)total / (1 << 20) / (now_s() - start_s);
}

static void one_connection(const struct order *order, const struct address *server)
{
	int fd = connected_socket(order, server);

	round_trip(fd, (size_t)order->size_bytes);
	close(fd);
}

/* Connections per second. */
static double run_connect(const struct order *order, const struct address *server, double seconds)
{
	uint64_t count = 0;
	double start_s;
	double elapsed_s;

	for (int i = 0; i < WARM_UP_CONNECTIONS; i++)
		one_connection(order, server);
	start_s = now_s();
	do {
		one_connection(order, server);
		count++;
		elapsed_s = now_s() - start_s;
	} while (elapsed_s < seconds);
	return (double)count / elapsed_s;
}

static double run_test(const struct order *order, const struct address *server, double seconds)
{
	switch ((enum bench_test)order->test) {
	case TEST_RTT:
		return run_rtt(order, server, seconds);
	case TEST_BULK:
		return run_bulk(order, server, seconds);
	case TEST_CONNECT:
		return run_connect(order, server, seconds);
	}
	die("test", EINVAL);
}

static void run_client(const struct order *order, const struct address *server, double seconds)
{
	static const char *const units[] = { "us", "MiB/s", "connections/s" };
	static struct smc_stat before;
	static struct smc_stat after;
	static struct smc_stat delta;
	struct address data = *server;
	int control = control_connect(server);
	int32_t answer;
	double value;
	int ret;

	if (control < 0)
		die("server", -control);
	ret = write_whole(control, order, sizeof(*order));
	if (!ret)
		ret = read_whole(control, &answer, sizeof(answer));
	if (ret || answer < 0)
		die("server", ret ? -ret : -answer);
	address_set_port(&data, (uint16_t)answer);
	if (!smc_stat_read(&before)) {
		value = run_test(order, &data, seconds);
		smc_stat_read(&after);
		smc_stat_delta(&delta, &before, &after);
	} else {
		value = run_test(order, &data, seconds);
	}
	close(control);
	printf("{\"value\":%.3f,\"unit\":\"%s\",\"smcr\":%" PRIu64 ",\"smcd\":%" PRIu64
	       ",\"fallbacks\":%" PRIu64
	       ",\"server_fallbacks\":%" PRIu64 "}\n",
	       value, units[order->test], delta.smcr.client_handshakes,
	       delta.smcd.client_handshakes, delta.client_fallbacks, delta.server_fallbacks);
}

static void usage(FILE *out)
{
	fputs("Usage: smc_bench --serve [--port PORT]\n"
	      "       smc_bench --to HOST --test rtt|bulk|connect [--port PORT] [options]\n"
	      "\n"
	      "  --mode tcp|smc|inet   (tcp)\n"
	      "  --server-mode MODE    if it is not the same\n"
	      "  --size BYTES          of a message (1); of a send call for bulk\n"
	      "  --seconds S           (1.0)\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "serve", no_argument, NULL, 's' },	  { "to", required_argument, NULL, 't' },
		{ "port", required_argument, NULL, 'p' }, { "test", required_argument, NULL, 'b' },
		{ "mode", required_argument, NULL, 'm' },
		{ "server-mode", required_argument, NULL, 'n' },
		{ "size", required_argument, NULL, 'l' },
		{ "seconds", required_argument, NULL, 'd' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const tests[] = { "rtt", "bulk", "connect", NULL };
	struct order order = { .mode = MODE_TCP, .server_mode = -1, .test = -1, .size_bytes = 1 };
	struct address server;
	const char *host = NULL;
	double seconds = 1;
	bool serving = false;
	uint16_t port = PORT_DEFAULT;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			serving = true;
			break;
		case 't':
			host = optarg;
			break;
		case 'p':
			port = (uint16_t)argument_number(optarg, 10, UINT16_MAX);
			break;
		case 'b':
			order.test = argument_choice(optarg, tests);
			break;
		case 'm':
			order.mode = (int32_t)argument_mode(optarg);
			break;
		case 'n':
			order.server_mode = (int32_t)argument_mode(optarg);
			break;
		case 'l':
			order.size_bytes = (int32_t)argument_number(optarg, 10, SIZE_MAX_BYTES);
			break;
		case 'd':
			seconds = atof(optarg);
			break;
		case 'h':
			usage(stdout);
			return EXIT_SUCCESS;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	signal(SIGPIPE, SIG_IGN);
	if (serving)
		serve(port);
	if (!host || order.test < 0 || order.size_bytes < 1 || seconds <= 0 ||
	    address_make(&server, AF_UNSPEC, host, port)) {
		usage(stderr);
		return EXIT_USAGE;
	}
	order.family = server.storage.ss_family;
	if (order.server_mode < 0)
		order.server_mode = order.mode;
	run_client(&order, &server, seconds);
	return EXIT_SUCCESS;
}
