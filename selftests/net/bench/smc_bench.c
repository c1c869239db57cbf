// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_bench: how fast sockets are, between two hosts or inside one, and pipes.
 *
 *   smc_bench --serve [--port PORT]          on one host; stays
 *   smc_bench --to HOST --test TEST …        on the other; one line of JSON
 *
 * rtt: round trips of --size bytes each way, µs for one; over several --connections a message goes
 * out on each of them before the answers are read, and the peer waits by epoll. bulk: one
 * direction, MiB/s until the peer has read all; rate: the same in messages per second. connect:
 * connect, a byte each way, close; connections per second. Each runs for --seconds after a warm-up,
 * which also pays for what only a first connection costs.
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
#include <sys/epoll.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../lib/argument.h"
#include "../lib/smc_stat.h"

#define PORT_DEFAULT 7400
#define BACKLOG 64
#define SIZE_MAX_BYTES (1 << 20)
#define WARM_UP_ROUNDS 20
#define WARM_UP_CONNECTIONS 2
#define CHANNELS_MAX 1000

enum bench_test { TEST_RTT, TEST_BULK, TEST_RATE, TEST_CONNECT };

/*
 * Channels inside one host, in addition to enum mode. The server of pipes is a child of the client.
 */
enum { MODE_UNIX = MODE_COUNT, MODE_PIPE };

struct order {
	int32_t mode; /* enum mode and the two above, the client's */
	int32_t server_mode;
	int32_t family;
	int32_t test; /* enum bench_test */
	int32_t size_bytes;
	int32_t channels; /* connections at a time */
};

/* A connection: the same descriptor twice, or the ends of two pipes. */
struct channel {
	int in;
	int out;
};

static char buffer[SIZE_MAX_BYTES];
static struct channel channels[CHANNELS_MAX];
/* Of the client, in the whole run. */
static uint64_t connections;
static uint64_t messages; /* both ways */

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

static int put_whole(const struct channel *channel, const void *data, size_t length)
{
	const char *in = data;

	if (channel->in == channel->out)
		return write_whole(channel->out, data, length);
	while (length) {
		ssize_t put = write(channel->out, in, length);

		if (put < 0)
			return -errno;
		in += put;
		length -= (size_t)put;
	}
	return 0;
}

static void close_channel(const struct channel *channel)
{
	close(channel->in);
	if (channel->out != channel->in)
		close(channel->out);
}

static int open_socket(int mode, int family)
{
	if (mode == MODE_UNIX)
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return mode_socket((enum mode)mode, family, SOCK_CLOEXEC);
}

/* Abstract: the number becomes its name. Without a number the kernel chooses one. */
static void unix_address(struct address *address, int32_t number)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&address->storage;

	memset(address, 0, sizeof(*address));
	un->sun_family = AF_UNIX;
	address->length = sizeof(un->sun_family);
	if (number >= 0)
		address->length += 1 + sprintf(un->sun_path + 1, "%05" PRIx32, (uint32_t)number);
}

static int32_t unix_number(const struct address *address)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&address->storage;

	return (int32_t)strtol(un->sun_path + 1, NULL, 16);
}

/* --- the server ------------------------------------------------------------------------------- */

static int echo(const struct channel *channel, size_t size)
{
	int ret = read_whole(channel->in, buffer, size);

	return ret ? ret : put_whole(channel, buffer, size);
}

/* On several at once, until the client has ended all of them. */
static void serve_echo_many(int count, size_t size)
{
	struct epoll_event events[CHANNELS_MAX];
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int left = count;

	for (int i = 0; i < count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		epoll_ctl(epoll, EPOLL_CTL_ADD, channels[i].in, &event);
	}
	while (left) {
		int ready = epoll_wait(epoll, events, CHANNELS_MAX, -1);

		for (int i = 0; i < ready; i++) {
			const struct channel *channel = &channels[events[i].data.u32];

			if (!echo(channel, size))
				continue;
			epoll_ctl(epoll, EPOLL_CTL_DEL, channel->in, NULL);
			left--;
		}
	}
	close(epoll);
}

/* Reads all that has arrived, and returns how many bytes that were. */
static void serve_sink(const struct channel *channel)
{
	uint64_t total = 0;
	ssize_t got;

	while ((got = read(channel->in, buffer, sizeof(buffer))) > 0)
		total += (uint64_t)got;
	put_whole(channel, &total, sizeof(total));
}

