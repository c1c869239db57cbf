// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and the setup of a connection: it joins, meets its peer's end, and is confirmed.
#include <algorithm>

#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "shell/base/random.hpp"
#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

namespace {

// The peer has more places for RMBs; but one whose user there has not closed yet, though it was
// deleted, takes up a place as well.
constexpr u32 kCrowd = group::kRtokensMax / 2;

} // namespace

Result<shell::Ref<RdmaEndpoint>, LinkGroup::NotJoined> LinkGroup::join(const Joining &joining)
{
	using Then = NotJoined::Then;

	auto fresh = shell::make_counted<RdmaEndpoint>(*this, joining.sk);
	if (!fresh)
		return fail(NotJoined{Then::kGiveUp, wire::DeclineReason::kMem});
	{
		shell::Guard guard(lock_);

		if (state_ >= State::kEnding)
			return fail(NotJoined{Then::kTryAnother});
		if (!joining.founder && room_locked(joining.from) != Room::kThere)
			return fail(NotJoined{Then::kTryAnother});
		if (state_ == State::kForming && !joining.founder) {
			if (!waiting_.linked(joining.observer))
				waiting_.push_back(joining.observer);
			return fail(NotJoined{Then::kWait});
		}
		const auto link =
			joining.founder || !key_.server ? joining.link : least_used_link();
		if (!link)
			return fail(NotJoined{Then::kTryAnother});
		// The server does not know yet. Its connections are about to be moved, and this one
		// would be too late for that.
		if (control_.machine().link_state(*link) == group::LinkState::kDown)
			return fail(NotJoined{Then::kGiveUp, wire::DeclineReason::kErrRdyLnk});
		const auto token = endpoints_.insert(fresh, shell::random24());
		if (!token && !key_.server)
			return fail(NotJoined{Then::kGiveUp, wire::DeclineReason::kErrRtok});
		if (!token)
			return fail(NotJoined{Then::kTryAnother});
		place_.join();
		if (key_.server)
			doubt_.begin(joining.from);
		fresh->first_contact_ = joining.founder;
		fresh->from_.under(lock_) = joining.from;
		fresh->completed_.under(lock_) = !key_.server;
		fresh->token_ = token->value();
		fresh->link_.store(&links_[*link], std::memory_order_relaxed);
		records_[*link].connections++;
		endpoints_.show(*fresh, *token);
		idle_since_ms_ = 0;
	}
	bool there = give_rmb(*fresh) && (!joining.founder || lay_in_reserve());
	if (there) {
		shell::Guard guard(lock_);
		// Not before: the observer would take this group's results for those of the next
		// group that is tried.
		there = state_ < State::kEnding;
		if (there)
			fresh->observer_.under(lock_) = &joining.observer;
	}
	if (!there) {
		// The peer has not been told of these buffers.
		take_out(*fresh, true);
		// If the group has begun to end meanwhile, there may be another one.
		if (ending())
			return fail(NotJoined{Then::kTryAnother});
		return fail(NotJoined{Then::kGiveUp, wire::DeclineReason::kMem});
	}
	return fresh;
}

LinkGroup::Room LinkGroup::room(const TcpAddress &from, const LinkEnds &ends)
{
	shell::Guard guard(lock_);
	const Room room = room_locked(from);
	// Where several links were agreed upon they lead to the peer, whatever ports it and this
	// connection name. (In version 2 Linux does not say who it is: then its port has to do.)
	const bool any_port =
		control_.machine().config().max_links > 1 && key_.pnet && !key_.peer_id.is_zero();
	const bool leads_there =
		any_port ||
		std::any_of(records_.begin(), records_.end(), [&](const LinkRecord &record) {
			return record.ends.join_ports_of(ends, key_.version);
		});

	return room == Room::kThere && !leads_there ? Room::kNotForYou : room;
}

