// SPDX-License-Identifier: GPL-2.0-only
#include "operation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/net.h"
#include "partner.h"
#include "talk.h"

#define BACKLOG 8
#define MODULE "smc"

static struct outcome op_socket(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .armed = injector_arm(&job->aim, nth) };
	int fd;

	if (outcome.armed)
		return outcome;
	fd = talk_socket(job->limit_s);
	outcome.failed = injector_disarm(&job->aim);
	if (fd < 0)
		outcome.error = fd;
	else
		close(fd);
	return outcome;
}

static int call(const struct job *job, int fd)
{
	struct address to;
	int ret = address_make(&to, AF_INET, job->host, job->port);

	if (ret)
		return ret;
	return connect(fd, (struct sockaddr *)&to.storage, to.length) ? -errno : 0;
}

static struct outcome op_connect(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .armed = injector_arm(&job->aim, nth) };
	int fd;

	if (outcome.armed)
		return outcome;
	fd = talk_socket(job->limit_s);
	outcome.error = fd < 0 ? fd : call(job, fd);
	outcome.failed = injector_disarm(&job->aim);
	if (!outcome.error)
		outcome.error = talk(fd, true);
	else if (fd >= 0)
		close(fd);
	return outcome;
}

static struct outcome op_talk(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .error = 0 };
	int fd = talk_socket(job->limit_s);

	outcome.error = fd < 0 ? fd : call(job, fd);
	if (outcome.error) {
		if (fd >= 0)
			close(fd);
		return outcome;
	}
	talk_prepare();
	outcome.armed = injector_arm(&job->aim, nth);
	if (outcome.armed) {
		close(fd);
		return outcome;
	}
	outcome.error = talk(fd, true);
	outcome.failed = injector_disarm(&job->aim);
	return outcome;
}

/* A listening socket and where it listens. A fd or -errno. */
static int listen_anywhere(unsigned int limit_s, uint16_t *port)
{
	struct address address;
	int fd = talk_socket(limit_s);
	int ret = 0;

	if (fd < 0)
		return fd;
	address_make(&address, AF_INET, NULL, 0);
	if (bind(fd, (struct sockaddr *)&address.storage, address.length) ||
	    listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&address.storage, &address.length))
		ret = -errno;
	*port = address_port(&address);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* The connection, or -errno; -ECONNREFUSED if the partner has given up. */
static int accept_partner(int listener, int control, unsigned int limit_s)
{
	struct pollfd waits[] = { { listener, POLLIN, 0 }, { control, POLLIN, 0 } };
	int fd;

	if (poll(waits, 2, 1000 * (int)limit_s) <= 0)
		return -EAGAIN;
	if (!(waits[0].revents & POLLIN))
		return -ECONNREFUSED;
	fd = accept(listener, NULL, NULL);
	return fd < 0 ? -errno : fd;
}

static struct outcome op_accept(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .armed = injector_arm(&job->aim, nth) };
	int told = 0;
	uint16_t port;
	int listener;
	int fd;

	if (outcome.armed)
		return outcome;
	listener = listen_anywhere(job->limit_s, &port);
	if (listener < 0) {
		outcome.failed = injector_disarm(&job->aim);
		outcome.error = listener;
		return outcome;
	}
	outcome.error = partner_ask(job->control, port);
	fd = outcome.error ? outcome.error :
			     accept_partner(listener, job->control, job->limit_s);
	outcome.failed = injector_disarm(&job->aim);
	if (fd < 0) {
		outcome.error = fd;
	} else {
		talk_limit(fd, job->limit_s);
		outcome.error = talk(fd, false);
	}
	close(listener);
	told = partner_told(job->control);
	/* The partner's error is more precise than the end of the connection. */
	if (told && (!outcome.error || outcome.error == -ECONNREFUSED))
		outcome.error = told;
	return outcome;
}

static struct outcome op_command(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .armed = injector_arm(&job->aim, nth) };
	int status;

	if (outcome.armed)
		return outcome;
	status = system(job->argument);
	outcome.failed = injector_disarm(&job->aim);
	/* A shell does not pass on the kernel's errno. */
	if (status == -1 || !WIFEXITED(status))
		outcome.error = -ECHILD;
	else if (WEXITSTATUS(status))
		outcome.error = -ENOMEM;
	return outcome;
}

/* Makes a network namespace, and removes it by going back. */
static struct outcome op_namespace(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .error = 0 };
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	outcome.armed = home < 0 ? -errno : injector_arm(&job->aim, nth);
	if (!outcome.armed) {
		outcome.error = unshare(CLONE_NEWNET) ? -errno : 0;
		outcome.failed = injector_disarm(&job->aim);
		if (!outcome.error && setns(home, CLONE_NEWNET))
			outcome.armed = -errno;
	}
	if (home >= 0)
		close(home);
	return outcome;
}

static struct outcome op_module(const struct job *job, unsigned int nth)
{
	struct outcome outcome = { .error = 0 };
	int fd = open(job->argument, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		outcome.armed = -errno;
	else if (syscall(SYS_delete_module, MODULE, O_NONBLOCK) && errno != ENOENT)
		outcome.armed = -errno;
	else
		outcome.armed = injector_arm(&job->aim, nth);
	if (!outcome.armed) {
		outcome.error = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
		outcome.failed = injector_disarm(&job->aim);
	}
	if (fd >= 0)
		close(fd);
	return outcome;
}

operation operation_named(const char *name)
{
	static const struct {
		const char *name;
		operation run;
	} operations[] = {
		{ "socket", op_socket }, { "connect", op_connect },	{ "accept", op_accept },
		{ "talk", op_talk },	 { "namespace", op_namespace }, { "module", op_module },
		{ "command", op_command },
	};

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			return operations[i].run;
	return NULL;
}
