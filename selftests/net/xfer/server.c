// SPDX-License-Identifier: GPL-2.0-only
#include "server.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "transfer.h"

#define THREAD_STACK_BYTES (256 * 1024)
#define BACKLOG_MIN 64
/* After the last transfer the client gets this long to take the report. */
#define WAIT_STEP_MS 100

struct session {
	int control;
	int listener;
	struct plan plan;
	struct tally tally;
	struct smc_stat before;
	int stat_error;
	uint64_t deadline_ms;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int running; /* transfers under way; guarded by lock */
};

struct accepted {
	struct session *session;
	int fd;
	uint16_t client_port;
};

static void *run_transfer(void *argument)
{
	struct accepted *accepted = argument;
	struct session *session = accepted->session;

	transfer(accepted->fd, false, accepted->client_port, &session->plan, &session->tally);
	free(accepted);
	pthread_mutex_lock(&session->lock);
	session->running--;
	pthread_cond_signal(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

static int start_transfer(struct session *session, int fd, uint16_t client_port)
{
	struct accepted *accepted = malloc(sizeof(*accepted));
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	if (!accepted)
		return -ENOMEM;
	*accepted = (struct accepted){ session, fd, client_port };
	pthread_mutex_lock(&session->lock);
	session->running++;
	pthread_mutex_unlock(&session->lock);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, run_transfer, accepted);
	pthread_attr_destroy(&attr);
	if (error) {
		pthread_mutex_lock(&session->lock);
		session->running--;
		pthread_mutex_unlock(&session->lock);
		free(accepted);
	}
	return -error;
}

static void accept_one(struct session *session)
{
	struct address peer = { .length = sizeof(peer.storage) };
	int fd = accept(session->listener, (struct sockaddr *)&peer.storage, &peer.length);
	int ret;

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			tally_failure(&session->tally, "accept: %s", strerror(errno));
		return;
	}
	ret = start_transfer(session, fd, address_port(&peer));
	if (ret) {
		tally_failure(&session->tally, "thread: %s", strerror(-ret));
		close(fd);
	}
}

/* Takes connections until all are there, the client is gone, or time is up. */
static void accept_all(struct session *session)
{
	int taken = 0;

	while (taken < session->plan.connections) {
		struct pollfd pollers[] = {
			{ .fd = session->listener, .events = POLLIN },
			{ .fd = session->control, .events = POLLIN },
		};
		uint64_t now = now_ms();

		if (now >= session->deadline_ms) {
			tally_failure(&session->tally, "timeout: %d of %d connections came", taken,
				      session->plan.connections);
			return;
		}
		if (poll(pollers, 2, (int)(session->deadline_ms - now)) <= 0)
			continue;
		/* The client says nothing more unless it has given up. */
		if (pollers[1].revents) {
			tally_failure(&session->tally, "client gave up: %d of %d connections came",
				      taken, session->plan.connections);
			return;
		}
		if (pollers[0].revents) {
			accept_one(session);
			taken++;
		}
	}
}

static void wait_transfers(struct session *session)
{
	pthread_mutex_lock(&session->lock);
	while (session->running && now_ms() < session->deadline_ms) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_STEP_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&session->changed, &session->lock, &until);
	}
	if (session->running)
		tally_failure(&session->tally, "timeout: %d transfers did not end",
			      session->running);
	pthread_mutex_unlock(&session->lock);
}

static int open_listener(struct session *session)
{
	const struct plan *plan = &session->plan;
	int backlog = plan->parallel > BACKLOG_MIN ? plan->parallel : BACKLOG_MIN;
	struct address address;
	int ret;

	session->listener = mode_socket((enum mode)plan->server_mode, plan->family, SOCK_CLOEXEC);
	if (session->listener < 0)
		return -errno;
	ret = set_buffers(session->listener, plan);
	if (ret)
		return ret;
	address_make(&address, plan->family, NULL, 0);
	if (bind(session->listener, (struct sockaddr *)&address.storage, address.length) < 0 ||
	    listen(session->listener, backlog) < 0 ||
	    getsockname(session->listener, (struct sockaddr *)&address.storage,
			&address.length) < 0)
		return -errno;
	return address_port(&address);
}

static void send_report(struct session *session)
{
	static struct report report; /* too large for the stack of a small system */
	static struct smc_stat after;

	report.magic = XFER_MAGIC;
	tally_read(&session->tally, &report.tally);
	report.stat_error = session->stat_error;
	if (!report.stat_error)
		report.stat_error = -smc_stat_read(&after);
	if (!report.stat_error)
		smc_stat_delta(&report.delta, &session->before, &after);
	report_order(&report);
	write_whole(session->control, &report, sizeof(report));
}

static void run_session(int control)
{
	static struct session session = { .lock = PTHREAD_MUTEX_INITIALIZER,
					  .changed = PTHREAD_COND_INITIALIZER };
	int answer; /* the port, or a negative errno */
	uint32_t sent;

	session.control = control;
	if (read_whole(control, &session.plan, sizeof(session.plan)))
		return;
	plan_order(&session.plan);
	if (session.plan.magic != XFER_MAGIC || session.plan.version != XFER_VERSION)
		return;
	session.deadline_ms = now_ms() + (uint64_t)session.plan.timeout_s * 1000;
	session.stat_error = -smc_stat_read(&session.before);
	answer = open_listener(&session);
	sent = htole32((uint32_t)answer);
	if (write_whole(control, &sent, sizeof(sent)) || answer < 0)
		return;
	accept_all(&session);
	wait_transfers(&session);
	close(session.listener);
	send_report(&session);
}

int serve(uint16_t control_port)
{
	int listener = control_listen(control_port);

	if (listener < 0)
		return listener;
	puts("ready");
	fflush(stdout);
	return control_serve(listener, run_session);
}
