// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and its links beside the first one: the machine decides when they are added; here are
// their ports and queue pairs, and what becomes of a link that is down.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel/abi/stats.h"
#include "shell/transport/rdma/link_group.hpp"
#include "shell/transport/rdma/port_search.hpp"

namespace smc::transport::rdma {

namespace {

constexpr u64 kLook_ms = 10;

using RkeyPairs = std::array<wire::RkeyPair, group::kRtokensMax>;

} // namespace

// ---- Adding -------------------------------------------------------------------------------------

// A port for one more link beside that one, from which a route leads to @peer if that is known. A
// link that shares a port with another one is about to be replaced, so its ports count as free. Or,
// if that will do, the port of that link (find_other_port()).
std::optional<Port> LinkGroup::other_port(group::LinkIndex beside, const wire::Gid *peer,
					  bool same_will_do)
{
	Port port;
	{
		shell::Guard guard(setup_mutex_);
		if (links_[beside].handle(setup_mutex_) == nullptr)
			return std::nullopt;
		port = links_[beside].port(setup_mutex_);
	}
	OtherPort wanted{.netns = key_.netns,
			 .than = port,
			 .type = port.gid.type,
			 .vlan_id = key_.vlan_id,
			 .peer = std::nullopt,
			 .direct = direct_,
			 .same_will_do = same_will_do};
	if (key_.version >= 2 && peer != nullptr)
		wanted.peer = *peer;
	return find_other_port(wanted);
}

void LinkGroup::prepare_link(const group::PrepareLink &wanted)
{
	{
		// A newer offer may have taken its place since run() began, and drop_links() the
		// link's: nobody would end a queue pair that is made then.
		shell::Guard guard(lock_);
		if (control_.machine().link_state(wanted.link) != group::LinkState::kPreparing)
			return;
	}
	const auto rkeys = shell::make<RkeyPairs>();
	auto port = other_port(wanted.beside, wanted.peer ? &wanted.peer->identity.gid : nullptr,
			       wanted.same_port_will_do);
	Link &link = links_[wanted.link];
	group::LinkPrepared prepared{.link = wanted.link, .local = std::nullopt, .rkeys = {}};
	bool there = rkeys && port;

	if (there) {
		port->refresh_mtu();
		shell::Guard guard(setup_mutex_);
		there = !ending() && link.create(making_on(*port));
		if (there) {
			smc_stat_inc(key_.netns, SMC_STAT_QP_NEW);
			prepared.local = group::LinkEnd{link.identity(setup_mutex_),
							link.psn(setup_mutex_), port->mtu};
			there = pool_.map_all(link, setup_mutex_);
		}
	}
	if (there && wanted.peer)
		there = bring_up(link, {.identity = wanted.peer->identity,
					.psn = wanted.peer->psn,
					.mtu = std::min(wanted.peer->mtu, port->mtu)})
				.has_value();
	if (!there)
		prepared.local.reset();

	shell::Guard guard(lock_);
	if (state_ >= State::kEnding)
		return;
	if (there) {
		LinkEnds ends{.device = port->device.get(),
			      .port = port->number,
			      .gid = port->wire_gid(),
			      .peer_gid = {},
			      .peer_mac = {},
			      .peer_qpn = {}};
		if (wanted.peer) {
			ends.peer_gid = wanted.peer->identity.gid;
			ends.peer_mac = wanted.peer->identity.mac;
			ends.peer_qpn = wanted.peer->identity.qpn;
		}
		set_ends(wanted.link, ends);
		prepared.rkeys = std::span(*rkeys).first(
			pool_.rkey_pairs(wanted.beside, wanted.link, *rkeys));
	}
	control_.step(prepared);
	// It may have begun to go before this link could be found.
	if (there && !smc_ib_device_present(port->device.get()))
		control_.step(group::LinkFailed{wanted.link});
}

void LinkGroup::ready_link(const group::ReadyLink &wanted)
{
	Link &link = links_[wanted.link];
	const bool up = bring_up(link, wanted.peer).has_value();

	shell::Guard guard(lock_);
	if (control_.machine().link_state(wanted.link) != group::LinkState::kReadying)
		return;
	if (!up) {
		control_.step(group::LinkReady{wanted.link, false});
		return;
	}
	LinkEnds ends = records_[wanted.link].ends;
	ends.peer_gid = wanted.peer.identity.gid;
	ends.peer_mac = wanted.peer.identity.mac;
	ends.peer_qpn = wanted.peer.identity.qpn;
	set_ends(wanted.link, ends);
	meeting_link_ = wanted.link;
	added_link_met(wanted.link);
}

// Of a server. Over iWARP it may not have met its peer yet.
void LinkGroup::added_link_met(group::LinkIndex index)
{
	const bool stranger = met_stranger(index);

	if (meeting_link_ != index || (!stranger && !links_[index].has_met()))
		return;
	meeting_link_.reset();
	if (control_.machine().link_state(index) != group::LinkState::kReadying)
		return;
	if (stranger) {
		refuse_stranger();
		control_.step(group::LinkReady{index, false});
		return;
	}
	registering_link_ = index;
	advance_link_registration();
}

// Of a client: CONFIRM_LINK has come.
void LinkGroup::activate_link(group::LinkIndex index)
{
	bool up = false;
	{
		shell::Guard guard(setup_mutex_);
		up = !ending() && links_[index].open(setup_mutex_);
	}
	shell::Guard guard(lock_);
	if (control_.machine().link_state(index) != group::LinkState::kActivating)
		return;
	if (!up) {
		control_.step(group::LinkActivated{index, wire::DeclineReason::kErrRdyLnk});
		return;
	}
	registering_link_ = index;
	advance_link_registration();
}

// Under lock_. All buffers are registered before the peer may use the link.
void LinkGroup::advance_link_registration()
{
	if (!registering_link_)
		return;
	const Registration all = pool_.enable_all(links_[*registering_link_]);

	if (all == Registration::kNoRoom || all == Registration::kUnderWay)
		return;
	const group::LinkIndex link = *std::exchange(registering_link_, std::nullopt);
	const bool ok = all == Registration::kDone;

	if (key_.server) {
		control_.step(group::LinkReady{link, ok});
		return;
	}
	activated(link, ok);
}

// Under lock_. Of a client: all buffers are registered on the link, or not.
void LinkGroup::activated(group::LinkIndex link, bool ok)
{
	group::LinkActivated event{link, std::nullopt};

	if (!ok)
		event.failure = wire::DeclineReason::kErrRegBuf;
	control_.step(event);
	look_for_delivery(link);
}

void LinkGroup::forget_addition()
{
	to_prepare_.reset();
	to_ready_.reset();
	to_activate_.reset();
	meeting_link_.reset();
	registering_link_.reset();
}

// ---- Losing -------------------------------------------------------------------------------------

void LinkGroup::drop_links()
{
	for (Link &link : links_) {
		bool down;
		{
			shell::Guard guard(lock_);
			down = state_ < State::kEnding && !records_[link.index()].leaving &&
			       control_.machine().link_state(link.index()) ==
				       group::LinkState::kDown;
		}
		if (down)
			drop_link(link);
	}
	move_connections(nullptr);
}

// A connection that could not move stays counted on a link that has begun anew.
void LinkGroup::leave_link(const Link &link)
{
	u32 &connections = records_[link.index()].connections;

	connections -= connections != 0 ? 1 : 0;
}

// It had lost its link before the peer took it for established.
bool LinkGroup::is_left_behind(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);

