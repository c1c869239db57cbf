// SPDX-License-Identifier: GPL-2.0-only
//
// World: shared by all hosts of one run: the rates of faults, and the hosts, each a network
// namespace with RDMA devices of its own, one on each rail that it is connected to. Both run the
// one module.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel/abi/stats.h"
#include "kernel/abi/types.h"

struct smc_ib_device;

namespace sim {

inline constexpr u32 kRails = 2;

} // namespace sim

// A host.
struct net {
	std::string name;
	u32 index = 0;
	std::array<u8, 4> address{};
	std::vector<u8> prefix_lengths{24}; // of its addresses, all of which begin like `address`
	u16 vlan_id = 0; // for connections from now on; all VLANs have the same GIDs
	void *control = nullptr;
	std::array<smc_ib_device *, sim::kRails> devices{}; // by rail, nullptr: none now
	std::array<s64, SMC_STATS> stats{};
	u32 autocorking_size_bytes = 0;
	u32 testlink_time_s = 30;
	u32 wmem_bytes = 65536;
	u32 rmem_bytes = 65536;
	u32 max_conns = 255;
	u32 max_links = 2;          // net.smc.smcr_max_links_per_lgr
	u64 memory_group = 0;       // memory cgroup of its programs, 0: none
	bool has_neighbours = true; // false: its neighbours' MACs cannot be resolved
	bool compact = true;        // net.smc.smcr_compact
	bool growing = true;        // net.smc.smcr_growing_rings
	bool end_by_reset = true;   // net.smc.end_by_reset
	u32 rmb_elements = 1;       // net.smc.smcr_rmb_elements
	bool keeps_gid = true;      // false: it loses its GID before a queue pair uses it
	u32 listeners = 0;
	bool claimed = false;    // it is elsewhere; a namespace of this kernel has its address
	u32 silent_in_posts = 0; // so many posts from now a link falls silent; 0: none
};

namespace sim {

// Rates are "one in so many", 0: never.
struct Knobs {
	// Machine.
	u64 preempt = 8;
	u64 latency_us = 20; // of TCP and RDMA, at most
	u64 softirq_us = 5;  // until a completion is handled, at most
	u64 work_us = 3;     // until queued work may begin, at most
	u64 wake_us = 0;     // until a connect() that TCP has woken runs
	u64 completion_batch = 16;
	u32 send_queue = 512;
	u32 receives = 64;
	bool smcr_v1 = false;
	bool smcr_v2 = true;
	bool iwarp = false; // all devices are of that kind
	// What the connection managers do, of the next meetings.
	enum class Meeting : u8 {
		kSucceeds,
		kMissesAMessage, // the server's queue pair, until the next one comes
		kIsRefused,
		kIsLost,
		kIsLate,
		kShowsWrongNumber
	};
	Meeting meeting = Meeting::kSucceeds;
	bool gateway = false;
	u32 compact_hosts = 3;   // bit 0: host a uses compact messages, bit 1: host b
	u32 growing_hosts = 3;   // the same of rings that grow
	u64 missing_page = 0;    // in one of so many copies that may not fault
	u32 rmb_elements = 1;    // net.smc.smcr_rmb_elements, on both hosts
	bool bouncing = false;   // devices see memory through bounce buffers
	bool scattered = false;  // no send buffer is contiguous, so each one has to be registered
	u32 mapping_bytes = ~0U; // more than that cannot be mapped for a device
	u32 loopback = 0;        // net.smc.smcd_loopback, on both hosts
	u32 peer_time_s = 600;   // net.smc.plain_peer_time, on both hosts
	// Host a has two EIDs, and host b, towards it, names the first one in an Accept of first
	// contact and the second one later: as Linux does when its own have changed meanwhile.
	bool eid_changes = false;
	// Messages with a closing flag say that their sender is blocked, as Linux's do when its
	// last write has filled the ring.
	bool blocked_at_end = false;
	u8 deaf_to = 0;        // host b's software does not receive LLC requests of this type
	bool mute = false;     // everything that host a sends on new links gets lost
	u64 clock_back_ms = 0; // the clock may be so much behind another processor's reading
	u64 middlebox = 0;     // changes sequence numbers, on one of so many connections
	u32 second_ports = 0;  // bit 0: host a has a port on the second rail too, bit 1: host b

	// Load.
	u32 connections = 6;
	u32 parallel = 3;
	u32 bytes_max = 200000;
	bool both_ways = false; // both hosts connect to each other
	bool idle_end = false;  // groups end by themselves, or by the devices' removal
	bool net_first = false; // ... or with their namespace

	// Faults, while they last.
	u64 no_memory = 0;
	u64 tcp_reset = 0; // in so many segments
	u64 tcp_stall = 0; // a segment takes seconds
	u64 strip_option = 0;
	u64 no_route = 0;
	u64 link_error = 0;  // a queue pair fails, in so many posts
	u64 link_silent = 0; // a link loses all it carries from now on, in so many posts
	u64 stall = 0;       // a message takes long, in so many
	u64 rnr = 0;         // a peer is slow to repost receives
	u64 registration = 0;
	u64 qp_change = 0;
	u64 port_loss_ms = 0;    // mean time between losses
	u64 end_group_ms = 0;    // the operator takes the device away for a moment
	u64 listener_end_ms = 0; // mean time until a server is restarted
	// Mean time until a rail is lost while each group has links on another one: no connection
	// may notice.
	u64 rail_loss_ms = 0;
	bool loses_links = false; // a case does
	u64 efault = 0;
	u64 signal = 0;

	// A sweep: none of these, but this resource, counted from 1 as they are asked for, is not
	// there.
	u64 fail_nth = 0;

	[[nodiscard]] bool any_fault() const;
	// One for which a connection may end: anything but the loss of a rail.
	[[nodiscard]] bool any_harm() const;
	[[nodiscard]] u32 rails_of(const net *host) const;
	// What the hosts say of their links: iWARP goes the way of TCP.
	[[nodiscard]] bool way_is_direct() const { return iwarp || !gateway; }
	[[nodiscard]] std::string describe() const;
	static Knobs draw(u64 seed);
	// The machine that the seed says, a small load, and no fault but that one.
	static Knobs draw_sweep(u64 seed, u64 fail_nth);
};

class World {
public:
	Knobs knobs;
	std::vector<std::unique_ptr<net>> hosts;
	bool faults = false;     // may anything go wrong now?
	u64 resources_asked = 0; // for, while they may
	u32 warnings_due = 0;    // that the run has asked for
	u32 eid_number = 0;      // of the EID that both hosts have

	[[nodiscard]] bool fault(u64 one_in) const;
	// Both hosts are namespaces of one kernel: may they meet over its loopback device?
	[[nodiscard]] bool may_meet(const net *a, const net *b) const;
	// The same for memory, routes, registrations and states of queue pairs.
	[[nodiscard]] bool lacks(u64 one_in);
};

[[nodiscard]] World &world();

// Of all ports, where a host has several.
inline constexpr char kPnetId[] = "RAILS";

// As it is on the wire; both hosts have number 0.
[[nodiscard]] std::string eid_of_hosts(u32 number = 0);

} // namespace sim
