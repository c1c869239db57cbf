// SPDX-License-Identifier: GPL-2.0-only
//
// Forming: how many link groups servers here have begun that have not become active. Each costs a
// queue pair and the buffers of a connection, 0.6 MiB or so, for as long as a client that says no
// more is waited for, and anybody can be one. Who finds no place goes by TCP.
//
// Locking: its own (class LEAF).
#pragma once

#include "core/base/fixed_vector.hpp"
#include "core/group/doubt.hpp"
#include "kernel/abi/types.h"
#include "shell/base/lock.hpp"

namespace smc::transport::rdma {

class Forming {
public:
	// From one TCP address. A host has one for each way that its groups may differ in: device,
	// VLAN, SMC version, enterprise ID. Connections that may share a group wait for it.
	static constexpr u32 kAddressMax = 8;
	// In one network namespace, which shall leave something to the others.
	static constexpr u32 kNamespaceMax = 256;
	static constexpr u32 kMax = 512;

	// Of one group; given back when it goes.
	class Place {
	public:
		Place() = default;
		Place(Place &&other) noexcept
			: forming_(other.forming_), net_(other.net_), from_(other.from_)
		{
			other.forming_ = nullptr;
		}
		Place &operator=(Place &&) = delete;
		~Place() { give_back(); }

		explicit operator bool() const { return forming_ != nullptr; }
		void give_back();

	private:
		friend class Forming;
		Place(Forming &forming, net *net, const group::TcpAddress &from)
			: forming_(&forming), net_(net), from_(from)
		{
		}

		Forming *forming_ = nullptr;
		net *net_ = nullptr;
		group::TcpAddress from_{};
	};

	// None if there are too many. Any context.
	[[nodiscard]] Place take(net *net, const group::TcpAddress &from);

private:
	struct Entry {
		net *netns;
		group::TcpAddress from;
		u32 groups;
	};

	void give_back(net *net, const group::TcpAddress &from);

	shell::SpinLock lock_{SMC_LOCK_LEAF};
	FixedVector<Entry, kMax> entries_;
	u32 groups_ = 0;
};

} // namespace smc::transport::rdma