	return endpoint.stranded_.under(lock_) && endpoint.agreed_.under(lock_);
}

// Those on that link; nullptr: those that are left behind.
void LinkGroup::move_connections(const Link *from)
{
	visit_connections([this, from](RdmaEndpoint &endpoint) {
		if (from != nullptr)
			endpoint.hear_without(*from);
		if (from != nullptr ? endpoint.link() == from : is_left_behind(endpoint))
			move_connection(endpoint);
	});
}

// It is lost where the peer has named no RMB on that link. Where no link is left it waits for the
// one that is being added, or for the group's end. One that the peer does not take for established
// yet has a handshake, which may still go on by TCP.
void LinkGroup::move_connection(RdmaEndpoint &endpoint)
{
	std::optional<group::LinkIndex> to;
	std::optional<wire::RemoteToken> rtoken;
	std::optional<wire::RemoteToken> next;
	{
		shell::Guard guard(lock_);
		auto &stranded = endpoint.stranded_.under(lock_);

		if (!endpoint.agreed_.under(lock_)) {
			const auto reason = wire::DeclineReason::kErrRegBuf;

			if (!stranded)
				stranded = records_[endpoint.link()->index()].ends.peer_qpn;
			// Nothing is registered in the place of a link that may be another one
			// soon.
			registering_.remove(endpoint);
			tell(&endpoint, SetupResult::kLinkConnectFailed, reason);
			tell(&endpoint, SetupResult::kRkeyAnnounceFailed, reason);
			return;
		}
		to = least_used_link();
		// One may be being confirmed: then the group has not begun to end.
		if (!to && state_ < State::kEnding) {
			stranded = wire::Qpn{};
			return;
		}
		stranded.reset();
		if (to && endpoint.rtoken_held_.under(lock_))
			rtoken = control_.machine().rtoken(endpoint.rtoken_.under(lock_), *to);
		if (const auto index = endpoint.next_rtoken_.under(lock_); to && index)
			next = control_.machine().rtoken(*index, *to);
		// The peer has closed and taken its RMB back; it is still to hear of our end.
		if (to && endpoint.writes_forbidden())
			rtoken = next = wire::RemoteToken{};
		if (to)
			records_[*to].connections++;
	}
	// It may have begun since that link was drained.
	endpoint.hear_without(*endpoint.link());
	if (to && endpoint.move_to(links_[*to], rtoken, next)) {
		smc_stat_inc(key_.netns, SMC_STAT_CONN_MOVED);
		return;
	}
	endpoint.on_transport_lost(ECONNRESET);
	shell::Guard guard(lock_);
	if (to)
		leave_link(links_[*to]);
}