/* Serves the open channels as the order says, until the client closes them. */
static void serve_order(const struct order *order)
{
	size_t size = (size_t)order->size_bytes;

	if (order->test == TEST_BULK || order->test == TEST_RATE)
		serve_sink(&channels[0]);
	else if (order->channels > 1)
		serve_echo_many(order->channels, size);
	else
		while (!echo(&channels[0], size))
			;
	for (int i = 0; i < order->channels; i++)
		close_channel(&channels[i]);
}

/* number: the port, or the number of the AF_UNIX name. */
static int open_listener(const struct order *order, int32_t *number)
{
	bool local = order->server_mode == MODE_UNIX;
	struct address address;
	int fd = open_socket(order->server_mode, order->family);

	if (local)
		unix_address(&address, -1);
	else
		address_make(&address, order->family, NULL, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	address.length = sizeof(address.storage);
	if (getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0)
		return -errno;
	*number = local ? unix_number(&address) : address_port(&address);
	return fd;
}

/* The session is a process; the client ends it by ending the control connection. */
static void run_session(int control)
{
	struct order order;
	int32_t answer = 0;
	int listener;

	if (read_whole(control, &order, sizeof(order)))
		return;
	listener = open_listener(&order, &answer);
	if (listener < 0)
		answer = listener;
	if (write_whole(control, &answer, sizeof(answer)) || listener < 0)
		return;
	if (fork() == 0) {
		for (;;) {
			for (int i = 0; i < order.channels;) {
				int fd = accept(listener, NULL, NULL);

				if (fd >= 0)
					channels[i++] = (struct channel){ fd, fd };
			}
			serve_order(&order);
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
	int fd = open_socket(order->mode, order->family);
	int one = 1;

	if (fd < 0)
		die("socket", errno);
	if (connect(fd, (const struct sockaddr *)&server->storage, server->length) < 0)
		die("connect", errno);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Pipes there and back, and a child that serves their other ends. */
static void open_pipes(const struct order *order)
{
	struct channel there[CHANNELS_MAX];

	for (int i = 0; i < order->channels; i++) {
		int out[2];
		int back[2];

		if (pipe(out) < 0 || pipe(back) < 0)
			die("pipe", errno);
		there[i] = (struct channel){ out[0], back[1] };
		channels[i] = (struct channel){ back[0], out[1] };
	}
	switch (fork()) {
	case -1:
		die("fork", errno);
	case 0:
		for (int i = 0; i < order->channels; i++)
			close_channel(&channels[i]);
		memcpy(channels, there, sizeof(there));
		serve_order(order);
		_exit(EXIT_SUCCESS);
	}
	for (int i = 0; i < order->channels; i++)
		close_channel(&there[i]);
}

static void open_channels(const struct order *order, const struct address *server)
{
	connections += (uint64_t)order->channels;
	if (order->mode == MODE_PIPE) {
		open_pipes(order);
		return;
	}
	for (int i = 0; i < order->channels; i++) {
		int fd = connected_socket(order, server);

		channels[i] = (struct channel){ fd, fd };
	}
}

static void close_channels(const struct order *order)
{
	for (int i = 0; i < order->channels; i++)
		close_channel(&channels[i]);
}

/* One round trip on each channel. */
static void round_trips(const struct order *order)
{
	size_t size = (size_t)order->size_bytes;
	int ret = 0;

	for (int i = 0; i < order->channels && !ret; i++)
		ret = put_whole(&channels[i], buffer, size);
	for (int i = 0; i < order->channels && !ret; i++)
		ret = read_whole(channels[i].in, buffer, size);
	if (ret)
		die("round trip", -ret);
	messages += 2 * (uint64_t)order->channels;
}

/* µs for one round trip. */
static double run_rtt(const struct order *order, const struct address *server, double seconds)
{
	uint64_t rounds = 0;
	double start_s;
	double elapsed_s;

	open_channels(order, server);
	for (int i = 0; i < WARM_UP_ROUNDS; i++)
		round_trips(order);
	start_s = now_s();
	do {
		round_trips(order);
		rounds++;
		elapsed_s = now_s() - start_s;
	} while (elapsed_s < seconds);
	close_channels(order);
	return elapsed_s * 1e6 / (double)rounds / order->channels;
}

static void end_output(const struct channel *channel)
{
	if (channel->in != channel->out)
		close(channel->out);
	else if (shutdown(channel->out, SHUT_WR) < 0)
		die("shutdown", errno);
}

/* Messages per second, until the peer has read the last byte. */
static double run_one_way(const struct order *order, const struct address *server, double seconds)
{
	size_t size = (size_t)order->size_bytes;
	uint64_t count = 0;
	uint64_t read_there;
	double start_s;
	double elapsed_s;
	int ret;

	open_channels(order, server);
	start_s = now_s();
	do {
		ret = put_whole(&channels[0], buffer, size);
		if (ret)
			die("send", -ret);
		count++;
	} while (now_s() - start_s < seconds);
	end_output(&channels[0]);
	ret = read_whole(channels[0].in, &read_there, sizeof(read_there));
	if (ret)
		die("end of bulk", -ret);
	if (read_there != count * size)
		die("bytes were lost", EIO);
	messages += count;
	elapsed_s = now_s() - start_s;
	close(channels[0].in);
	return (double)count / elapsed_s;
}

static void one_connection(const struct order *order, const struct address *server)
{
	open_channels(order, server);
	round_trips(order);
	close_channels(order);
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
		return run_one_way(order, server, seconds) * order->size_bytes / (1 << 20);
	case TEST_RATE:
		return run_one_way(order, server, seconds);
	case TEST_CONNECT:
		return run_connect(order, server, seconds);
	}
	die("test", EINVAL);
}

/*
 * Sends the order to the server and receives where it listens. Returns the control connection,
 * which keeps the session alive.
 */
static int call_server(const struct order *order, struct address *server)
{
	int control = control_connect(server);
	int32_t answer;
	int ret;

	if (control < 0)
		die("server", -control);
	ret = write_whole(control, order, sizeof(*order));
	if (!ret)
		ret = read_whole(control, &answer, sizeof(answer));
	if (ret || answer < 0)
		die("server", ret ? -ret : -answer);
	if (order->server_mode == MODE_UNIX)
		unix_address(server, answer);
	else
		address_set_port(server, (uint16_t)answer);
	return control;
}

static void run_client(const struct order *order, const struct address *server, double seconds)
{
	static const char *const units[] = { "us", "MiB/s", "messages/s", "connections/s" };
	static struct smc_stat before;
	static struct smc_stat after;
	static struct smc_stat delta;
	struct address data = *server;
	int control = order->mode == MODE_PIPE ? -1 : call_server(order, &data);
	double value;

	if (!smc_stat_read(&before)) {
		value = run_test(order, &data, seconds);
		smc_stat_read(&after);
		smc_stat_delta(&delta, &before, &after);
	} else {
		value = run_test(order, &data, seconds);
	}
	if (control >= 0)
		close(control);
	printf("{\"value\":%.3f,\"unit\":\"%s\",\"connections\":%" PRIu64 ",\"messages\":%" PRIu64
	       ",\"smcr\":%" PRIu64 ",\"smcd\":%" PRIu64 ",\"fallbacks\":%" PRIu64
	       ",\"server_fallbacks\":%" PRIu64 "}\n",
	       value, units[order->test], connections, messages, delta.smcr.client_handshakes,
	       delta.smcd.client_handshakes, delta.client_fallbacks, delta.server_fallbacks);
}

static void usage(FILE *out)
{
	fputs("Usage: smc_bench --serve [--port PORT]\n"
	      "       smc_bench --to HOST --test rtt|bulk|rate|connect [--port PORT] [options]\n"
	      "\n"
	      "  --mode tcp|smc|inet|ulp|selected|unix|pipe   (tcp)\n"
	      "  --server-mode MODE                  if it is not the same\n"
	      "  --size BYTES                        of a message (1); of a send call for bulk\n"
	      "  --connections N                     that rtt takes its turns on (1)\n"
	      "  --seconds S                         (1.0)\n",
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
		{ "connections", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 'd' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const tests[] = { "rtt", "bulk", "rate", "connect", NULL };
	static const char *const modes[] = {
		[MODE_TCP] = "tcp",	  [MODE_SMC] = "smc",
		[MODE_INET_SMC] = "inet", [MODE_ULP] = "ulp",
		[MODE_SELECTED] = "selected",
		[MODE_UNIX] = "unix",	  [MODE_PIPE] = "pipe",
		NULL,
	};
	struct order order = {
		.mode = MODE_TCP, .server_mode = -1, .test = -1, .size_bytes = 1, .channels = 1
	};
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
			order.mode = argument_choice(optarg, modes);
			break;
		case 'n':
			order.server_mode = argument_choice(optarg, modes);
			break;
		case 'l':
			order.size_bytes = (int32_t)argument_number(optarg, 10, SIZE_MAX_BYTES);
			break;
		case 'c':
			order.channels = (int32_t)argument_number(optarg, 10, CHANNELS_MAX);
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
	if (!host || order.test < 0 || order.size_bytes < 1 || order.channels < 1 ||
	    (order.channels > 1 && order.test != TEST_RTT) || seconds <= 0 ||
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
