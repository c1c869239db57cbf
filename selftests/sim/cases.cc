// SPDX-License-Identifier: GPL-2.0-only
#include "cases.hpp"

#include "kernel/abi/pernet.h"

namespace sim {

Knobs Case::knobs() const
{
	Knobs knobs;

	knobs.latency_us = latency_us;
	knobs.work_us = work_us;
	knobs.softirq_us = softirq_us;
	knobs.eid_changes = eid_changes;
	knobs.deaf_to = deaf_to;
	knobs.blocked_at_end = blocked_at_end;
	if (send_queue != 0)
		knobs.send_queue = send_queue;
	knobs.smcr_v1 = smcr_v1;
	knobs.second_ports = second_ports;
	knobs.rmb_elements = rmb_elements;
	knobs.clock_back_ms = clock_back_ms;
	knobs.loses_links = loses_links;
	knobs.iwarp = iwarp;
	knobs.smcr_v2 = !smcr_v1;
	knobs.bouncing = bouncing;
	knobs.scattered = scattered;
	knobs.mapping_bytes = mapping_bytes;
	if (scripted) {
		knobs.preempt = 0;
		knobs.send_queue = kNarrowSendQueue;
		knobs.loopback = SMC_LOOPBACK_NAMESPACE;
	}
	return knobs;
}

std::span<const std::span<const Case>> case_tables()
{
	static const std::span<const Case> tables[] = {
		loss_cases,      buffer_cases, connect_cases, stream_cases,   listener_cases,
		handshake_cases, script_cases, group_cases,   border_cases,   departed_cases,
		link_cases,      ring_cases,   path_cases,    stranger_cases, rail_cases,
		growth_cases,    iwarp_cases,  end_cases,
	};

	return tables;
}

const Case *find_case(std::string_view name)
{
	for (const auto table : case_tables()) {
		for (const Case &one : table) {
			if (name == one.name)
				return &one;
		}
	}
	return nullptr;
}

} // namespace sim
