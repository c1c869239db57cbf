// SPDX-License-Identifier: GPL-2.0-only
//
// Places: limits the number of link groups of one role, by the peer's TCP address. Each costs a
// queue pair and the buffers of a link, about 0.6 MiB, for which no program is charged. Anybody can
// begin one with a server, since what tells groups apart is what a client says of itself; and
// a server can have each connection of a client begin one. So only so many groups may be forming;
// with one TCP address there may be only so many more than their connections justify, since an
// honest peer begins another group only when its last one is full; and in all as many as memory
// allows. A connection that finds no place uses TCP.
//
// Locking: its own (class LEAF).
#pragma once

#include <array>

#include "core/group/doubt.hpp"
#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::transport::rdma {

struct ShareTag;

class Places {
	struct Share;

public:
	struct Limits {
		// Forming groups: of one TCP address; of one network namespace, so that others find
		// places; and all.
		u32 forming_address;
		u32 forming_namespace;
		u32 forming;
		// Groups of one TCP address, active or not; one more for each kConnectionsMin
		// connections in them.
		u32 address;
	};
	// A host has a forming group for each way in which its groups may differ: device, VLAN, SMC
	// version, enterprise ID. Connections that may share a group wait for it.
	static constexpr Limits kOfServers{
		.forming_address = 8, .forming_namespace = 256, .forming = 512, .address = 32};
	// Of clients: whom they connect to their programs have chosen, many hosts at once perhaps,
	// and behind one address there may be as many hosts as a load balancer has.
	static constexpr Limits kOfClients{
		.forming_address = 64, .forming_namespace = 512, .forming = 1024, .address = 256};
	// A full group has at least so many connections.
	static constexpr u32 kConnectionsMin = 16;
	// Memory of one group. All of a role may take as much as the second value of tcp_mem, those
	// of one network namespace three quarters of that.
	static constexpr u64 kGroup_bytes = u64{640} * 1024;

	// The place of one group; given back when the group has no link any more.
	class Place {
	public:
		Place() = default;
		Place(Place &&other) noexcept;
		Place &operator=(Place &&) = delete;
		~Place() { give_back(); }

		explicit operator bool() const { return places_ != nullptr; }
		// The group has become active.
		void confirm();
		// A connection has joined it, or left. Does nothing without a place.
		void join();
		void leave();
		void give_back();

	private:
		friend class Places;
		Place(Places &places, Share &own, Share &beside)
			: places_(&places), own_(&own), beside_(&beside)
		{
		}

		void end_forming_locked() SMC_REQUIRES(places_->lock_);

		Places *places_ = nullptr;
		Share *own_ SMC_PT_GUARDED_BY(places_->lock_) = nullptr;    // of its address
		Share *beside_ SMC_PT_GUARDED_BY(places_->lock_) = nullptr; // of its namespace
		bool forming_ SMC_GUARDED_BY(places_->lock_) = true;
		u32 connections_ SMC_GUARDED_BY(places_->lock_) = 0;
	};

	explicit Places(const Limits &limits) : limits_(limits) {}
	~Places() = default;
	Places(const Places &) = delete;
	Places &operator=(const Places &) = delete;

	// None if there are too many, which is counted. Process.
	[[nodiscard]] Place take(net *net, const group::TcpAddress &from);

	// So little is left that idle groups should end: a quarter of the memory, or of the groups
	// that an address has for free. An address whose groups are full does not get near the
	// latter.
	enum class Crowd : u8 { kNone, kOfAddress, kOfNamespace };
	[[nodiscard]] Crowd crowd(net *net, const group::TcpAddress &from);

private:
	struct Share : shell::ListNode<ShareTag> {
		Share(net *of, const group::TcpAddress &address) : netns(of), from(address) {}

		net *const netns;
		const group::TcpAddress from; // zero: of the whole namespace
		u32 groups = 0;
		u32 forming = 0;
		u32 connections = 0;
	};
	using Shares = shell::List<Share, ShareTag>;

	static constexpr std::size_t kBuckets = 64;

	[[nodiscard]] Shares &bucket_of_locked(const group::TcpAddress &from) SMC_REQUIRES(lock_);
	[[nodiscard]] Share *find_locked(net *net, const group::TcpAddress &from)
		SMC_REQUIRES(lock_);
	// Groups in all.
	[[nodiscard]] static u64 most();
	[[nodiscard]] static u64 most_in_namespace() { return most() - most() / 4; }
	[[nodiscard]] u64 most_from_there(const Share &own) const
	{
		return u64{limits_.address} + own.connections / kConnectionsMin;
	}
	void drop_if_empty_locked(Share &share) SMC_REQUIRES(lock_);

	const Limits limits_;
	shell::SpinLock lock_{SMC_LOCK_LEAF};
	std::array<Shares, kBuckets> shares_ SMC_GUARDED_BY(lock_);
	u32 groups_ SMC_GUARDED_BY(lock_) = 0;
	u32 forming_ SMC_GUARDED_BY(lock_) = 0;
};

} // namespace smc::transport::rdma
