// SPDX-License-Identifier: GPL-2.0-only
#include "partner.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "../lib/net.h"
#include "talk.h"

#define BACKLOG 64

static unsigned int limit_s;

static int start(void *(*function)(void *), int fd)
{
	pthread_t thread;
	int ret = -pthread_create(&thread, NULL, function, (void *)(intptr_t)fd);

	if (!ret)
		pthread_detach(thread);
	return ret;
}

static void *answer(void *fd)
{
	talk((int)(intptr_t)fd, false);
	return NULL;
}

static void *accept_all(void *listener)
{
	for (;;) {
		int fd = accept((int)(intptr_t)listener, NULL, NULL);

		if (fd < 0)
			continue;
		talk_limit(fd, limit_s);
		if (start(answer, fd))
			close(fd);
	}
	return NULL;
}

static int call(int control, uint16_t port)
{
	struct address to;
	int fd;

	to.length = sizeof(to.storage);
	if (getpeername(control, (struct sockaddr *)&to.storage, &to.length))
		return -errno;
	address_set_port(&to, port);
	fd = talk_socket(limit_s);
	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&to.storage, to.length)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return talk(fd, true);
}

/* Until the other side closes. */
static void *obey(void *argument)
{
	int control = (int)(intptr_t)argument;
	uint16_t port;

	while (!read_whole(control, &port, sizeof(port))) {
		int32_t told = call(control, port);

		if (write_whole(control, &told, sizeof(told)))
			break;
	}
	close(control);
	return NULL;
}

/* An IPv4 socket: call() takes the peer's address from its TCP connection. */
static int listen_on(enum mode mode, uint16_t port)
{
	struct address address;
	int one = 1;
	int fd = mode_socket(mode, AF_INET, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	address_make(&address, AF_INET, NULL, port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address.storage, address.length) || listen(fd, BACKLOG))
		return -errno;
	return fd;
}

int partner_serve(uint16_t port, unsigned int seconds)
{
	int listener = listen_on(MODE_SMC, port);
	int controls = listen_on(MODE_TCP, port + 1);

	limit_s = seconds;
	if (listener < 0 || controls < 0 || start(accept_all, listener)) {
		fprintf(stderr, "smc_sweep: cannot listen on port %u\n", port);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		int control = accept(controls, NULL, NULL);

		if (control >= 0 && start(obey, control))
			close(control);
	}
}

int partner_reach(const char *host, uint16_t port)
{
	struct address to;
	int ret = address_make(&to, AF_INET, host, port + 1);

	return ret ? ret : control_connect(&to);
}

int partner_ask(int control, uint16_t port)
{
	return write_whole(control, &port, sizeof(port));
}

int partner_told(int control)
{
	int32_t told;
	int ret = read_whole(control, &told, sizeof(told));

	return ret ? ret : told;
}