// One whose port is away only if there is no other: the port may be back in a moment.
std::optional<group::LinkIndex> LinkGroup::least_used_link() const
{
	std::optional<group::LinkIndex> best;

	const auto is_better = [this](group::LinkIndex one, group::LinkIndex other) {
		lock_.assert_held();
		if (is_usable(one) != is_usable(other))
			return is_usable(one);
		return records_[one].connections < records_[other].connections;
	};
	for (const Link &link : links_) {
		if (control_.machine().link_state(link.index()) == group::LinkState::kActive &&
		    (!best || is_better(link.index(), *best)))
			best = link.index();
	}
	return best;
}

LinkGroup::Room LinkGroup::room_locked(const TcpAddress &from) const
{
	if (state_ >= State::kEnding)
		return Room::kNever;
	// A client's group was chosen by its server.
	if (!key_.server)
		return Room::kThere;
	// Anybody can begin a group in the peer's name and then be silent. The peer, from another
	// address, does not wait for that.
	if (state_ == State::kForming)
		return from == founder_address_ ? Room::kThere : Room::kNotForYou;
	if (full())
		return Room::kLater;
	// All links are lost but one that is being confirmed.
	if (!least_used_link())
		return Room::kNotForYou;
	return doubt_.admits(from) ? Room::kThere : Room::kNotForYou;
}

// Under lock_. The server counts. Its end of a connection may be free while the client's is not,
// and a client that refused the server's choice would say that they disagree about the group.
bool LinkGroup::full() const
{
	// The peer has no more places for RMBs, and each RMB in doubt keeps its place. So does a
	// retired slot, here.
	return key_.server &&
	       (endpoints_.size() >= control_.machine().config().max_conns ||
		endpoints_.size() + std::max<std::size_t>(doubt_.rmbs(), endpoints_.retired()) >=
			group::kRtokensMax);
}

wire::SmcrEndpoint LinkGroup::local_end(const RdmaEndpoint &endpoint)
{
	const Link &link = *endpoint.link();
	const struct smc_ib_region_info &rmb = endpoint.rmb_buffer_->slab().on(link.index());
	shell::Guard guard(setup_mutex_);
	const group::LinkIdentity local = link.identity(setup_mutex_);

	return {
		.peer_id = table_.own_peer_id(key_.netns, link.port(setup_mutex_).wire_mac()),
		.gid = local.gid,
		.mac = local.mac,
		.qpn = local.qpn,
		.rmb_rkey = wire::Rkey{rmb.remote_key},
		.rmbe_index = endpoint.rmb_buffer_->rmbe_index(),
		.token = wire::Token{endpoint.token_},
		.rmbe_size = endpoint.rmb_buffer_->size(),
		.mtu = link.port(setup_mutex_).mtu,
		.rmb_address = rmb.address,
		.psn = link.psn(setup_mutex_),
	};
}

LinkEnds LinkGroup::ends_of(const RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	return records_[endpoint.link()->index()].ends;
}

// Under lock_. The link that this end has offered is lost, and the peer has agreed to it meanwhile.
std::optional<wire::RemoteToken> LinkGroup::begin_elsewhere(RdmaEndpoint &endpoint,
							    group::RtokenIndex rmb)
{
	const auto to = least_used_link();
	const auto rtoken = to ? control_.machine().rtoken(rmb, *to) : std::nullopt;

	if (rtoken) {
		endpoint.stranded_.under(lock_).reset();
		endpoint.link_.store(&links_[*to], std::memory_order_relaxed);
		records_[*to].connections++;
	}
	return rtoken;
}