// The order matters. A queue pair that still lives repeats packets out of the send buffers, which
// the connections fill again as soon as they have moved: so it is stopped first. And the peer does
// not send again what it knows to have come here, so that is taken in first.
void LinkGroup::drop_link(Link &link)
{
	{
		shell::Guard guard(setup_mutex_);
		if (link.handle(setup_mutex_) != nullptr) {
			smc_stat_inc(key_.netns, SMC_STAT_QP_FREE);
			link.stop(setup_mutex_);
		}
		if (!link.leaves())
			link.destroy(setup_mutex_);
	}
	move_connections(&link);
	if (!link.leaves()) {
		end_link(link);
		return;
	}
	// The connections go on meanwhile, and so do other groups.
	shell::Guard guard(lock_);
	records_[link.index()].leaving = true;
	end_work_.queue();
}

// No connection uses it any more.
void LinkGroup::end_link(Link &link)
{
	const group::LinkIndex index = link.index();

	// It is stopped, so nothing comes any more. What has come may wait in its receives, which
	// go with it, and this need not be run().
	{
		shell::Guard guard(lock_);
		control_.drop(index);
	}
	if (link.leaves()) {
		link.leave(setup_mutex_);
		shell::Guard guard(setup_mutex_);
		link.destroy(setup_mutex_);
	}
	pool_.unmap_all(index);
	shell::Guard guard(lock_);
	records_[index] = {};
	set_ends(index, {});
	control_.step(group::LinkGone{index});
	// Those that waited for an addition that has failed.
	advance_registrations();
	kick();
}

// ---- Ports --------------------------------------------------------------------------------------

void LinkGroup::look_for_other_port()
{
	shell::Guard guard(lock_);
	if (state_ != State::kActive || !control_.machine().lacks_link())
		return;
	other_due_ = true;
	kick();
}

void LinkGroup::tell_of_other_port()
{
	std::optional<group::LinkIndex> link;
	{
		shell::Guard guard(lock_);
		link = least_used_link();
	}
	const auto port = link ? other_port(*link, nullptr, /*same_will_do=*/false) : std::nullopt;

	if (!port)
		return;
	shell::Guard guard(lock_);
	control_.step(group::AlternateFound{port->wire_mac(), port->wire_gid()});
}

void LinkGroup::wait_unused(const smc_ib_device *device)
{
	while (uses(device) && !smc_completion_wait(&ended_, kLook_ms))
		kick();
}

} // namespace smc::transport::rdma
