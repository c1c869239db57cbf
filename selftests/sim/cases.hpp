// SPDX-License-Identifier: GPL-2.0-only
//
// Case: a run with a plot instead of a load that is drawn: one process of host a that talks to a
// server on host b, on a machine without faults. For what chance does not bring about.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "world.hpp"

namespace sim {

// So narrow a send queue that a handful of connections fills it.
inline constexpr u32 kNarrowSendQueue = 24;

struct Case {
	const char *name;
	void (*play)();
	u64 latency_us = 20;
	u32 max_conns = 255; // that both hosts want in one group
	// Nobody is interrupted, the send queue is narrow and the loopback device is on.
	bool scripted = false;
	u64 work_us = 3; // Knobs
	bool eid_changes = false;
	u8 deaf_to = 0;
	bool smcr_v1 = false; // instead of version 2
	u64 lasts_us = 0;     // longer than a load, by so much
	bool bouncing = false;
	bool scattered = false;
	u32 mapping_bytes = ~0U;
	u64 clock_back_ms = 0;
	u32 send_queue = 0; // Knobs', unless 0

	[[nodiscard]] Knobs knobs() const;
};

// Hears of each count of the module's, in the midst of what is counted: it must not sleep. Nobody
// at first.
[[nodiscard]] std::function<void(const net *host, u32 index)> &count_watcher();

// What ends at once: connections, TCP, links, devices (loss_cases.cc).
extern const std::span<const Case> loss_cases;
// About RMBs and send buffers (buffer_cases.cc).
extern const std::span<const Case> buffer_cases;
// About a client's socket that is connecting (connect_cases.cc).
extern const std::span<const Case> connect_cases;
// About calls on an open connection (stream_cases.cc).
extern const std::span<const Case> stream_cases;
// About listeners and their limits (listener_cases.cc).
extern const std::span<const Case> listener_cases;
// About handshakes that fail, or are forged (handshake_cases.cc).
extern const std::span<const Case> handshake_cases;
// How many calls cross the border between the languages (border_cases.cc).
extern const std::span<const Case> border_cases;
// Both ends of a connection in the hands of one process (script_cases.cc).
extern const std::span<const Case> script_cases;
// Where a peer, or somebody who says that he is one, does what it likes (group_cases.cc).
extern const std::span<const Case> group_cases;
// Where a program has closed its end, and the peer takes its time (departed_cases.cc).
extern const std::span<const Case> departed_cases;
// What goes on in the queues of a link (link_cases.cc).
extern const std::span<const Case> link_cases;
// About memory of rings (ring_cases.cc).
extern const std::span<const Case> ring_cases;
// Which way a connection takes, and in whose group (path_cases.cc).
extern const std::span<const Case> path_cases;
// All there are.
[[nodiscard]] std::span<const std::span<const Case>> case_tables();

[[nodiscard]] const Case *find_case(std::string_view name);

} // namespace sim