Result<LinkGroup::Connected, wire::DeclineReason>
LinkGroup::connect(RdmaEndpoint &endpoint, const handshake::ConnectLink &towards)
{
	const wire::SmcrEndpoint &peer = *towards.peer;
	wire::RemoteToken rtoken{peer.rmb_rkey, peer.rmb_address};
	bool elsewhere = false;
	{
		const group::LinkIndex link = endpoint.link()->index();
		shell::Guard guard(lock_);
		LinkEnds ends = records_[link].ends;
		const auto lost_qpn = endpoint.stranded_.under(lock_);
		std::optional<group::RtokenIndex> index;

		if (towards.first_contact)
			index = control_.machine().acquire_rtoken(link, rtoken);
		else if (peer.qpn == lost_qpn.value_or(ends.peer_qpn))
			index = control_.machine().acquire_known_rtoken(link, rtoken);
		if (index && lost_qpn) {
			const auto other =
				key_.server ? begin_elsewhere(endpoint, *index) : std::nullopt;

			if (!other) {
				control_.machine().release_rtoken(*index);
				return fail(wire::DeclineReason::kErrRtok);
			}
			rtoken = *other;
			elsewhere = true;
		}
		if (!index) {
			// TCP may come from anybody. A client that does not know the link's
			// announcements would have us write into memory of the host at the link's
			// other end. (A group that ends has forgotten its announcements, and one
			// that came after the loss of the link does not name that.)
			if (!towards.first_contact && state_ < State::kEnding &&
			    ends.device != nullptr && !lost_qpn &&
			    control_.machine().link_state(link) != group::LinkState::kDown) {
				smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
				smc_stat_inc(key_.netns, SMC_STAT_CLC_MALFORMED);
			}
			return fail(wire::DeclineReason::kErrRtok);
		}
		endpoint.rtoken_.under(lock_) = *index;
		endpoint.rtoken_held_.under(lock_) = true;
		if (towards.first_contact) {
			ends.peer_gid = peer.gid;
			ends.peer_mac = peer.mac;
			ends.peer_qpn = peer.qpn;
			set_ends(link, ends);
		}
	}
	if (towards.first_contact)
		SMC_TRY(bring_up(links_[kFirstLink], {.identity = {peer.mac, peer.gid, peer.qpn},
						      .psn = peer.psn,
						      .mtu = towards.mtu}));
	if (!endpoint.start_towards(peer, rtoken, elsewhere))
		return fail(wire::DeclineReason::kIntErr);
	const bool has_met = links_[kFirstLink].has_met();

	if (!towards.first_contact || (!key_.server && has_met))
		return Connected::kNow;
	shell::Guard guard(lock_);
	if (state_ >= State::kEnding)
		return fail(has_met ? wire::DeclineReason::kErrRegBuf
				    : wire::DeclineReason::kErrRdyLnk);
	if (links_[kFirstLink].has_met() || met_stranger(kFirstLink))
		return link_met(endpoint);
	meeting_ = shell::Ref<RdmaEndpoint>::share(&endpoint);
	return Connected::kLater;
}

Result<LinkGroup::Connected, wire::DeclineReason> LinkGroup::link_met(RdmaEndpoint &founder)
{
	if (!key_.server)
		return Connected::kNow;
	if (met_stranger(kFirstLink)) {
		refuse_stranger();
		return fail(wire::DeclineReason::kErrRdyLnk);
	}
	register_buffers(founder, AfterRegistration::kConnected);
	return Connected::kLater;
}

void LinkGroup::refuse_stranger() const
{
	smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
	smc_stat_inc(key_.netns, SMC_STAT_IWARP_REFUSED);
}

bool LinkGroup::met_stranger(group::LinkIndex index) const
{
	return key_.server && links_[index].has_met_another(records_[index].ends.peer_qpn);
}

void LinkGroup::on_link_met(Link &link)
{
	shell::Guard guard(lock_);

	added_link_met(link.index());
	if (!meeting_ || link.index() != kFirstLink ||
	    (!link.has_met() && !met_stranger(kFirstLink)))
		return;
	const auto founder = std::exchange(meeting_, {});

	if (state_ >= State::kEnding)
		return;
	const auto connected = link_met(*founder);

	if (!connected)
		tell(founder.get(), SetupResult::kLinkConnectFailed, connected.error());
	else if (*connected == Connected::kNow)
		tell(founder.get(), SetupResult::kLinkConnected, wire::DeclineReason::kNone);
}

