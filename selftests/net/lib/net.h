/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets by way in (TCP, AF_SMC, IPPROTO_SMC, TCP_ULP), addresses, and whole reads and writes.
 */
#ifndef SELFTEST_NET_H
#define SELFTEST_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <smc/family.h>

enum mode {
	MODE_TCP, /* socket(AF_INET[6], SOCK_STREAM, IPPROTO_TCP) */
	MODE_SMC, /* socket(AF_SMC, SOCK_STREAM, SMCPROTO_SMC[6]) */
	MODE_INET_SMC, /* socket(AF_INET[6], SOCK_STREAM, IPPROTO_SMC) */
	MODE_ULP, /* a TCP socket, then setsockopt(TCP_ULP, "smc") */
	MODE_SELECTED, /* a TCP socket, of a namespace with net.smc.tcp2smc */
	MODE_COUNT,
};

struct address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/* "tcp", "smc", "inet", "ulp" or "selected"; MODE_COUNT for anything else. */
enum mode mode_parse(const char *name);
const char *mode_name(enum mode mode);

/* family: AF_INET or AF_INET6; type_flags: SOCK_NONBLOCK, SOCK_CLOEXEC. A fd, or -1 with errno. */
int mode_socket(enum mode mode, int family, int type_flags);

/*
 * host: a literal address, with %interface where link-local; NULL: the wildcard of family.
 * family: AF_INET, AF_INET6, or AF_UNSPEC to take it from host. 0 or -EINVAL.
 */
int address_make(struct address *address, int family, const char *host, uint16_t port);
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);

/* All or nothing: 0, or -errno; -EPIPE where read_whole() meets the end of the stream. */
int read_whole(int fd, void *buffer, size_t length);
int write_whole(int fd, const void *buffer, size_t length);

/* A connected TCP socket, or -errno. */
int control_connect(const struct address *address);
/* A listening TCP socket on the port of all addresses, IPv4 and IPv6; 0 picks a port. Or -errno. */
int control_listen(uint16_t port);
/* Serves each control connection in a process of its own; -errno when none can be accepted. */
int control_serve(int listener, void (*session)(int control));

/* Until one of events (poll()) is there, or an error: 0, -ETIMEDOUT or -errno. */
int wait_events(int fd, short events, int timeout_ms);

uint64_t now_ms(void);
void sleep_ms(uint64_t ms);

#endif
