// SPDX-License-Identifier: GPL-2.0-only
//
// GroupTable: all link groups of this host, by peer: finds or makes a group for a handshake, and
// tells groups when devices and ports change.
//
// Locking: each bucket has a spinlock for its list (class GROUP_TABLE) and a mutex, so that two
// first contacts with one peer at the same time make one group. Neither is held while waiting for
// the network.
#pragma once

#include <atomic>

#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "kernel/abi/tcp.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/transport/rdma/link_group.hpp"
#include "shell/transport/rdma/places.hpp"
#include "shell/transport/transport.hpp"

namespace smc::transport::rdma {

class GroupTable final : public LinkGroup::Table {
public:
	using Answer = Result<Acquired, wire::DeclineReason>;

	// All of these in process context.
	[[nodiscard]] Answer acquire(const handshake::AcquireServerLink &wanted,
				     const Seeker &seeker);
	[[nodiscard]] Answer acquire(const handshake::AcquireClientLink &wanted,
				     const Seeker &seeker);

	// LinkGroup::Table
	[[nodiscard]] wire::PeerId own_peer_id(net *netns, const wire::Mac &mac) override;
	void reopen(LinkGroup &group) override;
	[[nodiscard]] shell::Ref<LinkGroup> take_out(LinkGroup &group) override;

	// Begins to end the groups that match, without waiting.
	template <class Match>
	void begin_end(Match &&match, wire::DeleteLinkReason reason);
	// Ends the groups that match, and waits for that.
	template <class Match>
	void end_all(Match &&match, wire::DeleteLinkReason reason);
	// The device goes: its links are lost. Waits until none is left. Process.
	void leave_device(const smc_ib_device *device);
	// A port may serve as another one of groups. Any context.
	void port_came();
	// Tells all groups on that port. Any context.
	void port_changed(smc_ib_device *device, u8 port, bool active);
	// The group with the smallest serial above @after, or none.
	[[nodiscard]] shell::Ref<LinkGroup> next(net *net, u64 after);

private:
	static constexpr std::size_t kBuckets = 64;
	// Groups without a connection, in each bucket. An honest peer host has one or two of them.
	// A peer that changes its name each time would have as many as it makes in
	// LinkGroup::kIdle…_ms.
	static constexpr u32 kIdleMax = 16;
	// How many of them end for each place that is wanted: that takes a moment.
	static constexpr u32 kGiveWay = 4;

	struct Bucket {
		shell::SpinLock lock{SMC_LOCK_GROUP_TABLE};
		shell::Mutex making{SMC_LOCK_GROUP_MAKING};
		shell::RefList<LinkGroup, TableTag> groups SMC_GUARDED_BY(lock);
		// Servers' groups that may have room. A group that is found full is removed, and
		// added again by reopen(): however many are full, no lookup passes them.
		shell::List<LinkGroup, OpenTag> open SMC_GUARDED_BY(lock);
	};

	[[nodiscard]] Bucket &bucket_of(const wire::Gid &home_gid);
	// Active groups without a connection.
	struct Idle {
		u32 groups = 0;
		shell::Ref<LinkGroup> longest;
		u64 since_ms = 0; // of the oldest one
	};
	// The groups of the bucket that match.
	template <class Match>
	[[nodiscard]] static Idle idle_in(Bucket &bucket, Match &&match);
	// Ends the group that has been idle for longest, if there are more than kIdleMax.
	static void thin_out(Bucket &bucket);
	// The same in any bucket, of groups of that role and namespace, when places for these
	// become scarce.
	void make_room(const GroupKey &key, const TcpAddress &from);
	// The first group that matches.
	template <class Match>
	[[nodiscard]] static shell::Ref<LinkGroup> find(Bucket &bucket, Match &&match)
	{
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (match(*group))
				return shell::Ref<LinkGroup>::share(group);
		}
		return {};
	}
	template <class Match>
	[[nodiscard]] shell::Ref<LinkGroup> find_anywhere(Match &&match)
	{
		for (Bucket &bucket : buckets_) {
			if (auto group = find(bucket, match))
				return group;
		}
		return {};
	}
	// A group that matches, one of whose links leads to @peer_gid. As a rule that is the first
	// one, by which the group is kept.
	template <class Match>
	[[nodiscard]] shell::Ref<LinkGroup> find_by_link(const wire::Gid &peer_gid, Match &&match)
	{
		if (auto group = find(bucket_of(peer_gid), match))
			return group;
		return find_anywhere(match);
	}
	// Calls @end, which begins the end, for each group that matches.
	template <class Match, class End>
	void begin_each(Match &&match, End &&end);
	// The same, and waits until they have ended.
	template <class Match, class End>
	void end_each(Match &&match, End &&end);
	// A server's group with this key that takes a connection from that address, or none.
	[[nodiscard]] static shell::Ref<LinkGroup> find_open(Bucket &bucket, const GroupKey &key,
							     const LinkEnds &ends,
							     const TcpAddress &from);
	// The result of joining such a group; nothing if there is none.
	[[nodiscard]] static std::optional<Answer>
	join_open(Bucket &bucket, const GroupKey &key, const LinkEnds &ends, const Seeker &seeker);
	// The result of joining @group; nothing if it has no room after all. @link: see
	// LinkGroup::Joining.
	[[nodiscard]] static std::optional<Answer>
	join(shell::Ref<LinkGroup> group, group::LinkIndex link, const Seeker &seeker);
	// What a group is made of.
	struct Making {
		const GroupKey &key;
		const LinkEnds &ends;
		const Port &port;
		const handshake::Agreement &agreement;
		bool direct;
	};
	// join_open() again, and in the other buckets. The bucket's mutex keeps others from making
	// a group.
	[[nodiscard]] std::optional<Answer> join_any(Bucket &bucket, const GroupKey &key,
						     const LinkEnds &ends, const Seeker &seeker)
		SMC_REQUIRES(bucket.making);
	[[nodiscard]] Answer make_group(const Making &making, const Seeker &seeker);

	// A role's own: who begins groups with servers here takes no client's places, nor the other
	// way round.
	[[nodiscard]] Places &places_of(const GroupKey &key)
	{
		return key.server ? servers_ : clients_;
	}

	Places servers_{Places::kOfServers};
	Places clients_{Places::kOfClients};
	std::array<Bucket, kBuckets> buckets_;
	shell::SpinLock lock_{SMC_LOCK_LEAF};
	u64 serials_ SMC_GUARDED_BY(lock_) = 0;
	u32 uids_ SMC_GUARDED_BY(lock_) = 0;
	// The bytes of a wire::PeerId; 0: it is still to be made. All of it in one word, since each
	// handshake asks for it several times.
	std::atomic<u64> own_peer_id_{0};
};

// Exists between setup and teardown.
[[nodiscard]] GroupTable &group_table();
[[nodiscard]] bool set_up_group_table();
void tear_down_group_table();
// The namespace is about to go: its groups begin to end, which takes time. Process context.
void begin_end_of_groups_of(net *net);
// The namespace goes: its groups end first. Process context.
void end_groups_of(net *net);

} // namespace smc::transport::rdma
