// SPDX-License-Identifier: GPL-2.0-only
//
// GroupTable for a handshake that wants a connection: in an existing group, or in a new one.
#include <algorithm>

#include "kernel/abi/stats.h"
#include "shell/control/port_pnet.hpp"
#include "shell/transport/rdma/group_table.hpp"
#include "shell/transport/rdma/port_search.hpp"

namespace smc::transport::rdma {

namespace {

smc_ib_gid_type gid_type(const handshake::Agreement &agreement)
{
	if (agreement.iwarp())
		return SMC_IB_GID_IWARP;
	return agreement.version == 1 ? SMC_IB_GID_ROCE_V1 : SMC_IB_GID_ROCE_V2;
}

// The way from here to the peer's GID.
enum class Route : u8 {
	kNone,
	kDirect,
	kThroughGateway,
};

Route route_to(const Port &port, const wire::Gid &peer_gid)
{
	const auto address = wire::ipv4_from_gid(peer_gid);
	bool uses_gateway;

	if (!address || smc_ib_route_lookup(port.device.get(), port.number, &port.gid,
					    address->data(), &uses_gateway) != 0)
		return Route::kNone;
	return uses_gateway ? Route::kThroughGateway : Route::kDirect;
}

// The first link over iWARP goes wherever TCP does, between the same addresses: no stranger can
// have this host's connection manager look for anybody else.
bool is_beside_tcp(const Port &port, const wire::Gid &peer_gid, const Seeker &seeker)
{
	return peer_gid.bytes == seeker.from() &&
	       std::equal(port.gid.raw, std::end(port.gid.raw), seeker.path->local);
}

GroupKey key_from(const Port &port, const Seeker &seeker, const handshake::Agreement &agreement,
		  const wire::PeerId &peer_id)
{
	return {
		.netns = seeker.netns,
		.server = seeker.server,
		.version = agreement.version,
		.vlan_id = port.gid.vlan_id,
		.peer_id = peer_id,
		.eid = agreement.version == 1 ? wire::Eid{} : agreement.eid,
		.pnet = control::pnet_of_port(port.device, port.number),
	};
}

LinkEnds ends_from(const Port &port, const wire::Gid &peer_gid, const wire::Mac &peer_mac,
		   wire::Qpn peer_qpn)
{
	return {
		.device = port.device.get(),
		.port = port.number,
		.gid = port.wire_gid(),
		.peer_gid = peer_gid,
		.peer_mac = peer_mac,
		.peer_qpn = peer_qpn,
	};
}

Acquired joined(LinkGroup &group, shell::Ref<RdmaEndpoint> endpoint, bool first_contact)
{
	const LinkEnds ends = group.ends_of(*endpoint);
	const handshake::LinkAcquired answer{.first_contact = first_contact,
					     .v2_direct = group.direct(),
					     .local = group.local_end(*endpoint),
					     .peer_gid = ends.peer_gid,
					     .peer_mac = ends.peer_mac};

	return {.endpoint = shell::Ref<Endpoint>::adopt(endpoint.release()), .answer = answer};
}

} // namespace

shell::Ref<LinkGroup> GroupTable::find_open(Bucket &bucket, const GroupKey &key,
					    const LinkEnds &ends, const TcpAddress &from)
{
	shell::Guard guard(bucket.lock);
	LinkGroup *next = nullptr;

	for (LinkGroup *group = bucket.open.front(); group != nullptr; group = next) {
		next = bucket.open.next(*group);
		if (group->key() != key)
			continue;
		switch (group->room(from, ends)) {
		case LinkGroup::Room::kThere: return shell::Ref<LinkGroup>::share(group);
		case LinkGroup::Room::kNotForYou: break;
		case LinkGroup::Room::kLater:
		case LinkGroup::Room::kNever: bucket.open.remove(*group); break;
		}
	}
	return {};
}

std::optional<GroupTable::Answer> GroupTable::join(shell::Ref<LinkGroup> group,
						   group::LinkIndex link, const Seeker &seeker)
{
	auto endpoint = group->join({.sk = seeker.sk,
				     .from = seeker.from(),
				     .founder = false,
				     .link = link,
				     .observer = *seeker.observer});

	if (endpoint)
		return joined(*group, endpoint.take(), false);
	switch (endpoint.error().then) {
	case LinkGroup::NotJoined::Then::kWait: return Acquired{.awaited = group.release()};
	case LinkGroup::NotJoined::Then::kTryAnother: break;
	case LinkGroup::NotJoined::Then::kGiveUp: return fail(endpoint.error().reason);
	}
	return std::nullopt;
}

std::optional<GroupTable::Answer> GroupTable::join_open(Bucket &bucket, const GroupKey &key,
							const LinkEnds &ends, const Seeker &seeker)
{
	const LinkGroup *last = nullptr;

	// A group that has no room after all is not found again.
	for (;;) {
		auto group = find_open(bucket, key, ends, seeker.from());

		if (!group || group.get() == last)
			return std::nullopt;
		last = group.get();
		if (auto answer = join(std::move(group), 0, seeker))
			return answer;
	}
}

GroupTable::Answer GroupTable::make_group(const Making &making, const Seeker &seeker)
{
	const GroupKey &key = making.key;
	const TcpAddress from = seeker.from();
	u64 serial;
	u32 uid;

	for (u32 i = 0; i < kGiveWay; i++)
		make_room(key, from);
	Places::Place place = places_of(key).take(key.netns, from);
	if (!place)
		return fail(wire::DeclineReason::kMem);
	{
		shell::Guard guard(lock_);
		serial = ++serials_;
		uid = uids_ += 0x100;
	}
	Bucket &bucket = bucket_of(making.ends.peer_gid);
	// Two for each new one: many may have become idle together.
	thin_out(bucket);
	thin_out(bucket);
	// Not every driver reports a change of the MTU, and with one that is too large only short
	// messages get through.
	Port fresh = making.port;
	fresh.refresh_mtu();
	const LinkGroup::Founding founding{
		.ends = making.ends,
		.agreement = making.agreement,
		.founder = from,
		.direct = making.direct,
		.uid = uid,
	};
	auto group = LinkGroup::create(*this, key, fresh, founding, std::move(place));
	if (!group)
		return fail(wire::DeclineReason::kMem);
	group->set_serial(serial);
	{
		shell::Guard guard(bucket.lock);
		bucket.groups.push_back(group);
		if (key.server)
			bucket.open.push_back(*group);
	}
	// The device may have begun to go before the group could be found.
	if (!smc_ib_device_present(fresh.device.get())) {
		group->end(wire::DeleteLinkReason::kProgram);
		return fail(wire::DeclineReason::kNoActLink);
	}
	auto endpoint = group->join({.sk = seeker.sk,
				     .from = from,
				     .founder = true,
				     .link = 0,
				     .observer = *seeker.observer});
	if (!endpoint) {
		const LinkGroup::NotJoined why = endpoint.error();

		group->end(wire::DeleteLinkReason::kProgram);
		return fail(why.then == LinkGroup::NotJoined::Then::kGiveUp
				    ? why.reason
				    : wire::DeclineReason::kNoActLink);
	}
	return joined(*group, endpoint.take(), true);
}

std::optional<GroupTable::Answer> GroupTable::join_any(Bucket &bucket, const GroupKey &key,
						       const LinkEnds &ends, const Seeker &seeker)
{
	if (auto answer = join_open(bucket, key, ends, seeker))
		return answer;
	// The peer may have begun its group on another port. Links on several need a PNET ID.
	for (Bucket &other : buckets_) {
		if (!key.pnet || &other == &bucket)
			continue;
		if (auto answer = join_open(other, key, ends, seeker))
			return answer;
	}
	return std::nullopt;
}

GroupTable::Answer GroupTable::acquire(const handshake::AcquireServerLink &wanted,
				       const Seeker &seeker)
{
	const handshake::Agreement &agreement = *wanted.agreement;
	const auto port = find_port(seeker.netns, *seeker.path, gid_type(agreement));

	if (!port)
		return fail(wire::DeclineReason::kNoSmcrDev);
	const GroupKey key = key_from(*port, seeker, agreement, wanted.peer_id);
	const LinkEnds ends = ends_from(*port, wanted.peer_gid, wanted.peer_mac, {});
	Bucket &bucket = bucket_of(wanted.peer_gid);

	if (auto answer = join_open(bucket, key, ends, seeker))
		return std::move(*answer);
	shell::Guard guard(bucket.making);
	if (auto answer = join_any(bucket, key, ends, seeker))
		return std::move(*answer);
	if (agreement.iwarp() && !is_beside_tcp(*port, wanted.peer_gid, seeker))
		return fail(wire::DeclineReason::kNoRoute);
	// A link that is there has its way. Version 1 works inside one subnet.
	const Route route = agreement.version >= 2 && !agreement.iwarp()
				    ? route_to(*port, wanted.peer_gid)
				    : Route::kDirect;
	if (route == Route::kNone)
		return fail(wire::DeclineReason::kNoRoute);
	return make_group({key, ends, *port, agreement, route == Route::kDirect}, seeker);
}

GroupTable::Answer GroupTable::acquire(const handshake::AcquireClientLink &wanted,
				       const Seeker &seeker)
{
	const handshake::Agreement &agreement = *wanted.agreement;
	const wire::SmcrEndpoint &peer = *wanted.peer;

	if (!agreement.first_contact) {
		const LinkEnds peer_end{
			.peer_gid = peer.gid, .peer_mac = peer.mac, .peer_qpn = peer.qpn};
		const auto leads_there = [&](LinkGroup &group) {
			const GroupKey &key = group.key();

			// The EID is not compared: Linux sends the one found this time, which need
			// not be that of the first contact. The link is the same, and declining it
			// as unknown would have Linux end the group.
			return !key.server && key.netns == seeker.netns &&
			       key.version == agreement.version &&
			       key.vlan_id == seeker.path->vlan_id && key.peer_id == peer.peer_id &&
			       group.may_lead_to(peer.qpn) && group.link_to(peer_end) &&
			       group.state() < LinkGroup::State::kEnding;
		};
		// A group or a link that ends meanwhile is not found again.
		while (auto group = find_by_link(peer.gid, leads_there)) {
			const auto link = group->link_to(peer_end);

			if (!link)
				continue;
			if (auto answer = join(std::move(group), *link, seeker))
				return std::move(*answer);
		}
		return fail(wire::DeclineReason::kSyncErr);
	}

	const auto port = find_port(seeker.netns, *seeker.path, gid_type(agreement));
	// The server wants the one that it has chosen the group by.
	if (!port || port->wire_gid() != wanted.own_gid)
		return fail(wire::DeclineReason::kNoSmcrDev);
	if (agreement.iwarp() && !is_beside_tcp(*port, peer.gid, seeker))
		return fail(wire::DeclineReason::kNoRoute);
	if (agreement.version >= 2 && !agreement.iwarp() && !wanted.v2_direct) {
		switch (route_to(*port, peer.gid)) {
		case Route::kNone: return fail(wire::DeclineReason::kNoRoute);
		case Route::kDirect: return fail(wire::DeclineReason::kNoIndirect);
		case Route::kThroughGateway: break;
		}
	}
	const GroupKey key = key_from(*port, seeker, agreement, peer.peer_id);
	const LinkEnds ends = ends_from(*port, peer.gid, peer.mac, peer.qpn);

	return make_group({key, ends, *port, agreement, agreement.version == 1 || wanted.v2_direct},
			  seeker);
}

} // namespace smc::transport::rdma
