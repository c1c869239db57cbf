// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "calls.hpp"

namespace sim {

// A process with a connected socket: talks by its plan, and closes. In the current fiber; another
// one reads.
void converse(struct socket *sock, unsigned side);
// A process that connects, and then talks.
void run_client(net *host, net *server);

// Processes that accept from one listener and make a new one for each connection, until it is shut;
// the last one closes it.
struct Service {
	net *host;
	struct socket *listener;
	int processes;
};
void start_service(net *host, int backlog);
void stop_services();

// Processes that have not ended.
[[nodiscard]] int &processes();

inline constexpr u16 kPort = 7;

} // namespace sim
