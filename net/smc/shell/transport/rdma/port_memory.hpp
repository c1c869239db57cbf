// SPDX-License-Identifier: GPL-2.0-only
//
// PortMemory: which port a connection of a network device gets, as found before. Each handshake
// asks three times, and to find out takes a look at all devices, at their network devices and at
// their tables of GIDs. An answer counts until something changes that the search depends on
// (control::DeviceEpoch), and what can be asked of the port itself is asked each time.
//
// Locking: each place has a spinlock (class LEAF).
#pragma once

#include <array>
#include <optional>

#include "kernel/abi/types.h"
#include "kernel/abi/verbs.h"
#include "shell/base/lock.hpp"
#include "shell/transport/rdma/port.hpp"

namespace smc::transport::rdma {

class PortMemory {
public:
	// All that a search depends on, but for what a new epoch tells.
	struct Question {
		const net *netns;
		u32 ifindex;
		u16 vlan_id;
		smc_ib_gid_type type; // one of RoCE
		u32 ipv4;             // its bytes

		bool operator==(const Question &) const = default;
	};

	// The port, or that there is none. False: it is not known, or not any more. Process.
	[[nodiscard]] bool look(const Question &question, std::optional<Port> &port);
	// @epoch: DeviceEpoch::of_ways() as of before the search. Process.
	void note(const Question &question, const std::optional<Port> &port, u64 epoch);
	// The device goes: no reference to it is kept. Process.
	void forget(const smc_ib_device *device);

private:
	static constexpr std::size_t kPlaces = 128;

	struct Place {
		shell::SpinLock lock{SMC_LOCK_LEAF};
		bool used SMC_GUARDED_BY(lock) = false;
		Question question SMC_GUARDED_BY(lock) = {};
		std::optional<Port> port SMC_GUARDED_BY(lock);
		u64 epoch SMC_GUARDED_BY(lock) = 0;
	};

	[[nodiscard]] Place &place_of(const Question &question);

	std::array<Place, kPlaces> places_;
};

// Exists between setup and teardown.
[[nodiscard]] PortMemory &port_memory();
[[nodiscard]] bool set_up_port_memory();
void tear_down_port_memory();

} // namespace smc::transport::rdma
