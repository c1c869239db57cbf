/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controlled side: serves one run after the other, each in a process of its own.
 */
#ifndef XFER_SERVER_H
#define XFER_SERVER_H

#include <stdint.h>

/* Prints "ready" on stdout once it listens. Returns only on failure: a negative errno. */
int serve(uint16_t control_port);

#endif
