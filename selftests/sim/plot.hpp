// SPDX-License-Identifier: GPL-2.0-only
//
// Building blocks of cases: host a, whose programs connect to a server on host b that echoes.
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
// Runs the script with a server.
void with_server(void (*plot)());

// Runs the script, and leaves time for everybody.
void scripted(void (*script)());

// A client's connection, which must come up, as SMC or as TCP.
[[nodiscard]] struct socket *connect_one(bool smc = true);
// The same, whichever it is.
[[nodiscard]] struct socket *connect_by_any();
[[nodiscard]] Sockets connect_many(u32 count);
// In a process of its own, for a client that never completes the handshake, so that it falls back.
void connect_in_vain(int &under_way);
void close_all(const Sockets &socks);

void expect_answer(struct socket *sock);
void expect_answers(const Sockets &socks);
// The next one that @listener accepts has to be the other end of @sock. Closes both.
void expect_next(struct socket *listener, struct socket *sock);
// There was one group only, and it keeps no more buffers than it may.
void expect_one_group(u32 connections);

// Lets others run, for fewer than @most turns.
void yield_some(u32 most);

// The only one.
[[nodiscard]] smc_ib_link *link_of(const net *host);

} // namespace sim
