// SPDX-License-Identifier: GPL-2.0-only
//
// What plots of cases are made of: host a, whose programs connect to a server on host b that says
// again what it hears.
#pragma once

#include <vector>

#include "calls.hpp"
#include "verbs.hpp"
#include "world.hpp"

namespace sim {

inline constexpr u64 kMoment_us = 300'000;
inline constexpr u64 kRest_us = 10'000'000;
inline constexpr u32 kKept = 32;    // unused buffers of a group, of each kind and size
inline constexpr u32 kTokens = 255; // of a group: as many connections
inline constexpr u8 kHello = 1;
inline constexpr u8 kReset = 2; // asks the server to reset the connection
inline constexpr u8 kBye = 3;   // asks it to close

using Sockets = std::vector<struct socket *>;

[[nodiscard]] net &client();
[[nodiscard]] net &server();

int send_byte(struct socket *sock, u8 byte);
int receive_byte(struct socket *sock, u8 *byte);

// Until it is shut down.
[[nodiscard]] struct socket *start_server();
// Plays while there is a server.
void with_server(void (*plot)());

// Plays, and leaves everybody a while.
void scripted(void (*script)());

// A client's connection, which must come about, as SMC or as TCP.
[[nodiscard]] struct socket *connect_one(bool smc = true);
[[nodiscard]] Sockets connect_many(u32 count);
// In a process of its own: to who never gets to the end of the handshake, so that it falls back.
void connect_in_vain(int &under_way);
void close_all(const Sockets &socks);

void expect_answer(struct socket *sock);
void expect_answers(const Sockets &socks);
// It is the next one that @listener accepts, and @sock its other end. Closes both.
void expect_next(struct socket *listener, struct socket *sock);
// One group has done, from the beginning, and it keeps no more buffers than it says.
void expect_one_group(u32 connections);

// Others go on, for fewer than @most turns.
void yield_some(u32 most);

// The only one there is.
[[nodiscard]] smc_ib_link *link_of(const net *host);

} // namespace sim
