// SPDX-License-Identifier: GPL-2.0-only
#include "world.hpp"

#include <algorithm>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "random.hpp"
#include "scheduler.hpp"

namespace sim {
namespace {

struct Rate {
	const char *name;
	u64 Knobs::*value;
	u64 values[3]; // one of them, if this fault happens at all
};

constexpr Rate kRates[] = {
	{"no_memory", &Knobs::no_memory, {8, 30, 200}},
	{"tcp_reset", &Knobs::tcp_reset, {10, 40, 200}},
	{"tcp_stall", &Knobs::tcp_stall, {4, 20, 100}},
	{"strip_option", &Knobs::strip_option, {2, 5, 20}},
	{"no_route", &Knobs::no_route, {3, 10, 30}},
	{"link_error", &Knobs::link_error, {20, 200, 2000}},
	{"link_silent", &Knobs::link_silent, {20, 200, 2000}},
	{"stall", &Knobs::stall, {3, 20, 200}},
	{"rnr", &Knobs::rnr, {2, 10, 50}},
	{"registration", &Knobs::registration, {3, 10, 30}},
	{"qp_change", &Knobs::qp_change, {3, 10, 30}},
	{"port_loss_ms", &Knobs::port_loss_ms, {5, 50, 1000}},
	{"end_group_ms", &Knobs::end_group_ms, {5, 50, 1000}},
	{"listener_end_ms", &Knobs::listener_end_ms, {5, 50, 1000}},
	{"efault", &Knobs::efault, {10, 50, 200}},
	{"signal", &Knobs::signal, {10, 50, 200}},
};

constexpr u32 kSweepConnections = 3;
constexpr u32 kSweepBytes = 5000;

} // namespace

World &world()
{
	static World instance;
	return instance;
}

bool World::fault(u64 one_in) const
{
	return faults && scheduler().random().one_in(one_in);
}

bool World::may_meet(const net *a, const net *b) const
{
	if (a == b)
		return knobs.loopback != SMC_LOOPBACK_OFF;
	return knobs.loopback == SMC_LOOPBACK_KERNEL && !a->claimed && !b->claimed;
}

bool World::lacks(u64 one_in)
{
	if (!faults)
		return false;
	resources_asked++;
	return knobs.fail_nth != 0 ? resources_asked == knobs.fail_nth : fault(one_in);
}

bool Knobs::any_fault() const
{
	return any_harm() || rail_loss_ms != 0 || loses_links;
}

u32 Knobs::rails_of(const net *host) const
{
	return (second_ports >> host->index & 1) != 0 ? kRails : 1;
}

bool Knobs::any_harm() const
{
	if (fail_nth != 0)
		return true;
	for (const Rate &rate : kRates) {
		if (this->*rate.value != 0)
			return true;
	}
	return false;
}

Knobs Knobs::draw(u64 seed)
{
	Random random(seed ^ 0x5eed);
	Knobs knobs;

	knobs.preempt = random.pick<u64>({0, 2, 5, 20, 100});
	knobs.latency_us = random.pick<u64>({1, 20, 200, 5000});
	knobs.softirq_us = random.pick<u64>({0, 5, 50, 2000});
	knobs.completion_batch = random.pick<u64>({1, 4, 16, 64});
	knobs.send_queue = random.pick<u32>({24, 64, 128, 512});
	knobs.receives = random.pick<u32>({8, 16, 64});
	switch (random.below(4)) {
	case 0: knobs.smcr_v1 = true; break;
	case 1:
		knobs.smcr_v1 = true;
		knobs.smcr_v2 = false;
		break;
	default: break;
	}
	knobs.gateway = random.one_in(4);
	knobs.clock_back_ms = random.pick<u64>({0, 0, 1, 3});
	knobs.connections = static_cast<u32>(random.pick<u64>({1, 4, 8, 20, 40}));
	knobs.parallel = static_cast<u32>(random.pick<u64>({1, 2, 4, 20}));
	knobs.bytes_max = static_cast<u32>(random.pick<u64>({100, 5000, 100000, 400000}));
	knobs.both_ways = random.one_in(3);
	knobs.idle_end = random.one_in(2);
	knobs.net_first = random.one_in(3);
	// More than one group can take, and more than there are tokens.
	if (random.one_in(40)) {
		knobs.connections = 300;
		knobs.parallel = random.pick<u32>({4, 300});
		knobs.bytes_max = 100;
	}
	// A quarter of all runs has no fault: there every byte has to arrive.
	if (!random.one_in(4)) {
		for (const Rate &rate : kRates) {
			if (random.one_in(4))
				knobs.*rate.value = random.pick(rate.values);
		}
	}
	knobs.loopback = random.pick<u32>(
		{SMC_LOOPBACK_OFF, SMC_LOOPBACK_OFF, SMC_LOOPBACK_NAMESPACE, SMC_LOOPBACK_KERNEL});
	knobs.peer_time_s = random.pick<u32>({600, 1, 0});
	knobs.middlebox = random.pick<u64>({0, 0, 1, 3});
	knobs.bouncing = random.one_in(3);
	if (random.one_in(8))
		knobs.mapping_bytes = random.pick<u32>({16384, 32768});
	knobs.scattered = random.one_in(4);
	knobs.compact_hosts = random.pick<u32>({3, 3, 3, 0, 1, 2});
	knobs.growing_hosts = random.pick<u32>({3, 3, 3, 0, 1, 2});
	knobs.blocked_at_end = random.one_in(4);
	knobs.missing_page = random.pick<u64>({0, 2, 10, 1});
	knobs.rmb_elements = random.pick<u32>({1, 2, 4, 255});
	knobs.second_ports = random.pick<u32>({0, 0, 1, 2, 3, 3});
	if (knobs.second_ports != 0 && random.one_in(2)) {
		knobs.rail_loss_ms = random.pick<u64>({5, 50, 500});
		// Mostly nothing else happens, so that no connection may end.
		for (const Rate &rate : kRates)
			knobs.*rate.value = random.one_in(4) ? knobs.*rate.value : 0;
	}
	// It is offered where there is nothing else.
	knobs.iwarp = knobs.loopback == SMC_LOOPBACK_OFF && !knobs.smcr_v1 && random.one_in(2);
	if (knobs.iwarp)
		knobs.receives = 64;
	if (knobs.iwarp && random.one_in(4))
		knobs.meeting = Meeting::kMissesAMessage;
	return knobs;
}

Knobs Knobs::draw_sweep(u64 seed, u64 fail_nth)
{
	Knobs knobs = draw(seed);

	for (const Rate &rate : kRates)
		knobs.*rate.value = 0;
	knobs.rail_loss_ms = 0;
	knobs.connections = kSweepConnections;
	knobs.parallel = std::min(knobs.parallel, kSweepConnections);
	knobs.bytes_max = std::min(knobs.bytes_max, kSweepBytes);
	knobs.fail_nth = fail_nth;
	return knobs;
}

std::string Knobs::describe() const
{
	std::string text = "connections " + std::to_string(connections) + ", parallel " +
			   std::to_string(parallel) + ", bytes " + std::to_string(bytes_max) +
			   ", latency_us " + std::to_string(latency_us) + ", softirq_us " +
			   std::to_string(softirq_us) + ", batch " +
			   std::to_string(completion_batch) + ", send_queue " +
			   std::to_string(send_queue) + ", receives " + std::to_string(receives) +
			   ", preempt 1/" + std::to_string(preempt);

	text += iwarp ? ", iWARP" : smcr_v1 ? smcr_v2 ? ", v1+v2" : ", v1" : ", v2";
	text += gateway ? ", gateway" : "";
	text += bouncing ? ", bouncing" : "";
	text += scattered ? ", scattered" : "";
	text += compact_hosts == 3 ? "" : ", compact " + std::to_string(compact_hosts);
	text += blocked_at_end ? ", blocked at the end" : "";
	text += growing_hosts == 3 ? "" : ", growing " + std::to_string(growing_hosts);
	text += missing_page == 0 ? "" : ", missing page 1/" + std::to_string(missing_page);
	if (rmb_elements != 1)
		text += ", rmb elements " + std::to_string(rmb_elements);
	if (mapping_bytes != ~0U)
		text += ", mapping " + std::to_string(mapping_bytes);
	text += clock_back_ms != 0 ? ", clock back " + std::to_string(clock_back_ms) + " ms" : "";
	if (loopback != SMC_LOOPBACK_OFF)
		text += ", loopback " + std::to_string(loopback) + ", middlebox 1/" +
			std::to_string(middlebox);
	if (peer_time_s != Knobs().peer_time_s)
		text += ", peers remembered for " + std::to_string(peer_time_s) + " s";
	if (second_ports != 0)
		text += ", second ports " + std::to_string(second_ports);
	text += both_ways ? ", both ways" : "";
	text += idle_end ? ", idle end" : net_first ? ", namespaces end" : "";
	text += any_fault() ? "; faults:" : "; no faults";
	for (const Rate &rate : kRates) {
		if (this->*rate.value != 0)
			text += std::string(" ") + rate.name + " 1/" +
				std::to_string(this->*rate.value);
	}
	if (rail_loss_ms != 0)
		text += " rail_loss_ms 1/" + std::to_string(rail_loss_ms);
	text += fail_nth != 0 ? " resource " + std::to_string(fail_nth) : "";
	return text;
}

std::string eid_of_hosts(u32 number)
{
	std::string eid = number == 0 ? "SIM-EID" : "SIM-EID-2";

	eid.resize(SMC_EID_LEN, ' ');
	return eid;
}

} // namespace sim
