// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/group_table.hpp"

#include <algorithm>

#include "kernel/abi/stats.h"

namespace smc::transport::rdma {

namespace {

GroupTable *table;

using Status = Acquired::Status;

Acquired failed(wire::DeclineReason reason)
{
	Acquired result;
	result.reason = reason;
	return result;
}

smc_ib_gid_type gid_type(u8 version)
{
	return version == 1 ? SMC_IB_GID_ROCE_V1 : SMC_IB_GID_ROCE_V2;
}

// Is there a route from here to the peer's GID, and does it go through a gateway?
bool route_to(const Port &port, const wire::Gid &peer_gid, bool *uses_gateway)
{
	const auto address = wire::ipv4_from_gid(peer_gid);

	return address && smc_ib_route_lookup(port.device.get(), port.number, &port.gid,
					      address->data(), uses_gateway) == 0;
}

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

GroupTable::Bucket &GroupTable::bucket_of(const wire::Gid &peer_gid)
{
	u32 hash = 0;

	for (const u8 byte : peer_gid.bytes)
		hash = hash * 31 + byte;
	return buckets_[hash % kBuckets];
}

template <class Match>
shell::Ref<LinkGroup> GroupTable::find(Bucket &bucket, u32 n, Match &&match)
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
shell::Ref<LinkGroup> GroupTable::find_anywhere(Match &&match)
{
	for (Bucket &bucket : buckets_) {
		if (auto group = find(bucket, 0, match))
			return group;
	}
	return {};
}

template <class Match>
void GroupTable::look_for_idle(Bucket &bucket, Match &&match, Idle &idle)
{
	shell::Guard guard(bucket.lock);
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
}

void GroupTable::thin_out(Bucket &bucket)
{
	Idle idle;

	look_for_idle(
		bucket, [](const LinkGroup &) { return true; }, idle);
	if (idle.groups > kIdleMax)
		idle.longest->end_if_idle();
}

void GroupTable::make_room(net *net, const TcpAddress &from)
{
	const Places::Crowd crowd = places_.crowd(net, from);
	const auto gives_way = [&](const LinkGroup &group) {
		return group.is_server() && group.key().netns == net &&
		       (crowd == Places::Crowd::kOfNamespace || group.founder_address() == from);
	};
	Idle idle;

	if (crowd == Places::Crowd::kNone)
		return;
	for (Bucket &bucket : buckets_)
		look_for_idle(bucket, gives_way, idle);
	if (idle.longest)
		idle.longest->end_if_idle();
}

void GroupTable::joined(Acquired *result, shell::Ref<RdmaEndpoint> endpoint, bool first_contact)
{
	LinkGroup &group = endpoint->group();

	result->status = Status::kDone;
	result->reason = wire::DeclineReason::kNone;
	result->answer = handshake::LinkAcquired{.first_contact = first_contact,
						 .v2_direct = group.direct(),
						 .local = group.local_end(*endpoint)};
	result->endpoint = shell::Ref<Endpoint>::adopt(endpoint.release());
}

shell::Ref<LinkGroup> GroupTable::find_open(Bucket &bucket, const GroupKey &key,
					    const TcpAddress &from)
{
	shell::Guard guard(bucket.lock);
	LinkGroup *next = nullptr;

	for (LinkGroup *group = bucket.open.front(); group != nullptr; group = next) {
		next = bucket.open.next(*group);
		if (group->key() != key)
			continue;
		switch (group->room(from)) {
		case LinkGroup::Room::kThere: return shell::Ref<LinkGroup>::share(group);
		case LinkGroup::Room::kNotForYou: break;
		case LinkGroup::Room::kLater:
		case LinkGroup::Room::kNever: bucket.open.remove(*group); break;
		}
	}
	return {};
}

void GroupTable::reopen(LinkGroup &group)
{
	Bucket &bucket = bucket_of(group.key().peer_gid);
	shell::Guard guard(bucket.lock);

	if (bucket.groups.linked(group) && !bucket.open.linked(group))
		bucket.open.push_back(group);
}

bool GroupTable::join(shell::Ref<LinkGroup> group, const Seeker &seeker, Acquired *result)
{
	shell::Ref<RdmaEndpoint> endpoint;

	switch (group->join(seeker.sk, seeker.from(), false, *seeker.observer, &endpoint,
			    &result->reason)) {
	case LinkGroup::Join::kJoined: joined(result, std::move(endpoint), false); return true;
	case LinkGroup::Join::kWait:
		result->status = Status::kWait;
		result->awaited = group.release();
		return true;
	case LinkGroup::Join::kNo: break;
	}
	if (result->reason == wire::DeclineReason::kNone)
		return false;
	result->status = Status::kFailed;
	return true;
}

bool GroupTable::join_open(Bucket &bucket, const GroupKey &key, const Seeker &seeker,
			   Acquired *result)
{
	// One that has no room after all is not found again.
	while (auto group = find_open(bucket, key, seeker.from())) {
		if (join(std::move(group), seeker, result))
			return true;
	}
	return false;
}

Acquired GroupTable::make_group(const GroupKey &key, const Port &port,
				const handshake::Agreement &agreement, bool direct,
				const Seeker &seeker)
{
	Acquired result;
	shell::Ref<RdmaEndpoint> endpoint;
	u64 serial;
	u32 uid;

	if (key.server) {
		for (u32 i = 0; i < kGiveWay; i++)
			make_room(key.netns, seeker.from());
	}
	Places::Place place = key.server ? places_.take(key.netns, seeker.from()) : Places::Place();
	if (key.server && !place)
		return failed(wire::DeclineReason::kMem);
	{
		shell::Guard guard(lock_);
		serial = ++serials_;
		uid = uids_ += 0x100;
	}
	Bucket &bucket = bucket_of(key.peer_gid);
	// Two for each new one: many may have become idle together.
	thin_out(bucket);
	thin_out(bucket);
	// No driver tells of each change of it, and with one that is too large nothing but short
	// messages would get through.
	Port fresh = port;
	fresh.refresh_mtu();
	auto group = LinkGroup::create(key, fresh, agreement, direct, uid, seeker.from(),
				       std::move(place));
	if (!group)
		return failed(wire::DeclineReason::kMem);
	group->set_serial(serial);
	{
		shell::Guard guard(bucket.lock);
		bucket.groups.push_back(group);
		if (key.server)
			bucket.open.push_back(*group);
	}
	// The device may have begun to go before the group could be found.
	if (!smc_ib_device_present(port.device.get()) ||
	    group->join(seeker.sk, seeker.from(), true, *seeker.observer, &endpoint,
			&result.reason) != LinkGroup::Join::kJoined) {
		group->end(wire::DeleteLinkReason::kProgram);
		return failed(result.reason == wire::DeclineReason::kNone
				      ? wire::DeclineReason::kNoActLink
				      : result.reason);
	}
	joined(&result, std::move(endpoint), true);
	return result;
}

Acquired GroupTable::join_or_make(Bucket &bucket, const GroupKey &key, const Port &port,
				  const handshake::Agreement &agreement, bool direct,
				  const Seeker &seeker)
{
	Acquired result;

	if (join_open(bucket, key, seeker, &result))
		return result;
	return make_group(key, port, agreement, direct, seeker);
}

Acquired GroupTable::acquire(const handshake::AcquireServerLink &wanted, const Seeker &seeker)
{
	const handshake::Agreement &agreement = wanted.agreement;
	const auto port = find_port(seeker.netns, *seeker.path, gid_type(agreement.version));
	bool gateway = false;
	Acquired result;

	if (!port)
		return failed(wire::DeclineReason::kNoSmcrDev);
	if (agreement.version >= 2 && !route_to(*port, wanted.peer_gid, &gateway))
		return failed(wire::DeclineReason::kNoRoute);
	const GroupKey key{
		.netns = seeker.netns,
		.server = true,
		.version = agreement.version,
		.device = port->device.get(),
		.port = port->number,
		.vlan_id = port->gid.vlan_id,
		.gid = port->wire_gid(),
		.peer_id = wanted.peer_id,
		.peer_gid = wanted.peer_gid,
		.peer_mac = agreement.version == 1 ? wanted.peer_mac : wire::Mac{},
		.eid = agreement.version == 1 ? wire::Eid{} : agreement.eid,
	};
	Bucket &bucket = bucket_of(key.peer_gid);

	if (join_open(bucket, key, seeker, &result))
		return result;
	shell::Guard guard(bucket.making);
	return join_or_make(bucket, key, *port, agreement, !gateway, seeker);
}

Acquired GroupTable::acquire(const handshake::AcquireClientLink &wanted, const Seeker &seeker)
{
	const handshake::Agreement &agreement = wanted.agreement;
	const wire::SmcrEndpoint &peer = wanted.peer;

	if (!agreement.first_contact) {
		const auto leads_there = [&](LinkGroup &group) {
			const GroupKey &key = group.key();

			// Not by the EID: Linux names the one that it found this time, which need
			// not be that of the first contact. The link is the same, and to say that
			// it is not would have Linux end the group.
			return !key.server && key.netns == seeker.netns &&
			       key.version == agreement.version &&
			       key.vlan_id == seeker.path->vlan_id && key.peer_id == peer.peer_id &&
			       key.peer_gid == peer.gid &&
			       (agreement.version >= 2 || key.peer_mac == peer.mac) &&
			       key.peer_qpn == peer.qpn &&
			       group.state() < LinkGroup::State::kEnding;
		};
		Acquired result;

		// One that ends meanwhile is not found again.
		while (auto group = find(bucket_of(peer.gid), 0, leads_there)) {
			if (join(std::move(group), seeker, &result))
				return result;
		}
		return failed(wire::DeclineReason::kSyncErr);
	}

	const auto port = find_port(seeker.netns, *seeker.path, gid_type(agreement.version));
	if (!port)
		return failed(wire::DeclineReason::kNoSmcrDev);
	if (agreement.version >= 2 && !wanted.v2_direct) {
		bool gateway;

		if (!route_to(*port, peer.gid, &gateway))
			return failed(wire::DeclineReason::kNoRoute);
		if (!gateway)
			return failed(wire::DeclineReason::kNoIndirect);
	}
	const GroupKey key{
		.netns = seeker.netns,
		.server = false,
		.version = agreement.version,
		.device = port->device.get(),
		.port = port->number,
		.vlan_id = port->gid.vlan_id,
		.gid = port->wire_gid(),
		.peer_id = peer.peer_id,
		.peer_gid = peer.gid,
		.peer_mac = agreement.version == 1 ? peer.mac : wire::Mac{},
		.eid = agreement.version == 1 ? wire::Eid{} : agreement.eid,
		.peer_qpn = peer.qpn,
	};
	return make_group(key, *port, agreement, agreement.version == 1 || wanted.v2_direct,
			  seeker);
}

wire::PeerId GroupTable::own_peer_id(const wire::Mac &mac)
{
	shell::Guard guard(lock_);
	if (own_peer_id_.is_zero()) {
		smc_random_bytes(own_peer_id_.bytes.data(), 2);
		std::copy(mac.bytes.begin(), mac.bytes.end(), own_peer_id_.bytes.begin() + 2);
	}
	return own_peer_id_;
}

shell::Ref<LinkGroup> GroupTable::take_out(LinkGroup &group)
{
	Bucket &bucket = bucket_of(group.key().peer_gid);
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
		while (auto group = find(bucket, 0, goes_on))
			end(*group);
	}
}

template <class Match, class End>
void GroupTable::end_each(Match &&match, End &&end)
{
	// All begin before any is waited for: where the peers are dead, each takes its time.
	begin_each(match, end);
	// Each round takes one out of the table.
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

void GroupTable::port_changed(smc_ib_device *device, u8 port, bool active)
{
	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (group->key().device == device && group->key().port == port)
				group->port_changed(active);
		}
	}
}

