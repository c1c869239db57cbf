// SPDX-License-Identifier: GPL-2.0-only
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "execute.h"
#include "op.h"
#include "../lib/smc_stat.h"

#define ACTORS_MAX 16
#define ACTOR_STACK_BYTES (256 * 1024)

struct session {
	int listener; /* further actors */
	int port;
	atomic_int actor_count;
	pthread_t actors[ACTORS_MAX];
};

static struct session session;

static void on_interrupt(int signal)
{
	(void)signal;
}

static void watch_signals(void)
{
	/* Without SA_RESTART: a blocking call must come back with EINTR. */
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	struct sigaction count = { .sa_handler = execute_on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &interrupt, NULL);
	sigaction(SIGPIPE, &count, NULL);
	sigaction(SIGIO, &count, NULL);
	sigaction(SIGURG, &count, NULL);
}

static bool reply_to(int control, const struct reply *reply)
{
	return write_whole(control, reply, sizeof(*reply)) == 0;
}

static bool reply_stat(int control, struct reply *reply)
{
	struct smc_stat *stat = malloc(sizeof(*stat));
	int ret = stat ? smc_stat_read(stat) : -ENOMEM;
	bool good;

	reply->ret = ret ? -1 : 0;
	reply->error = -ret;
	good = reply_to(control, reply) &&
	       (ret || write_whole(control, stat, sizeof(*stat)) == 0);
	free(stat);
	return good;
}

static void session_run(int control);

/* The child has the same sockets and a control port of its own. */
static void fork_session(int control, struct reply *reply)
{
	int listener = control_listen(0);
	struct address address = { .length = sizeof(address.storage) };

	if (listener < 0 ||
	    getsockname(listener, (struct sockaddr *)&address.storage, &address.length) < 0) {
		reply->error = errno;
		return;
	}
	switch (fork()) {
	case 0:
		close(control);
		close(session.listener);
		control = accept(listener, NULL, NULL);
		close(listener);
		if (control >= 0)
			session_run(control);
		_exit(EXIT_FAILURE);
	case -1:
		reply->error = errno;
		break;
	default:
		reply->ret = address_port(&address);
		break;
	}
	close(listener);
}

static bool serve_one(int control)
{
	struct request request;
	struct reply reply = { .ret = -1 };

	if (read_whole(control, &request, sizeof(request)))
		return false;
	reply.op = request.op;
	switch (request.op) {
	case OP_EXIT:
		_exit((int)request.args[0]);
	case OP_FORK:
		fork_session(control, &reply);
		break;
	case OP_STAT:
		return reply_stat(control, &reply);
	case OP_INTERRUPT:
		if (request.args[0] < atomic_load(&session.actor_count)) {
			reply.error = pthread_kill(session.actors[request.args[0]], SIGUSR1);
			reply.ret = reply.error ? -1 : 0;
		} else {
			reply.error = ESRCH;
		}
		break;
	default:
		execute(&request, &reply);
		break;
	}
	return reply_to(control, &reply);
}

static void *run_actor(void *argument)
{
	int control = (int)(intptr_t)argument;

	while (serve_one(control))
		;
	close(control);
	return NULL;
}

static void take_actor(const pthread_attr_t *attr)
{
	int control = accept(session.listener, NULL, NULL);
	int number = atomic_load(&session.actor_count);

	if (control < 0)
		return;
	if (number == ACTORS_MAX || pthread_create(&session.actors[number], attr, run_actor,
						   (void *)(intptr_t)control)) {
		close(control);
		return;
	}
	atomic_store(&session.actor_count, number + 1);
}

/*
 * Connections come one after the other, so an actor's number is the order of its coming. The
 * first control connection is watched here as well: its own thread may be inside a step that
 * never ends when the driver goes away.
 */
static void *take_actors(void *argument)
{
	struct pollfd pollers[] = {
		{ .fd = session.listener, .events = POLLIN },
		{ .fd = (int)(intptr_t)argument, .events = POLLRDHUP },
	};
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, ACTOR_STACK_BYTES);
	for (;;) {
		if (poll(pollers, 2, -1) < 0)
			continue;
		if (pollers[1].revents)
			_exit(EXIT_SUCCESS);
		if (pollers[0].revents)
			take_actor(&attr);
	}
	return NULL;
}

static void session_run(int control)
{
	struct address address = { .length = sizeof(address.storage) };
	struct greeting greeting = { .magic = OP_MAGIC, .version = OP_VERSION };
	pthread_t thread;

	watch_signals();
	session.listener = control_listen(0);
	if (session.listener < 0 || getsockname(session.listener,
						(struct sockaddr *)&address.storage,
						&address.length) < 0)
		_exit(EXIT_FAILURE);
	session.actors[0] = pthread_self();
	atomic_store(&session.actor_count, 1);
	if (pthread_create(&thread, NULL, take_actors, (void *)(intptr_t)control))
		_exit(EXIT_FAILURE);
	greeting.port = address_port(&address);
	if (write_whole(control, &greeting, sizeof(greeting)))
		_exit(EXIT_FAILURE);
	while (serve_one(control))
		;
	_exit(EXIT_SUCCESS);
}

int agent_serve(int listener)
{
	return control_serve(listener, session_run);
}