void LinkGroup::await_answers()
{
	shell::Guard guard(lock_);
	arm();
}

Result<void, wire::DeclineReason> LinkGroup::bring_up(Link &link, const group::LinkEnd &peer)
{
	if (ending())
		return fail(wire::DeclineReason::kErrRdyLnk);
	return link.meet(peer, direct_,
			 key_.server ? Link::Ready::kToSend : Link::Ready::kToReceive,
			 setup_mutex_);
}

LinkGroup::Announced LinkGroup::announce_rkey(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	if (state_ != State::kActive || endpoint.stranded_.under(lock_)) {
		tell(&endpoint, SetupResult::kRkeyAnnounceFailed, wire::DeclineReason::kErrRegBuf);
		return Announced::kLater;
	}
	if (peer_knows(endpoint.rmb_buffer_->slab()) &&
	    post_registrations(endpoint) == Registration::kDone)
		return Announced::kNow;
	register_buffers(endpoint, AfterRegistration::kAnnounce);
	return Announced::kLater;
}

// Under lock_. A peer that has no place left forgets the RMB that was announced longest ago. So
// after an announcement in a crowd, those before it do not count.
bool LinkGroup::peer_knows(const Slab &rmb) const
{
	return rmb.confirmed(lock_) > crowded_at_;
}

// Under lock_.
void LinkGroup::announce(RdmaEndpoint &endpoint)
{
	delete_surplus();
	Slab &slab = announced_rmb(endpoint, lock_)->slab();

	announcements_++;
	endpoint.announcement_.under(lock_) = announcements_;
	slab.announcer(lock_) = endpoint.token_;
	if (pool_.rmbs() > kCrowd)
		crowded_at_ = announcements_;
	control_.step(group::AnnounceRkey{.flow = endpoint.token_, .rkeys = rkeys_of(slab)});
}

// Under lock_. The CONFIRM_RKEY that this connection sent has ended: the peer has answered
// (@confirmed: it has taken the RMB), or the connection has ended. Others may wait for it: they
// have elements of the same slab.
void LinkGroup::announcement_over(RdmaEndpoint &announcer, std::optional<bool> confirmed)
{
	const Buffer *rmb = announced_rmb(announcer, lock_);

	if (rmb == nullptr)
		return;
	Slab &slab = rmb->slab();

	if (slab.announcer(lock_) != announcer.token_)
		return;
	slab.announcer(lock_) = 0;
	endpoints_.for_each([this, &slab, confirmed](RdmaEndpoint &other) {
		lock_.assert_held();
		if (!other.awaits_announcement_.under(lock_) ||
		    &announced_rmb(other, lock_)->slab() != &slab)
			return;
		if (confirmed) {
			other.awaits_announcement_.under(lock_) = false;
			tell_announced(other, *confirmed);
		} else if (slab.announcer(lock_) == 0) {
			other.awaits_announcement_.under(lock_) = false;
			announce(other);
		}
	});
}

// A link that has been lost meanwhile is not in the announcement: the peer would not know the rkey
// that this end names.
void LinkGroup::tell_announced(RdmaEndpoint &endpoint, bool confirmed)
{
	const bool lost =
		control_.machine().link_state(endpoint.link()->index()) == group::LinkState::kDown;

	tell_of_announcement(endpoint, confirmed && !lost);
}

group::LinkRkeys LinkGroup::rkeys_of(const Slab &rmb) const
{
	group::LinkRkeys rkeys;

	for (const Link &link : links_) {
		const group::LinkIndex index = link.index();
		const struct smc_ib_region_info &info = rmb.on(index);

		if (control_.machine().link_state(index) == group::LinkState::kActive)
			(void)rkeys.push_back({index, {wire::Rkey{info.remote_key}, info.address}});
	}
	return rkeys;
}

