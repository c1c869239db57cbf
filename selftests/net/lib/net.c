// SPDX-License-Identifier: GPL-2.0-only
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_BACKLOG 128

static const char *const mode_names[MODE_COUNT] = {
	[MODE_TCP] = "tcp",
	[MODE_SMC] = "smc",
	[MODE_INET_SMC] = "inet",
	[MODE_ULP] = "ulp",
	[MODE_SELECTED] = "selected",
};

enum mode mode_parse(const char *name)
{
	enum mode mode = 0;

	while (mode < MODE_COUNT && strcmp(name, mode_names[mode]))
		mode++;
	return mode;
}

const char *mode_name(enum mode mode)
{
	return mode < MODE_COUNT ? mode_names[mode] : "?";
}

static int ulp_socket(int family, int type_flags)
{
	int fd = socket(family, SOCK_STREAM | type_flags, IPPROTO_TCP);
	int error;

	if (fd < 0 || !setsockopt(fd, IPPROTO_TCP, TCP_ULP, "smc", 3))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int switch_selection(const char *value)
{
	int fd = open("/proc/sys/net/smc/tcp2smc", O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, value, 1) != 1 ? -1 : 0;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return ret;
}

static int selected_socket(int family, int type_flags)
{
	int fd, error;

	if (switch_selection("1"))
		return -1;
	fd = socket(family, SOCK_STREAM | type_flags, 0);
	error = errno;
	/* Others may be compared with this one. */
	switch_selection("0");
	errno = error;
	return fd;
}

int mode_socket(enum mode mode, int family, int type_flags)
{
	switch (mode) {
	case MODE_TCP:
		return socket(family, SOCK_STREAM | type_flags, IPPROTO_TCP);
	case MODE_SMC:
		return socket(AF_SMC, SOCK_STREAM | type_flags,
			      family == AF_INET ? SMCPROTO_SMC : SMCPROTO_SMC6);
	case MODE_INET_SMC:
		return socket(family, SOCK_STREAM | type_flags, IPPROTO_SMC);
	case MODE_ULP:
		return ulp_socket(family, type_flags);
	case MODE_SELECTED:
		return selected_socket(family, type_flags);
	case MODE_COUNT:
		break;
	}
	errno = EINVAL;
	return -1;
}

static int address_make6(struct address *address, const char *host)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->storage;
	char text[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];
	char *interface;

	address->length = sizeof(*in6);
	in6->sin6_family = AF_INET6;
	if (!host)
		return 0;
	if (strlen(host) >= sizeof(text))
		return -EINVAL;
	strcpy(text, host);
	interface = strchr(text, '%');
	if (interface) {
		*interface++ = '\0';
		in6->sin6_scope_id = if_nametoindex(interface);
		if (!in6->sin6_scope_id)
			return -EINVAL;
	}
	return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1 ? 0 : -EINVAL;
}

int address_make(struct address *address, int family, const char *host, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&address->storage;
	int ret = 0;

	if (family == AF_UNSPEC)
		family = host && strchr(host, ':') ? AF_INET6 : AF_INET;
	memset(address, 0, sizeof(*address));
	if (family == AF_INET6) {
		ret = address_make6(address, host);
	} else {
		address->length = sizeof(*in);
		in->sin_family = AF_INET;
		if (host && inet_pton(AF_INET, host, &in->sin_addr) != 1)
			ret = -EINVAL;
	}
	address_set_port(address, port);
	return ret;
}

uint16_t address_port(const struct address *address)
{
	if (address->storage.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&address->storage)->sin6_port);
	return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
}

void address_set_port(struct address *address, uint16_t port)
{
	if (address->storage.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address->storage)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&address->storage)->sin_port = htons(port);
}

int read_whole(int fd, void *buffer, size_t length)
{
	char *out = buffer;

	while (length) {
		ssize_t got = read(fd, out, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EPIPE;
		out += got;
		length -= (size_t)got;
	}
	return 0;
}

int write_whole(int fd, const void *buffer, size_t length)
{
	const char *in = buffer;

	while (length) {
		ssize_t put = send(fd, in, length, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		in += put;
		length -= (size_t)put;
	}
	return 0;
}

int control_connect(const struct address *address)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	int one = 1;
	int error;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0) {
		error = errno;
		close(fd);
		return -error;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

int control_listen(uint16_t port)
{
	struct address address;
	int one = 1;
	int zero = 0;
	int error;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return -errno;
	address_make(&address, AF_INET6, NULL, port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
	    listen(fd, CONTROL_BACKLOG) < 0) {
		error = errno;
		close(fd);
		return -error;
	}
	return fd;
}

int control_serve(int listener, void (*session)(int control))
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int control = accept(listener, NULL, NULL);

		if (control < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return -errno;
		}
		switch (fork()) {
		case 0:
			close(listener);
			session(control);
			_exit(EXIT_SUCCESS);
		case -1:
			fprintf(stderr, "fork: %s\n", strerror(errno));
			break;
		}
		close(control);
	}
}

int wait_events(int fd, short events, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = events };
	int ret;

	do {
		ret = poll(&poller, 1, timeout_ms);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return -errno;
	return ret ? 0 : -ETIMEDOUT;
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sleep_ms(uint64_t ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}
