// SPDX-License-Identifier: GPL-2.0-only
//
// Case: a run with a script instead of a random load: one process on host a talks to a server on
// host b, on a machine without faults. For situations that chance does not bring about.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "world.hpp"

namespace sim {

// A send queue so narrow that a handful of connections fills it.
inline constexpr u32 kNarrowSendQueue = 24;

struct Case {
	const char *name;
	void (*play)();
	u64 latency_us = 20;
	u32 max_conns = 255; // that both hosts want in one group
	// Without preemption, with a narrow send queue and the loopback device.
	bool scripted = false;
	u64 work_us = 3; // Knobs
	u64 softirq_us = 5;
	bool eid_changes = false;
	u8 deaf_to = 0;
	bool blocked_at_end = false;
	bool smcr_v1 = false; // instead of version 2
	u64 lasts_us = 0;     // so much longer than a load
	bool bouncing = false;
	bool scattered = false;
	u32 mapping_bytes = ~0U;
	u64 clock_back_ms = 0;
	u32 send_queue = 0; // Knobs', unless 0
	u32 second_ports = 0;
	u32 rmb_elements = 1;
	bool iwarp = false;
	bool loses_links = false; // its plot does, whatever is under way by them
	u64 orders = 1;           // of steps, in which it is played

	[[nodiscard]] Knobs knobs() const;
};

// Called at each count of the module's, in the middle of the counted code: it must not sleep. Not
// set at first.
[[nodiscard]] std::function<void(const net *host, u32 index)> &count_watcher();

// Sudden ends: connections, TCP, links, devices (loss_cases.cc).
extern const std::span<const Case> loss_cases;
// About RMBs and send buffers (buffer_cases.cc).
extern const std::span<const Case> buffer_cases;
// About a client's socket that is connecting (connect_cases.cc).
extern const std::span<const Case> connect_cases;
// About calls on an open connection (stream_cases.cc).
extern const std::span<const Case> stream_cases;
// About listeners and their limits (listener_cases.cc).
extern const std::span<const Case> listener_cases;
// Handshakes that fail, or with forged messages (handshake_cases.cc).
extern const std::span<const Case> handshake_cases;
// Servers that show the option and are plain TCP, and rules (stranger_cases.cc).
extern const std::span<const Case> stranger_cases;
// How many calls cross the border between the languages (border_cases.cc).
extern const std::span<const Case> border_cases;
// Both ends of a connection used by one process (script_cases.cc).
extern const std::span<const Case> script_cases;
// Peers, and strangers in a peer's name, that misbehave (group_cases.cc).
extern const std::span<const Case> group_cases;
// Closed ends whose peer takes its time (departed_cases.cc).
extern const std::span<const Case> departed_cases;
// How TCP's connection ends, after ours (end_cases.cc).
extern const std::span<const Case> end_cases;
// The queues of a link (link_cases.cc).
extern const std::span<const Case> link_cases;
// About memory of rings (ring_cases.cc).
extern const std::span<const Case> ring_cases;
// Which way a connection takes, and which group it joins (path_cases.cc).
extern const std::span<const Case> path_cases;
// Links on two rails, and the loss of one (rail_cases.cc).
extern const std::span<const Case> rail_cases;
// Links of iWARP devices (iwarp_cases.cc).
extern const std::span<const Case> iwarp_cases;
// Rings between hosts that grow (growth_cases.cc).
extern const std::span<const Case> growth_cases;
// All cases.
[[nodiscard]] std::span<const std::span<const Case>> case_tables();

[[nodiscard]] const Case *find_case(std::string_view name);

} // namespace sim
