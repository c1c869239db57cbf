// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/group_table.hpp"
#include "kernel/abi/callbacks/verbs.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/base/hash.hpp"
#include "kernel/abi/stats.h"
#include "shell/control/device_epoch.hpp"
#include "shell/control/namespace.hpp"
#include "shell/transport/rdma/port_memory.hpp"

namespace smc::transport::rdma {

namespace {

GroupTable *table;

} // namespace

GroupTable &group_table()
{
	return *table;
}

bool set_up_group_table()
{
	return shell::make_single(table);
}

void tear_down_group_table()
{
	shell::free_single(table);
}

GroupTable::Bucket &GroupTable::bucket_of(const wire::Gid &home_gid)
{
	const auto halves = std::bit_cast<std::array<u64, 2>>(home_gid.bytes);
	const u64 hash = mix(mix(0, halves[0]), halves[1]);

	return buckets_[(hash >> 32) % kBuckets];
}

template <class Match>
GroupTable::Idle GroupTable::idle_in(Bucket &bucket, Match &&match)
{
	shell::Guard guard(bucket.lock);
	Idle idle;

	for (LinkGroup *group = bucket.groups.front(); group != nullptr;
	     group = bucket.groups.next(*group)) {
		const u64 since_ms = match(*group) ? group->idle_since_ms() : 0;

		if (since_ms == 0)
			continue;
		idle.groups++;
		if (!idle.longest || since_ms < idle.since_ms) {
			idle.longest = shell::Ref<LinkGroup>::share(group);
			idle.since_ms = since_ms;
		}
	}
	return idle;
}

void GroupTable::thin_out(Bucket &bucket)
{
	const Idle idle = idle_in(bucket, [](const LinkGroup &) { return true; });

	if (idle.groups > kIdleMax)
		idle.longest->end_if_idle();
}

void GroupTable::make_room(const GroupKey &key, const TcpAddress &from)
{
	const Places::Crowd crowd = places_of(key).crowd(key.netns, from);
	const auto gives_way = [&](const LinkGroup &group) {
		return group.is_server() == key.server && group.key().netns == key.netns &&
		       (crowd == Places::Crowd::kOfNamespace || group.founder_address() == from);
	};
	Idle all;

	if (crowd == Places::Crowd::kNone)
		return;
	for (Bucket &bucket : buckets_) {
		Idle here = idle_in(bucket, gives_way);

		if (here.longest && (!all.longest || here.since_ms < all.since_ms))
			all = std::move(here);
	}
	if (all.longest)
		all.longest->end_if_idle();
}

void GroupTable::reopen(LinkGroup &group)
{
	Bucket &bucket = bucket_of(group.home_gid());
	shell::Guard guard(bucket.lock);

	if (bucket.groups.linked(group) && !bucket.open.linked(group))
		bucket.open.push_back(group);
}

wire::PeerId GroupTable::own_peer_id(net *netns, const wire::Mac &mac)
{
	const u16 number = control::Namespace::of(netns).number();
	auto id = std::bit_cast<wire::PeerId>(own_peer_id_.load(std::memory_order_relaxed));

	if (id.is_zero()) {
		u64 first = 0;

		smc_random_bytes(id.bytes.data(), 2);
		std::copy(mac.bytes.begin(), mac.bytes.end(), id.bytes.begin() + 2);
		if (!own_peer_id_.compare_exchange_strong(first, std::bit_cast<u64>(id),
							  std::memory_order_relaxed))
			id = std::bit_cast<wire::PeerId>(first);
	}
	const auto instance = static_cast<u16>((id.bytes[0] << 8 | id.bytes[1]) + number);
	id.bytes[0] = static_cast<u8>(instance >> 8);
	id.bytes[1] = static_cast<u8>(instance);
	return id;
}

shell::Ref<LinkGroup> GroupTable::take_out(LinkGroup &group)
{
	Bucket &bucket = bucket_of(group.home_gid());
	shell::Guard guard(bucket.lock);
	bucket.open.remove(group);
	return bucket.groups.remove(group);
}

template <class Match, class End>
void GroupTable::begin_each(Match &&match, End &&end)
{
	const auto goes_on = [&match](LinkGroup &group) {
		return match(group) && group.state() < LinkGroup::State::kEnding;
	};

	for (Bucket &bucket : buckets_) {
		while (auto group = find(bucket, goes_on))
			end(*group);
	}
}

template <class Match, class End>
void GroupTable::end_each(Match &&match, End &&end)
{
	// All begin to end before any is waited for: with a dead peer each takes its time.
	begin_each(match, end);
	// Each round removes one from the table.
	while (auto group = find_anywhere(match)) {
		end(*group);
		group->wait_ended();
	}
}

template <class Match>
void GroupTable::begin_end(Match &&match, wire::DeleteLinkReason reason)
{
	begin_each(match, [reason](LinkGroup &group) { group.end(reason); });
}

template <class Match>
void GroupTable::end_all(Match &&match, wire::DeleteLinkReason reason)
{
	end_each(match, [reason](LinkGroup &group) { group.end(reason); });
}

void GroupTable::leave_device(const smc_ib_device *device)
{
	const auto uses_it = [device](LinkGroup &group) { return group.uses(device); };

	// All begin before any is waited for: with a dead peer each takes its time. Under the lock,
	// since one that knows may be gone at once, and is not to move others up in the list.
	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group))
			group->lose_links_on(device);
	}
	// Each round ends with one less. New links find that the device is going.
	while (auto group = find_anywhere(uses_it))
		group->wait_unused(device);
}

void GroupTable::port_came()
{
	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group))
			group->look_for_other_port();
	}
}

void GroupTable::port_changed(smc_ib_device *device, u8 port, bool active)
{
	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (group->uses(device, port))
				group->port_changed(device, port, active);
		}
	}
}

shell::Ref<LinkGroup> GroupTable::next(net *net, u64 after)
{
	shell::Ref<LinkGroup> best;

	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (group->key().netns == net && group->serial() > after &&
			    (!best || group->serial() < best->serial()))
				best = shell::Ref<LinkGroup>::share(group);
		}
	}
	return best;
}

} // namespace smc::transport::rdma

// ---- Callbacks of kernel/verbs ------------------------------------------------------------------

using namespace smc::transport::rdma;

// Devices are looked for when a connection needs one.
extern "C" void smc_ib_device_added(smc_ib_device *)
{
	smc::control::DeviceEpoch::begin();
	group_table().port_came();
}

extern "C" void smc_ib_device_removing(smc_ib_device *device)
{
	port_memory().forget(device);
	group_table().leave_device(device);
}

extern "C" void smc_ib_port_event(smc_ib_device *device, u8 port, bool active)
{
	smc::control::DeviceEpoch::begin();
	group_table().port_changed(device, port, active);
	if (active)
		group_table().port_came();
}

extern "C" void smc_ib_ways_changed()
{
	smc::control::DeviceEpoch::change_ways();
}

// Groups that have waited for another port find that it was there.
extern "C" void smc_ib_pnet_ids_changed()
{
	group_table().port_came();
}

namespace smc::transport::rdma {

void begin_end_of_groups_of(net *net)
{
	group_table().begin_end([&](LinkGroup &group) { return group.key().netns == net; },
				wire::DeleteLinkReason::kProgram);
}

void end_groups_of(net *net)
{
	group_table().end_all([&](LinkGroup &group) { return group.key().netns == net; },
			      wire::DeleteLinkReason::kProgram);
}

} // namespace smc::transport::rdma