void LinkGroup::confirm_link(RdmaEndpoint &endpoint)
{
	const Link &link = *endpoint.link();
	group::LinkIdentity local;
	{
		shell::Guard guard(setup_mutex_);
		local = link.identity(setup_mutex_);
	}
	shell::Guard guard(lock_);
	const LinkEnds &ends = records_[link.index()].ends;
	const group::LinkIdentity peer{ends.peer_mac, ends.peer_gid, ends.peer_qpn};

	founder_ = shell::Ref<RdmaEndpoint>::share(&endpoint);
	if (state_ != State::kForming) {
		tell(&endpoint, SetupResult::kLinkConfirmFailed, wire::DeclineReason::kTimeoutCl);
		return;
	}
	if (key_.server)
		control_.step(group::StartConfirmLink{link.index(), local, peer});
	else
		control_.step(group::ExpectConfirmLink{link.index(), local, peer});
}

void LinkGroup::complete(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	endpoint.agreed_.under(lock_) = true;
	if (endpoint.stranded_.under(lock_)) {
		drop_due_ = true;
		kick();
	}
	if (!std::exchange(endpoint.completed_.under(lock_), true))
		doubt_.completed(endpoint.from_.under(lock_));
}

void LinkGroup::know_peer(const handshake::Agreement &agreement)
{
	shell::Guard guard(lock_);
	agreement_.peer_os = agreement.peer_os;
	agreement_.peer_host_name = agreement.peer_host_name;
}

void LinkGroup::stop_waiting(SetupObserver &observer)
{
	const auto waiting_ones = shell::Ref<LinkGroup>::adopt(this);
	shell::Guard guard(lock_);

	waiting_.remove(observer);
}

void LinkGroup::unobserve(RdmaEndpoint &endpoint, SetupObserver &observer)
{
	shell::Guard guard(lock_);
	if (endpoint.observer_.under(lock_) == &observer)
		endpoint.observer_.under(lock_) = nullptr;
	waiting_.remove(observer);
}

void LinkGroup::abandon(RdmaEndpoint &endpoint, bool peer_may_use)
{
	const bool first_contact = endpoint.first_contact_;
	bool established = peer_may_use && endpoint.started();

	if (first_contact) {
		shell::Guard guard(lock_);
		// Confirmed meanwhile, it is the peer's and everybody's who has joined. Nor is the
		// link at fault if the peer has had our answer, and has broken off this connection
		// before we know that. If it has not had it, the machine ends the group.
		const bool answered =
			control_.machine().link_state(kFirstLink) == group::LinkState::kAnswered;
		established = established &&
			      (state_ == State::kActive || (state_ == State::kForming && answered));
		if (!established) {
			control_.step(group::Terminate{wire::DeleteLinkReason::kLostPath});
			begin_end();
		}
	}
	if (established) {
		endpoint.abort();
		endpoint.release_from_user();
		return;
	}
	// Neither DELETE_RKEY nor deregistration: a write that finds no RMB, or with Linux one into
	// the entry that an RMB told of later has got, would cost others their connection.
	if (peer_may_use && !first_contact) {
		shell::Guard guard(lock_);
		endpoint.rmb_in_doubt_.under(lock_) = true;
	}
	take_out(endpoint, false);
}

void LinkGroup::activate()
{
	shell::Ref<RdmaEndpoint> founder;
	{
		shell::Guard guard(lock_);
		founder = founder_;
	}
	bool ready;
	{
		shell::Guard guard(setup_mutex_);
		ready = founder && !ending() && links_[kFirstLink].open(setup_mutex_);
	}
	shell::Guard guard(lock_);
	// Buffers that are gone: the handshake has given up meanwhile.
	if (!ready)
		control_.step(group::LinkActivated{kFirstLink, wire::DeclineReason::kErrRdyLnk});
	else if (!has_rmb(*founder, lock_))
		control_.step(group::LinkActivated{kFirstLink, wire::DeclineReason::kErrRegBuf});
	else if (state_ < State::kEnding)
		register_buffers(*founder, AfterRegistration::kActivated);
}

} // namespace smc::transport::rdma
