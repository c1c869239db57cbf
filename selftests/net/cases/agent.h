/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent: carries out requests on its host. Each session is a process of its own and each
 * control connection to it an actor, a thread of that process; so a step that blocks leaves the
 * other actors free, and all of them share the session's descriptors. The session ends, and with
 * it all its sockets, when its first control connection does.
 */
#ifndef CASES_AGENT_H
#define CASES_AGENT_H

/* Serves the listening TCP socket. Returns only on failure: a negative errno. */
int agent_serve(int listener);

#endif
