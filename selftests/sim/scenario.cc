// SPDX-License-Identifier: GPL-2.0-only
#include "scenario.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/callbacks/module.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel/abi/control.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "memory.hpp"
#include "process.hpp"
#include "rdma_observer.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "shell/control/namespace.hpp"
#include "talk.hpp"
#include "trace.hpp"
#include "verbs.hpp"
#include "work_queue.hpp"
#include "world.hpp"

namespace sim {
namespace {

// Bounds of virtual time.
constexpr u64 kSecond_us = 1'000'000;
constexpr u64 kFaults_us = 40 * kSecond_us;     // how long faults are on
constexpr u64 kProcesses_us = 200 * kSecond_us; // after that, until all processes have ended
constexpr u64 kGroups_us = 2000 * kSecond_us;   // until all groups have ended by themselves
constexpr u64 kTcp_us = 20 * kSecond_us;        // twice the longest stall
constexpr u64 kUnload_us = 100 * kSecond_us;
constexpr u64 kRecovery_us = 30 * kSecond_us; // until a group has two links again

void add_host(u32 index, Random &random)
{
	auto host = std::make_unique<net>();

	host->name = std::string(1, static_cast<char>('a' + index));
	host->index = index;
	host->compact = (world().knobs.compact_hosts >> index & 1) != 0;
	host->growing = (world().knobs.growing_hosts >> index & 1) != 0;
	host->rmb_elements = world().knobs.rmb_elements;
	host->address = {10, 9, 0, static_cast<u8>(index + 1)};
	host->autocorking_size_bytes = random.pick<u32>({0, 65536, 65536});
	host->wmem_bytes = random.pick<u32>({16384, 65536, 65536, 131072});
	host->rmem_bytes = random.pick<u32>({16384, 65536, 65536, 131072});
	host->max_conns = random.pick<u32>({16, 255, 255});
	net *raw = host.get();
	world().hosts.push_back(std::move(host));
	raw->control = smc_control_net_create(raw);
	if (raw->control == nullptr)
		fail("no control plane");
	for (u32 n = 0; n < (index == 0 && world().knobs.eid_changes ? 2U : 1U); n++) {
		if (smc_ctl_ueid_add(raw, reinterpret_cast<const u8 *>(eid_of_hosts(n).data())) !=
		    0)
			fail("no EID");
	}
}

void add_devices(net *host)
{
	for (u32 rail = 0; rail < world().knobs.rails_of(host); rail++) {
		const std::string name = host->name + std::to_string(rail);
		smc_pnet_request request{};

		request.pnetid = kPnetId;
		request.ib_name = name.c_str();
		request.ib_port = 1;
		if (world().knobs.second_ports != 0 &&
		    smc_ctl_pnet_add(smc_init_net(), &request) != 0)
			fail("no PNET ID");
		add_device(host, rail);
	}
}

// ---- Load ---------------------------------------------------------------------------------------

struct Load {
	bool over = false; // all clients have ended
};

void start_clients(Load &load)
{
	const Knobs &knobs = world().knobs;
	Random &random = scheduler().random();
	int under_way = 0;

	for (u32 n = 0; n < knobs.connections; n++) {
		while (under_way >= static_cast<int>(knobs.parallel))
			scheduler().sleep_us(200);
		const bool back = knobs.both_ways && random.one_in(2);
		net *from = world().hosts[back ? 1 : 0].get();
		net *to = world().hosts[back ? 0 : 1].get();

		if (knobs.loopback != 0 && random.one_in(3))
			from = to;
		under_way++;
		processes()++;
		scheduler().spawn("client-" + std::to_string(n), [from, to, &under_way] {
			run_client(from, to);
			under_way--;
		});
		if (random.one_in(2))
			scheduler().sleep_us(random.below(random.one_in(10) ? 2'000'000 : 3000));
	}
	while (under_way != 0)
		scheduler().sleep_us(200);
	load.over = true;
}

// Each end has a DMB, of 16 KiB at least.
void look_at(const smc_smcd_lgr_info &group, const net &host)
{
	if (group.conns == 0 || group.conns > host.stats[SMC_STAT_CONN_NEW])
		fail("%u ends of %lld that were made", group.conns, host.stats[SMC_STAT_CONN_NEW]);
	if (group.dmb_bytes < u64{16384} * group.conns)
		fail("%u ends receive in %llu bytes", group.conns, group.dmb_bytes);
	mix(group.conns);
}

// An operator who looks at everything, again and again.
void watch(const Load &load)
{
	while (!load.over) {
		for (const auto &host : world().hosts) {
			smc_lgr_info group{};
			smc_smcd_lgr_info inside{};
			smc_sock_info info{};
			smc_dev_info device{};
			u64 cursor = 0;

			while (smc_ctl_lgr_next(host.get(), &cursor, &group) == 1)
				mix(group.conns);
			cursor = 0;
			while (smc_ctl_smcd_lgr_next(host.get(), &cursor, &inside) == 1)
				look_at(inside, *host);
			cursor = 0;
			while (smc_ctl_sock_next(host.get(), &cursor, &info) == 1)
				smc_sk_put(info.sk);
			cursor = 0;
			while (smc_ctl_dev_next(host.get(), &cursor, &device) == 1)
				mix(device.port[0].links);
		}
		scheduler().sleep_us(scheduler().random().below(20'000));
	}
}

// ---- Faults -------------------------------------------------------------------------------------

u32 any_rail(const net *host)
{
	const u32 rails = world().knobs.rails_of(host);

	return rails == 1 ? 0 : static_cast<u32>(scheduler().random().below(rails));
}

void ports(const Load &load)
{
	Random &random = scheduler().random();

	while (world().faults && !load.over) {
		scheduler().sleep_us(random.below(2000 * world().knobs.port_loss_ms));
		net *host = world().hosts[random.below(2)].get();
		const u32 rail = any_rail(host);
		lose_port(host, rail);
		scheduler().sleep_us(random.below(random.one_in(3) ? 3 * kSecond_us : 2000));
		regain_port(host, rail);
	}
}

void devices(const Load &load)
{
	Random &random = scheduler().random();

	while (world().faults && !load.over) {
		scheduler().sleep_us(random.below(2000 * world().knobs.end_group_ms));
		net *host = world().hosts[random.below(2)].get();
		const u32 rail = any_rail(host);
		remove_device(host, rail, random.one_in(2) ? Removal::kPulled : Removal::kOrderly);
		scheduler().sleep_us(random.below(50'000));
		if (host->devices[rail] == nullptr)
			add_device(host, rail);
	}
}

// All groups of all hosts could lose a rail.
bool groups_are_whole()
{
	for (const auto &host : world().hosts) {
		smc_lgr_info group{};
		u64 cursor = 0;

		while (smc_ctl_lgr_next(host.get(), &cursor, &group) == 1) {
			u32 active = 0;
			for (u32 i = 0; i < group.links; i++)
				active += group.link[i].state == SMC_LINK_STATE_ACTIVE ? 1 : 0;
			if (active < 2)
				return false;
		}
	}
	return true;
}

// One of the links of that host on that rail, if it has one.
smc_ib_link *link_on(const net *host, u32 rail)
{
	for (const auto &[qpn, link] : fabric().links) {
		if (link->device == host->devices[rail] && !link->broken)
			return link;
	}
	return nullptr;
}

void lose_rail(net *host, u32 rail)
{
	Random &random = scheduler().random();
	const u64 for_us = random.below(random.one_in(3) ? 3 * kSecond_us : 20'000);

	switch (random.below(4)) {
	case 0:
		lose_port(host, rail);
		scheduler().sleep_us(for_us);
		regain_port(host, rail);
		break;
	case 1:
		remove_device(host, rail, random.one_in(2) ? Removal::kPulled : Removal::kOrderly);
		scheduler().sleep_us(for_us);
		if (host->devices[rail] == nullptr)
			add_device(host, rail);
		break;
	case 2:
		if (smc_ib_link *link = link_on(host, rail))
			break_link(link, -EIO);
		break;
	default:
		if (smc_ib_link *link = link_on(host, rail)) {
			note("qp %u falls silent", link->qpn);
			link->silent = true;
		}
		break;
	}
}

// Each loss waits until the groups have recovered from the last one.
void rails(const Load &load)
{
	Random &random = scheduler().random();

	while (world().faults && !load.over) {
		scheduler().sleep_us(random.below(2000 * world().knobs.rail_loss_ms));
		net *host = world().hosts[random.below(2)].get();
		if (world().knobs.rails_of(host) == 1)
			continue;
		for (u64 waited_us = 0; !groups_are_whole() && !load.over; waited_us += 1000) {
			if (!world().knobs.any_harm() && waited_us > kRecovery_us)
				fail("a group gets no second link again");
			scheduler().sleep_us(1000);
		}
		if (!load.over)
			lose_rail(host, any_rail(host));
	}
}

void start_services()
{
	for (const auto &host : world().hosts) {
		if (host->index == 1 || world().knobs.both_ways)
			start_service(host.get(), scheduler().random().pick<int>({1, 5, 100}));
	}
}

void services(const Load &load)
{
	Random &random = scheduler().random();

	while (world().faults && !load.over) {
		scheduler().sleep_us(random.below(2000 * world().knobs.listener_end_ms));
		note("the servers restart");
		stop_services();
		scheduler().sleep_us(random.below(20'000));
		start_services();
	}
}

// ---- The end ------------------------------------------------------------------------------------

void expect_equal(const net &host, const char *what, u32 made, u32 freed)
{
	if (host.stats[made] != host.stats[freed])
		fail("host %s: %lld %s made, %lld freed", host.name.c_str(), host.stats[made], what,
		     host.stats[freed]);
}

void check_nothing_left()
{
	for (const auto &host : world().hosts) {
		expect_equal(*host, "connections", SMC_STAT_CONN_NEW, SMC_STAT_CONN_FREE);
		expect_equal(*host, "groups", SMC_STAT_GROUP_NEW, SMC_STAT_GROUP_FREE);
		expect_equal(*host, "queue pairs", SMC_STAT_QP_NEW, SMC_STAT_QP_FREE);
		expect_equal(*host, "buffers", SMC_STAT_BUF_NEW, SMC_STAT_BUF_FREE);
		expect_equal(*host, "memory regions", SMC_STAT_MR_NEW, SMC_STAT_MR_FREE);
		for (u32 i = 0; i < SMC_STAT_SIZES; i++) {
			if (host->stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_BUF_SIZE + i)] != 0 ||
			    host->stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_RX_BUF_SIZE + i)] != 0 ||
			    host->stats[SMC_STAT_OF(SMC_TECH_D, SMC_TS_RX_BUF_SIZE + i)] != 0)
				fail("host %s: buffers are still counted as used",
				     host->name.c_str());
		}
		// Both ends are this module: nobody breaks the protocol, whatever fails.
		for (const u32 stat :
		     {SMC_STAT_CLC_MALFORMED, SMC_STAT_LLC_MALFORMED, SMC_STAT_CDC_MALFORMED,
		      SMC_STAT_CDC_WRONG_LINK, SMC_STAT_CDC_BAD_CURSOR, SMC_STAT_CDC_BAD_SEQUENCE,
		      SMC_STAT_RMBE_BAD_INDEX}) {
			if (host->stats[stat] != 0)
				fail("host %s: %lld violations of kind %u", host->name.c_str(),
				     host->stats[stat], stat);
		}
	}
	if (memory().objects() != 0)
		fail("left in memory, sizes:%s", memory().describe().c_str());
	if (rings().bytes() != 0)
		fail("%llu bytes of rings are left", rings().bytes());
	if (socket_counts().sockets != 0 || socket_counts().socks != 0)
		fail("%ld sockets and %ld socks are left", socket_counts().sockets,
		     socket_counts().socks);
	const Fabric &there = fabric();
	if (there.devices != 0 || there.buffers != 0 || !there.links.empty() ||
	    !there.regions.empty())
		fail("%u devices, %zu queue pairs, %zu regions, %u buffers are left", there.devices,
		     there.links.size(), there.regions.size(), there.buffers);
	if (!busy_work().empty())
		fail("work is left:%s", busy_work().c_str());
}

bool groups_are_left()
{
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_GROUP_NEW] != host->stats[SMC_STAT_GROUP_FREE])
			return true;
	}
	return false;
}

// While one exists, its sock keeps the namespace.
bool smcd_ends_are_left()
{
	for (const auto &host : world().hosts) {
		const auto share = smc::control::Namespace::of(host.get()).smcd_share();

		if (share.ends != 0)
			return true;
		if (share.dmb_bytes != 0)
			fail("host %s: nobody receives in %llu bytes", host->name.c_str(),
			     share.dmb_bytes);
	}
	return false;
}

void run_to(const bool &flag, u64 within_us, const char *what)
{
	scheduler().run([&flag] { return flag; }, scheduler().now_us() + within_us, what);
}

// Runs @f in a process and waits for its end.
template <class F>
void in_process(const char *name, u64 within_us, F &&f)
{
	bool done = false;

	scheduler().spawn(name, [&] {
		f();
		done = true;
	});
	run_to(done, within_us, name);
}

Knobs knobs_of(const Run &run)
{
	if (run.plot != nullptr)
		return run.plot->knobs();
	return run.fail_nth != 0 ? Knobs::draw_sweep(run.seed, run.fail_nth)
				 : Knobs::draw(run.seed);
}

} // namespace

std::string run_scenario(const Run &run)
{
	Random random(run.seed ^ 0xdecade);
	Load load;

	world().knobs = knobs_of(run);
	trace_describe(world().knobs.describe());
	scheduler().start(run.seed);
	in_process("load", kUnload_us, [&] {
		if (smc_shell_setup() != 0)
			fail("the module does not load");
		add_host(0, random);
		add_host(1, random);
		for (const auto &host : world().hosts)
			add_devices(host.get());
		if (run.plot == nullptr)
			start_services();
		else
			for (const auto &host : world().hosts)
				host->max_conns = run.plot->max_conns;
	});

	scheduler().set_preemption(world().knobs.preempt);
	world().faults = true;
	scheduler().after(kFaults_us, [] { world().faults = false; });
	scheduler().spawn("starter", [&load, &run] {
		if (run.plot == nullptr)
			return start_clients(load);
		run.plot->play();
		load.over = true;
	});
	// A walk over a namespace keeps it.
	bool watched = !random.one_in(3);
	if (!watched)
		scheduler().spawn("operator", [&] {
			watch(load);
			watched = true;
		});
	bool ports_done = world().knobs.port_loss_ms == 0;
	if (!ports_done)
		scheduler().spawn("ports", [&] {
			ports(load);
			ports_done = true;
		});
	bool devices_done = world().knobs.end_group_ms == 0;
	if (!devices_done)
		scheduler().spawn("devices", [&] {
			devices(load);
			devices_done = true;
		});
	bool rails_done = world().knobs.rail_loss_ms == 0;
	if (!rails_done)
		scheduler().spawn("rails", [&] {
			rails(load);
			rails_done = true;
		});
	bool services_done = world().knobs.listener_end_ms == 0;
	if (!services_done)
		scheduler().spawn("restarts", [&] {
			services(load);
			services_done = true;
		});
	run_to(load.over,
	       kFaults_us + kProcesses_us + (run.plot != nullptr ? run.plot->lasts_us : 0),
	       "the end of the clients");
	world().faults = false;
	in_process("stop", kProcesses_us, [&] {
		while (!ports_done || !devices_done || !rails_done || !services_done || !watched)
			scheduler().sleep_us(1000);
		stop_services();
		while (processes() != 0)
			scheduler().sleep_us(1000);
	});
	talks().check();

	in_process("unload", kGroups_us + kUnload_us, [&] {
		while (world().knobs.idle_end && groups_are_left())
			scheduler().sleep_us(kSecond_us);
		while (smcd_ends_are_left())
			scheduler().sleep_us(1000);
		// The initial namespace ends with the module, when there are no devices any more.
		const auto ends_first = [](const net *host) {
			return world().knobs.net_first && host != smc_init_net();
		};
		for (const auto &host : world().hosts) {
			if (ends_first(host.get()))
				smc_control_net_destroy(host.get(), host->control);
			for (u32 rail = 0; rail < kRails; rail++)
				remove_device(host.get(), rail);
		}
		// Segments under way in TCP arrive.
		scheduler().sleep_us(kTcp_us);
		for (const auto &host : world().hosts) {
			if (!ends_first(host.get()))
				smc_control_net_destroy(host.get(), host->control);
		}
		smc_shell_teardown();
	});
	check_nothing_left();
	u64 grown = 0;
	for (const auto &host : world().hosts)
		grown += host->stats[SMC_STAT_RING_GROWN];
	return std::to_string(talks().count()) + " talks, " + std::to_string(talks().bytes()) +
	       " bytes, " + observed_counts() + ", " + std::to_string(grown) + " rings grown, " +
	       std::to_string(scheduler().switches()) + " switches, " +
	       std::to_string(scheduler().now_us() / kSecond_us) + " s";
}

} // namespace sim