shell::Ref<LinkGroup> GroupTable::next(net *net, u64 *cursor)
{
	shell::Ref<LinkGroup> best;

	for (Bucket &bucket : buckets_) {
		shell::Guard guard(bucket.lock);
		for (LinkGroup *group = bucket.groups.front(); group != nullptr;
		     group = bucket.groups.next(*group)) {
			if (group->key().netns == net && group->serial() > *cursor &&
			    (!best || group->serial() < best->serial()))
				best = shell::Ref<LinkGroup>::share(group);
		}
	}
	if (best)
		*cursor = best->serial();
	return best;
}

} // namespace smc::transport::rdma

// ---- Callbacks of kernel/verbs ------------------------------------------------------------------

using namespace smc::transport::rdma;
using smc::wire::DeleteLinkReason;

extern "C" void smc_ib_device_added(smc_ib_device *)
{
	// Devices are looked for when a connection needs one.
}

extern "C" void smc_ib_device_removing(smc_ib_device *device)
{
	group_table().end_all([&](LinkGroup &group) { return group.key().device == device; },
			      DeleteLinkReason::kLostPath);
}

extern "C" void smc_ib_port_event(smc_ib_device *device, u8 port, bool active)
{
	group_table().port_changed(device, port, active);
}

namespace smc::transport::rdma {

void begin_end_of_groups_of(net *net)
{
	group_table().begin_end([&](LinkGroup &group) { return group.key().netns == net; },
				DeleteLinkReason::kProgram);
}

void end_groups_of(net *net)
{
	group_table().end_all([&](LinkGroup &group) { return group.key().netns == net; },
			      DeleteLinkReason::kProgram);
}

} // namespace smc::transport::rdma
