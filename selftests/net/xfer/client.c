// SPDX-License-Identifier: GPL-2.0-only
#include "client.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "transfer.h"

#define THREAD_STACK_BYTES (256 * 1024)
/* The server's own deadline comes first, so that its report says what was missing. */
#define REPORT_GRACE_MS 5000

struct run {
	const struct plan *plan;
	struct address data; /* where the server listens for this run */
	struct tally tally;
	atomic_int next; /* connections handed out to the workers */
	pthread_barrier_t connected;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int workers; /* guarded by lock */
};

static int wait_connected(int fd, int timeout_ms)
{
	int ret = wait_events(fd, POLLOUT, timeout_ms);
	socklen_t length = sizeof(int);
	int error;

	if (ret)
		return ret;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	return -error;
}

static int connect_to(int fd, const struct run *run)
{
	const struct plan *plan = run->plan;
	int ret = 0;

	if (plan->connect_nonblock && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&run->data.storage, run->data.length) < 0) {
		if (!plan->connect_nonblock || errno != EINPROGRESS)
			return -errno;
		ret = wait_connected(fd, plan->timeout_s * 1000);
	}
	if (!ret && plan->connect_nonblock && fcntl(fd, F_SETFL, 0) < 0)
		return -errno;
	return ret;
}

/* A connected socket and the local port that names the connection, or -1. */
static int open_connection(struct run *run, uint16_t *port)
{
	struct address local = { .length = sizeof(local.storage) };
	int fd = mode_socket((enum mode)run->plan->client_mode, run->plan->family, SOCK_CLOEXEC);
	int ret;

	if (fd < 0) {
		tally_failure(&run->tally, "client socket: %s", strerror(errno));
		return -1;
	}
	ret = set_buffers(fd, run->plan);
	if (!ret)
		ret = connect_to(fd, run);
	if (!ret && getsockname(fd, (struct sockaddr *)&local.storage, &local.length) < 0)
		ret = -errno;
	if (ret) {
		tally_failure(&run->tally, "client connect: %s", strerror(-ret));
		close(fd);
		return -1;
	}
	*port = address_port(&local);
	return fd;
}

static void *work(void *argument)
{
	struct run *run = argument;

	while (atomic_fetch_add(&run->next, 1) < run->plan->connections) {
		uint16_t port;
		int fd = open_connection(run, &port);

		if (run->plan->hold)
			pthread_barrier_wait(&run->connected);
		if (fd < 0)
			break;
		transfer(fd, true, port, run->plan, &run->tally);
	}
	pthread_mutex_lock(&run->lock);
	run->workers--;
	pthread_cond_signal(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

static void start_workers(struct run *run)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < run->plan->parallel; i++) {
		pthread_t thread;
		int error;

		pthread_mutex_lock(&run->lock);
		run->workers++;
		pthread_mutex_unlock(&run->lock);
		error = pthread_create(&thread, &attr, work, run);
		if (!error)
			continue;
		pthread_mutex_lock(&run->lock);
		run->workers--;
		pthread_mutex_unlock(&run->lock);
		tally_failure(&run->tally, "client thread: %s", strerror(error));
		break;
	}
	pthread_attr_destroy(&attr);
}

static void wait_workers(struct run *run, uint64_t deadline_ms)
{
	pthread_mutex_lock(&run->lock);
	while (run->workers && now_ms() < deadline_ms) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&run->changed, &run->lock, &until);
	}
	if (run->workers)
		tally_failure(&run->tally, "client timeout: %d workers did not end", run->workers);
	pthread_mutex_unlock(&run->lock);
}

static int read_report(int control, struct report *report, uint64_t deadline_ms)
{
	struct pollfd poller = { .fd = control, .events = POLLIN };
	uint64_t now = now_ms();
	int wait = now < deadline_ms ? (int)(deadline_ms - now) : 0;
	int ret;

	if (poll(&poller, 1, wait) != 1)
		return -ETIMEDOUT;
	ret = read_whole(control, report, sizeof(*report));
	report_order(report);
	if (!ret && report->magic != XFER_MAGIC)
		ret = -EPROTO;
	return ret;
}

/* The port of the run at the server, or a negative errno. */
static int announce(int control, const struct plan *plan)
{
	struct plan sent = *plan;
	uint32_t answer;
	int ret;

	plan_order(&sent);
	ret = write_whole(control, &sent, sizeof(sent));
	if (!ret)
		ret = read_whole(control, &answer, sizeof(answer));
	return ret ? ret : (int32_t)le32toh(answer);
}

int run_plan(const struct plan *plan, const struct address *server, struct outcome *outcome)
{
	/* Stuck workers may outlive the call, so what they use must, too. */
	static struct run run = { .lock = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER };
	static struct smc_stat before;
	static struct smc_stat after;
	uint64_t start_ms = now_ms();
	uint64_t deadline_ms = start_ms + (uint64_t)plan->timeout_s * 1000;
	int control = control_connect(server);
	int ret;

	memset(outcome, 0, sizeof(*outcome));
	if (control < 0)
		return control;
	ret = announce(control, plan);
	if (ret < 0) {
		close(control);
		return ret;
	}
	run.plan = plan;
	run.data = *server;
	address_set_port(&run.data, (uint16_t)ret);
	pthread_barrier_init(&run.connected, NULL, (unsigned int)plan->parallel);
	outcome->client.stat_error = -smc_stat_read(&before);

	start_ms = now_ms();
	start_workers(&run);
	wait_workers(&run, deadline_ms);
	outcome->elapsed_ms = now_ms() - start_ms;

	tally_read(&run.tally, &outcome->client.tally);
	if (outcome->client.tally.failures)
		shutdown(control, SHUT_WR); /* the server need not wait for missing connections */
	ret = read_report(control, &outcome->server, deadline_ms + REPORT_GRACE_MS);
	close(control);
	if (ret) {
		outcome->server.tally.failures = 1;
		snprintf(outcome->server.tally.error, sizeof(outcome->server.tally.error),
			 "no report from the server: %s", strerror(-ret));
	}
	if (!outcome->client.stat_error)
		outcome->client.stat_error = -smc_stat_read(&after);
	if (!outcome->client.stat_error)
		smc_stat_delta(&outcome->client.delta, &before, &after);
	return 0;
}
