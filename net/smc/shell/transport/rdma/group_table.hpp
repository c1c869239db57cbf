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
#include "shell/transport/rdma/rdma_endpoint.hpp"
#include "shell/transport/setup.hpp"

namespace smc::transport::rdma {

// Who wants a link: the sock of the connection, where it runs, and whom to tell.
struct Seeker {
	struct sock *sk;
	net *netns;
	const struct smc_tcp_path *path;
	SetupObserver *observer;
};

struct Acquired {
	enum class Status : u8 {
		kDone,
		kWait, // the observer will hear kGroupSettled; ask again then
		kFailed,
	};
	Status status = Status::kFailed;
	wire::DeclineReason reason = wire::DeclineReason::kMem;
	shell::Ref<RdmaEndpoint> endpoint;
	shell::Ref<LinkGroup> awaited; // kWait: unobserve() it before the observer goes
	handshake::LinkAcquired facts;
};

class GroupTable {
public:
	// Process context, all of them.
	[[nodiscard]] Acquired acquire(const handshake::AcquireServerLink &wanted,
				       const Seeker &seeker);
	[[nodiscard]] Acquired acquire(const handshake::AcquireClientLink &wanted,
				       const Seeker &seeker);

	// How this host is known to its peers: an instance number and the MAC of the first port
	// that was used (RFC 7609, 3.5.1.1).
	[[nodiscard]] wire::PeerId own_peer_id(const wire::Mac &mac);

	// Nobody finds it any more. Twice does no harm.
	void take_out(LinkGroup &group);
	// Gives back the table's reference.
	void put(LinkGroup &group) { group.put(); }

	// Ends the groups that match and waits until they have.
	template <class Match>
	void end_all(Match &&match, wire::DeleteLinkReason reason);
	void lose_port(smc_ib_device *device, u8 port);
	// The group with the smallest serial above *cursor, or none.
	[[nodiscard]] shell::Ref<LinkGroup> next(net *net, u64 *cursor);

private:
	static constexpr std::size_t kBuckets = 64;
	// Groups without a connection, in each bucket. A peer host has one or two of them. One that
	// names itself anew each time would have as many as it makes in LinkGroup::kIdle…_ms.
	static constexpr u32 kIdleMax = 16;

	struct Bucket {
		shell::SpinLock lock{SMC_LOCK_GROUP_TABLE};
		shell::Mutex making{SMC_LOCK_GROUP_MAKING};
		shell::List<LinkGroup, TableTag> groups;
	};

	[[nodiscard]] Bucket &bucket_of(const wire::Gid &peer_gid);
	// A group more than kIdleMax? The one that has been idle for longest goes.
	void thin_out(Bucket &bucket);
	// The n-th group that matches.
	template <class Match>
	[[nodiscard]] shell::Ref<LinkGroup> find(Bucket &bucket, u32 n, Match &&match);
	template <class Match>
	[[nodiscard]] shell::Ref<LinkGroup> find_anywhere(Match &&match);
	// @end of each that matches, and waits until they have ended.
	template <class Match, class End>
	void end_each(Match &&match, End &&end);
	// Joins one of the groups that match; false if there is none with room.
	template <class Match>
	[[nodiscard]] bool join_existing(Bucket &bucket, const Seeker &seeker, Match &&match,
					 Acquired *result);
	[[nodiscard]] Acquired make_group(const GroupKey &key, const Port &port,
					  const handshake::Agreement &agreement, bool direct,
					  const Seeker &seeker);
	static void joined(Acquired *result, bool first_contact);

	std::array<Bucket, kBuckets> buckets_;
	shell::SpinLock lock_{SMC_LOCK_LEAF};
	u64 serials_ = 0;
	u32 uids_ = 0;
	wire::PeerId own_peer_id_;
};

// Exists between setup and teardown.
[[nodiscard]] GroupTable &group_table();
[[nodiscard]] bool set_up_group_table();
void tear_down_group_table();
// The namespace goes: its groups end first. Process context.
void end_groups_of(net *net);

} // namespace smc::transport::rdma
