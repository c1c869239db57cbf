// SPDX-License-Identifier: GPL-2.0-only
/*
 * libsmc_preload.so: turns a program's TCP sockets into SMC sockets.
 *
 * Loaded by smc_run through LD_PRELOAD. It takes the place of socket(2) and changes
 * nothing else: an SMC socket answers every other call as a TCP socket does. It asks for
 * IPPROTO_SMC, which stays within the address families that a sandbox lets the program
 * have and is the cheaper one to make; where that is not known, for AF_SMC.
 *
 * Environment:
 *   SMC_SNDBUF, SMC_RCVBUF  bytes, with an optional K, M or G; set as SO_SNDBUF and
 *                           SO_RCVBUF on each SMC socket made here
 *   SMC_DEBUG               anything but empty or "0": say on stderr what was done
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <smc/family.h>

#include "size.h"

typedef int (*socket_fn)(int domain, int type, int protocol);

static int plain_socket(int domain, int type, int protocol)
{
	static _Atomic(socket_fn) next;
	socket_fn fn = atomic_load_explicit(&next, memory_order_acquire);

	if (!fn) {
		/* The next library of the chain: another preload stays in force. */
		fn = (socket_fn)dlsym(RTLD_NEXT, "socket");
		atomic_store_explicit(&next, fn, memory_order_release);
	}
	if (fn)
		return fn(domain, type, protocol);
	return (int)syscall(SYS_socket, domain, type, protocol);
}

static bool debug_wanted(void)
{
	const char *value = getenv("SMC_DEBUG");

	return value && *value && strcmp(value, "0") != 0;
}

__attribute__((format(printf, 1, 2))) static void debug(const char *format, ...)
{
	char line[256];
	va_list args;
	int used;
	int added;

	if (!debug_wanted())
		return;
	used = snprintf(line, sizeof(line), "smc_preload[%d]: ", (int)getpid());
	va_start(args, format);
	added = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
	va_end(args);
	if (added < 0)
		return;
	used = (int)strlen(line);
	line[used++] = '\n';
	/* One write, so that lines of several processes do not mix. */
	if (write(STDERR_FILENO, line, (size_t)used) < 0)
		return;
}

static void set_buffer(int fd, int option, const char *name)
{
	const char *text = getenv(name);
	int bytes;

	if (!text || !*text)
		return;
	if (smc_size_parse(text, &bytes) < 0) {
		debug("%s=%s is not a size, ignored", name, text);
		return;
	}
	if (setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes)) < 0)
		debug("%s=%d refused: %s", name, bytes, strerror(errno));
}

static bool is_tcp(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6)
		return false;
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return false;
	return protocol == 0 || protocol == IPPROTO_TCP;
}

/*
 * Once the kernel says that it does not know one of the two it is not asked for it again:
 * each question makes it look for a module to load.
 */
static int smc_socket(int domain, int type)
{
	static atomic_bool no_protocol;
	static atomic_bool no_family;
	int fd;

	if (!atomic_load(&no_protocol)) {
		fd = plain_socket(domain, type, IPPROTO_SMC);
		if (fd >= 0 || errno != EPROTONOSUPPORT)
			return fd;
		atomic_store(&no_protocol, true);
	}
	if (atomic_load(&no_family)) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	fd = plain_socket(AF_SMC, type, domain == AF_INET ? SMCPROTO_SMC : SMCPROTO_SMC6);
	if (fd < 0 && errno == EAFNOSUPPORT)
		atomic_store(&no_family, true);
	return fd;
}

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
	int saved_errno = errno;
	int fd;

	if (!is_tcp(domain, type, protocol))
		return plain_socket(domain, type, protocol);

	fd = smc_socket(domain, type);
	if (fd < 0) {
		debug("no SMC socket (%s), using TCP", strerror(errno));
		errno = saved_errno;
		return plain_socket(domain, type, protocol);
	}
	set_buffer(fd, SO_SNDBUF, "SMC_SNDBUF");
	set_buffer(fd, SO_RCVBUF, "SMC_RCVBUF");
	debug("socket %d is SMC over IPv%d", fd, domain == AF_INET ? 4 : 6);
	errno = saved_errno;
	return fd;
}
