// SPDX-License-Identifier: GPL-2.0-only
//
// GroupTable: all link groups of this host, by peer; what handshakes ask for a link, and what the
// devices' comings and goings do to groups.
//
// Locking: each bucket has a spinlock for its list (class GROUP_TABLE) and a mutex that makes sure
// that two first contacts with the same peer at the same time make one group. Neither is held while
// waiting for the network.
#pragma once

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

	// Process context, all of them.
	[[nodiscard]] Answer acquire(const handshake::AcquireServerLink &wanted,
				     const Seeker &seeker);
	[[nodiscard]] Answer acquire(const handshake::AcquireClientLink &wanted,
				     const Seeker &seeker);

	// LinkGroup::Table
	[[nodiscard]] wire::PeerId own_peer_id(const wire::Mac &mac) override;
	void reopen(LinkGroup &group) override;
	[[nodiscard]] shell::Ref<LinkGroup> take_out(LinkGroup &group) override;

	// The end of the groups that match begins; nobody waits for it.
	template <class Match>
	void begin_end(Match &&match, wire::DeleteLinkReason reason);
	// Ends the groups that match and waits until they have.
	template <class Match>
	void end_all(Match &&match, wire::DeleteLinkReason reason);
	// To all groups on it. Any context.
	void port_changed(smc_ib_device *device, u8 port, bool active);
	// The group with the smallest serial above @after, or none.
	[[nodiscard]] shell::Ref<LinkGroup> next(net *net, u64 after);

private:
	static constexpr std::size_t kBuckets = 64;
	// Groups without a connection, in each bucket. A peer host has one or two of them. One that
	// names itself anew each time would have as many as it makes in LinkGroup::kIdle…_ms.
	static constexpr u32 kIdleMax = 16;
	// That end, where places are scarce, for each that is wanted: they take a moment to go.
	static constexpr u32 kGiveWay = 4;

	struct Bucket {
		shell::SpinLock lock{SMC_LOCK_GROUP_TABLE};
		shell::Mutex making{SMC_LOCK_GROUP_MAKING};
		shell::RefList<LinkGroup, TableTag> groups SMC_GUARDED_BY(lock);
		// Those of servers that may have room. One that is found full leaves, and comes
		// back with reopen(): however many are full, nobody looks at them.
		shell::List<LinkGroup, OpenTag> open SMC_GUARDED_BY(lock);
	};

	[[nodiscard]] Bucket &bucket_of(const wire::Gid &peer_gid);
	// Active groups without a connection.
	struct Idle {
		u32 groups = 0;
		shell::Ref<LinkGroup> longest;
		u64 since_ms = 0; // of that one
	};
	// Those of the bucket that match.
	template <class Match>
	[[nodiscard]] static Idle idle_in(Bucket &bucket, Match &&match);
	// A group more than kIdleMax? The one that has been idle for longest goes.
	static void thin_out(Bucket &bucket);
	// The same, wherever it is, where places for one more of a server's become scarce.
	void make_room(net *net, const TcpAddress &from);
	// The n-th group that matches.
	template <class Match>
	[[nodiscard]] static shell::Ref<LinkGroup> find(Bucket &bucket, u32 n, Match &&match)
	{
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (match(*group) && n-- == 0)
				return shell::Ref<LinkGroup>::share(group);
		}
		return {};
	}
	template <class Match>
	[[nodiscard]] shell::Ref<LinkGroup> find_anywhere(Match &&match);
	// @end of each that matches, which is the beginning of its end.
	template <class Match, class End>
	void begin_each(Match &&match, End &&end);
	// The same, and waits until they have ended.
	template <class Match, class End>
	void end_each(Match &&match, End &&end);
	// A server's group with this key that takes a connection from there, or none.
	[[nodiscard]] static shell::Ref<LinkGroup> find_open(Bucket &bucket, const GroupKey &key,
							     const TcpAddress &from);
	// What comes of joining such a group; nothing if there is none.
	[[nodiscard]] static std::optional<Answer> join_open(Bucket &bucket, const GroupKey &key,
							     const Seeker &seeker);
	// What comes of joining this one; nothing if there is no room after all.
	[[nodiscard]] static std::optional<Answer> join(shell::Ref<LinkGroup> group,
							const Seeker &seeker);
	// The same once more, or makes one: nobody else makes one for this bucket meanwhile.
	[[nodiscard]] Answer join_or_make(Bucket &bucket, const GroupKey &key, const Port &port,
					  const handshake::Agreement &agreement, bool direct,
					  const Seeker &seeker) SMC_REQUIRES(bucket.making);
	[[nodiscard]] Answer make_group(const GroupKey &key, const Port &port,
					const handshake::Agreement &agreement, bool direct,
					const Seeker &seeker);

	Places places_;
	std::array<Bucket, kBuckets> buckets_;
	shell::SpinLock lock_{SMC_LOCK_LEAF};
	u64 serials_ SMC_GUARDED_BY(lock_) = 0;
	u32 uids_ SMC_GUARDED_BY(lock_) = 0;
	wire::PeerId own_peer_id_ SMC_GUARDED_BY(lock_);
};

// Exists between setup and teardown.
[[nodiscard]] GroupTable &group_table();
[[nodiscard]] bool set_up_group_table();
void tear_down_group_table();
// The namespace is about to go: the end of its groups begins, and takes its time. Process context.
void begin_end_of_groups_of(net *net);
// The namespace goes: its groups end first. Process context.
void end_groups_of(net *net);

} // namespace smc::transport::rdma
