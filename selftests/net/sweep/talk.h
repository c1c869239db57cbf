/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A short conversation over one connection, every byte of which is checked: the client's bytes, the
 * server's, and the end.
 */
#ifndef SELFTEST_TALK_H
#define SELFTEST_TALK_H

#include <stdbool.h>

/* The stream ended before its last byte. */
#define TALK_CUT ENODATA
/* A byte was not the one that was sent. */
#define TALK_WRONG EBADMSG

/*
 * Touches the pages that talk() will use. Otherwise the first copy to user space would allocate
 * them, in a page fault below the module.
 */
void talk_prepare(void);
/* An SMC socket for IPv4 whose calls take at most limit_s. A fd, or -errno. */
int talk_socket(unsigned int limit_s);
void talk_limit(int fd, unsigned int limit_s);
/* Runs either side of the conversation. Closes fd, with a reset if anything failed. 0 or -errno. */
int talk(int fd, bool client);

#endif
