// SPDX-License-Identifier: GPL-2.0-only
//
// Places: limits the number of servers' link groups, by who has begun them. Each costs a queue pair
// and the buffers of a link, about 0.6 MiB, for which no program is charged, and anybody can begin
// one: what tells groups apart is what a client says of itself. So only few groups may be forming;
// from one TCP address there may be only a few more than their connections justify, since an honest
// peer begins another group only when its last one is full; and in all as many as memory allows. A
// client that finds no place uses TCP.
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
	// Forming groups of one TCP address. A host has one for each way in which its groups may
	// differ: device, VLAN, SMC version, enterprise ID. Connections that may share a group wait
	// for it.
	static constexpr u32 kFormingAddressMax = 8;
	// Forming groups of one network namespace, so that others find places.
	static constexpr u32 kFormingNamespaceMax = 256;
	static constexpr u32 kFormingMax = 512;
	// Groups of one TCP address, active or not, plus one more for each so many connections in
	// them: a full group has at least so many.
	static constexpr u32 kAddressMax = 32;
	static constexpr u32 kConnectionsMin = 16;
	// Memory of one group. All together may take as much as the second value of tcp_mem, those
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

	Places() = default;
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
	[[nodiscard]] static u64 most_from_there(const Share &own)
	{
		return u64{kAddressMax} + own.connections / kConnectionsMin;
	}
	void drop_if_empty_locked(Share &share) SMC_REQUIRES(lock_);

	shell::SpinLock lock_{SMC_LOCK_LEAF};
	std::array<Shares, kBuckets> shares_ SMC_GUARDED_BY(lock_);
	u32 groups_ SMC_GUARDED_BY(lock_) = 0;
	u32 forming_ SMC_GUARDED_BY(lock_) = 0;
};

} // namespace smc::transport::rdma
