/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other end of each connection. It serves SMC clients at its port, and connects itself when
 * asked over a TCP connection to the next port.
 */
#ifndef SELFTEST_PARTNER_H
#define SELFTEST_PARTNER_H

#include <stdint.h>

/* Does not return, except with an exit status. */
int partner_serve(uint16_t port, unsigned int limit_s);

/* For the other side: a connection to send requests on, or -errno. host: a literal IPv4 address. */
int partner_reach(const char *host, uint16_t port);
/* Asks the partner to connect to this host's port, and to talk. 0 or -errno. */
int partner_ask(int control, uint16_t port);
/* Waits for the outcome of that: 0 or -errno. */
int partner_told(int control);

#endif
