// SPDX-License-Identifier: GPL-2.0-only
//
// GroupTable's answer to a handshake that wants a connection: one of a group that is there, or of a
// new one.
#include <algorithm>

#include "kernel/abi/stats.h"
#include "shell/transport/rdma/group_table.hpp"

namespace smc::transport::rdma {

namespace {

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

GroupKey key_from(const Port &port, const Seeker &seeker, const handshake::Agreement &agreement,
		  const wire::PeerId &peer_id, const wire::Gid &peer_gid, const wire::Mac &peer_mac)
{
	return {
		.netns = seeker.netns,
		.server = seeker.server,
		.version = agreement.version,
		.device = port.device.get(),
		.port = port.number,
		.vlan_id = port.gid.vlan_id,
		.gid = port.wire_gid(),
		.peer_id = peer_id,
		.peer_gid = peer_gid,
		.peer_mac = agreement.version == 1 ? peer_mac : wire::Mac{},
		.eid = agreement.version == 1 ? wire::Eid{} : agreement.eid,
		.peer_qpn = {},
	};
}

} // namespace

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
	const GroupKey key = key_from(*port, seeker, agreement, wanted.peer_id, wanted.peer_gid,
				      wanted.peer_mac);
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
	GroupKey key = key_from(*port, seeker, agreement, peer.peer_id, peer.gid, peer.mac);

	key.peer_qpn = peer.qpn;
	return make_group(key, *port, agreement, agreement.version == 1 || wanted.v2_direct,
			  seeker);
}

} // namespace smc::transport::rdma
