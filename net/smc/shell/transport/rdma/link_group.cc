// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/link_group.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/elapsed.hpp"
#include "core/connection/cdc_mapping.hpp"
#include "core/wire/cdc.hpp"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/transport/departed.hpp"
#include "shell/transport/rdma/group_table.hpp"
#include "shell/transport/rdma/rdma_endpoint.hpp"

namespace smc::transport::rdma {

namespace {

constexpr u32 kNeighbourLimit_ms = 1000;
constexpr u8 kHopLimitDirect = 1;
constexpr u8 kHopLimitGateway = 64;

u32 random24()
{
	u32 random;
	smc_random_bytes(&random, sizeof(random));
	return random & 0xffffff;
}

group::Config machine_config(const GroupKey &key, const handshake::Agreement &agreement, u32 uid)
{
	group::Config config;

	config.role = key.server ? group::Role::kServer : group::Role::kClient;
	config.version = key.version == 1 ? wire::LlcVersion::kV1 : wire::LlcVersion::kV2;
	config.release = agreement.release;
	config.max_links = agreement.max_links != 0 ? agreement.max_links : 1;
	config.max_conns = agreement.max_conns != 0 ? agreement.max_conns : 255;
	config.group_uid = uid;
	config.testlink_idle_ms = smc_sysctl_smcr_testlink_time_s(key.netns) * 1000;
	return config;
}

u64 largest_region_bytes(const Port &port)
{
	struct smc_ib_device_info device;

	smc_ib_device_info(port.device.get(), &device);
	return device.buffer_max_bytes;
}

// The size to ask for: what the user set, else the namespace's default.
wire::BufferSize wanted_size(u32 asked_bytes, u32 default_bytes)
{
	return wire::BufferSize::covering(asked_bytes != 0 ? asked_bytes : default_bytes);
}

} // namespace

// ---- Life ---------------------------------------------------------------------------------------

LinkGroup::LinkGroup(const GroupKey &key, const Port &port, const handshake::Agreement &agreement,
		     bool direct, const group::Config &config, const TcpAddress &founder,
		     Places::Place &&place)
	: key_(key), founder_address_(founder), port_(port), agreement_(agreement), direct_(direct),
	  own_psn_(random24()), pool_(key.netns, largest_region_bytes(port)), machine_(config),
	  doubt_(founder), place_(std::move(place))
{
	smc_completion_init(&ended_);
}

LinkGroup::~LinkGroup() = default;

shell::Ref<LinkGroup> LinkGroup::create(const GroupKey &key, const Port &port,
					const handshake::Agreement &agreement, bool direct, u32 uid,
					const TcpAddress &founder, Places::Place &&place)
{
	auto group = shell::make_counted<LinkGroup>(key, port, agreement, direct,
						    machine_config(key, agreement, uid), founder,
						    std::move(place));
	if (!group)
		return {};
	if (group->link_.create(port.device.get(), port.number) != 0) {
		shell::Guard guard(group->lock_);
		// Not when its memory goes, that may be after the table has.
		group->place_.give_back();
		return {};
	}
	smc_stat_inc(key.netns, SMC_STAT_GROUP_NEW);
	smc_stat_inc(key.netns, SMC_STAT_QP_NEW);
	return group;
}

LinkGroup::State LinkGroup::state()
{
	shell::Guard guard(lock_);
	return state_;
}

bool LinkGroup::ending()
{
	return state() >= State::kEnding;
}

u32 LinkGroup::link_qpn()
{
	shell::Guard guard(setup_mutex_);
	smc_ib_link *link = link_.handle(setup_mutex_);

	return link != nullptr ? smc_ib_link_qpn(link) : 0;
}

// ---- Setting up a connection --------------------------------------------------------------------

LinkGroup::Join LinkGroup::join(struct sock *sk, const TcpAddress &from, bool founder,
				SetupObserver &observer, shell::Ref<RdmaEndpoint> *endpoint,
				wire::DeclineReason *reason)
{
	auto fresh = shell::make_counted<RdmaEndpoint>(*this, sk);
	if (!fresh) {
		*reason = wire::DeclineReason::kMem;
		return Join::kNo;
	}
	{
		shell::Guard guard(lock_);

		*reason = wire::DeclineReason::kNone;
		if (state_ >= State::kEnding)
			return Join::kNo;
		if (!founder && room_locked(from) != Room::kThere)
			return Join::kNo;
		if (state_ == State::kForming && !founder) {
			if (!waiting_.linked(observer))
				waiting_.push_back(observer);
			return Join::kWait;
		}
		const auto token = endpoints_.insert(fresh.get(), random24());
		if (!token) {
			if (!key_.server)
				*reason = wire::DeclineReason::kErrRtok;
			return Join::kNo;
		}
		(void)shell::Ref<RdmaEndpoint>(fresh).release(); // the table's
		place_.join();
		if (key_.server)
			doubt_.begin(from);
		fresh->first_contact_ = founder;
		fresh->from_.under(lock_) = from;
		fresh->completed_.under(lock_) = !key_.server;
		fresh->token_ = token->value();
		fresh->link_ = &link_;
		put_into_slot(fresh->token_, fresh.get());
		idle_since_ms_ = 0;
	}
	bool there = give_buffers(*fresh);
	if (there) {
		shell::Guard guard(lock_);
		// Not before: what this group says would be taken for an answer of the next one
		// that is tried.
		there = state_ < State::kEnding;
		if (there)
			fresh->observer_.under(lock_) = &observer;
	}
	if (!there) {
		// The peer has never heard of these buffers.
		take_out(*fresh, true);
		// A group that has begun to end meanwhile is no reason: there may be another.
		if (!ending())
			*reason = wire::DeclineReason::kMem;
		return Join::kNo;
	}
	*endpoint = std::move(fresh);
	return Join::kJoined;
}

LinkGroup::Room LinkGroup::room(const TcpAddress &from)
{
	shell::Guard guard(lock_);
	return room_locked(from);
}

LinkGroup::Room LinkGroup::room_locked(const TcpAddress &from) const
{
	if (state_ >= State::kEnding)
		return Room::kNever;
	// A client's, its server has chosen.
	if (!key_.server)
		return Room::kThere;
	// Anybody can begin a group in the peer's name and say no more. The peer, from another
	// address, does not wait for that.
	if (state_ == State::kForming)
		return from == founder_address_ ? Room::kThere : Room::kNotForYou;
	if (full())
		return Room::kLater;
	return doubt_.admits(from) ? Room::kThere : Room::kNotForYou;
}

// Under lock_. The server counts. Its end of a connection may be free while the client's is not,
// and to refuse what it has chosen would say that they disagree about the group.
bool LinkGroup::full() const
{
	// The peer has no more places for RMBs, and one in doubt keeps its own.
	return key_.server && (endpoints_.size() >= machine_.config().max_conns ||
			       endpoints_.size() + doubt_.rmbs() >= group::kRtokensMax);
}

bool LinkGroup::give_buffers(RdmaEndpoint &endpoint)
{
	net *net = key_.netns;

	return give_buffer(endpoint.sk(), endpoint.send_buffer_, SMC_IB_BUFFER_SEND,
			   wanted_size(smc_sk_asked_sndbuf_bytes(endpoint.sk()),
				       smc_sysctl_wmem(net))) &&
	       give_buffer(
		       endpoint.sk(), endpoint.rmb_buffer_, SMC_IB_BUFFER_RMB,
		       wanted_size(smc_sk_asked_rcvbuf_bytes(endpoint.sk()), smc_sysctl_rmem(net)));
}

// There may be memory for a buffer, and none to map it for the device: bounce buffers and IOMMUs
// have their own limits. Then a smaller one will do.
bool LinkGroup::give_buffer(struct sock *sk, Buffer *&buffer, smc_ib_buffer_kind kind,
			    wire::BufferSize size)
{
	for (;;) {
		buffer = pool_.take(sk, kind, size);
		if (buffer == nullptr || buffer->size() != size)
			departed().make_room_for(size.bytes());
		if (buffer == nullptr)
			return false;
		{
			shell::Guard guard(setup_mutex_);
			if (ending())
				return false;
			if (buffer->map(link_, setup_mutex_) == 0)
				return true;
		}
		size = buffer->size();
		if (size.code() == 0)
			return false;
		// Nobody has been told of it.
		pool_.drop(std::exchange(buffer, nullptr));
		size = wire::BufferSize{static_cast<u8>(size.code() - 1)};
	}
}

wire::SmcrEndpoint LinkGroup::local_end(const RdmaEndpoint &endpoint)
{
	const struct smc_ib_region_info &rmb = endpoint.rmb_buffer_->on(kLink);

	return {
		.peer_id = group_table().own_peer_id(port_.wire_mac()),
		.gid = port_.wire_gid(),
		.mac = port_.wire_mac(),
		.qpn = wire::Qpn{link_qpn()},
		.rmb_rkey = wire::Rkey{rmb.remote_key},
		.rmbe_index = 1,
		.token = wire::Token{endpoint.token_},
		.rmbe_size = endpoint.rmb_buffer_->size(),
		.mtu = port_.mtu,
		.rmb_address = rmb.address,
		.psn = own_psn_,
	};
}

smc_ib_path LinkGroup::path_to(const wire::SmcrEndpoint &peer, const wire::Mac &next_hop,
			       wire::QpMtu mtu) const
{
	smc_ib_path path{};

	path.gid = port_.gid;
	std::copy(peer.gid.bytes.begin(), peer.gid.bytes.end(), path.peer_gid);
	std::copy(next_hop.bytes.begin(), next_hop.bytes.end(), path.peer_mac);
	path.peer_qpn = peer.qpn.value();
	path.peer_psn = peer.psn.value();
	path.mtu_code = mtu.code();
	path.hop_limit = direct_ ? kHopLimitDirect : kHopLimitGateway;
	return path;
}

std::optional<wire::DeclineReason> LinkGroup::connect(RdmaEndpoint &endpoint,
						      const handshake::ConnectLink &towards)
{
	{
		const wire::RemoteToken rtoken{towards.peer.rmb_rkey, towards.peer.rmb_address};
		shell::Guard guard(lock_);
		std::optional<group::RtokenIndex> index;

		if (towards.first_contact)
			index = machine_.acquire_rtoken(kLink, rtoken);
		else if (towards.peer.qpn == peer_.qpn)
			index = machine_.acquire_known_rtoken(kLink, rtoken);
		if (!index) {
			// TCP may come from anybody. Who does not know what was said on the link
			// would have us write into memory of the host at its other end. (A group
			// that ends has forgotten.)
			if (!towards.first_contact && state_ < State::kEnding) {
				smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
				smc_stat_inc(key_.netns, SMC_STAT_CLC_MALFORMED);
			}
			return wire::DeclineReason::kErrRtok;
		}
		endpoint.rtoken_.under(lock_) = *index;
		endpoint.rtoken_held_.under(lock_) = true;
		if (towards.first_contact)
			peer_ = {towards.peer.mac, towards.peer.gid, towards.peer.qpn};
	}
	if (towards.first_contact) {
		const wire::DeclineReason reason = bring_up(towards);
		if (reason != wire::DeclineReason::kNone)
			return reason;
	}
	if (!endpoint.start_towards(towards.peer))
		return wire::DeclineReason::kIntErr;
	if (!key_.server || !towards.first_contact)
		return wire::DeclineReason::kNone;
	shell::Guard guard(lock_);
	if (state_ >= State::kEnding)
		return wire::DeclineReason::kErrRegBuf;
	register_buffers(endpoint, AfterRegistration::kConnected);
	return std::nullopt;
}

wire::DeclineReason LinkGroup::bring_up(const handshake::ConnectLink &towards)
{
	wire::Mac next_hop = towards.peer.mac;

	if (!direct_) {
		const auto address = wire::ipv4_from_gid(towards.peer.gid);
		smc_ib_route route;

		if (!address ||
		    smc_ib_route_resolve(port_.device.get(), port_.number, &port_.gid,
					 address->data(), kNeighbourLimit_ms, &route) != 0)
			return wire::DeclineReason::kNoRoute;
		std::copy_n(route.next_hop_mac, next_hop.bytes.size(), next_hop.bytes.begin());
	}
	const smc_ib_path path = path_to(towards.peer, next_hop, towards.mtu);

	shell::Guard guard(setup_mutex_);
	if (ending() || smc_ib_link_to_rtr(link_.handle(setup_mutex_), &path) != 0)
		return wire::DeclineReason::kErrRdyLnk;
	if (key_.server && smc_ib_link_to_rts(link_.handle(setup_mutex_), own_psn_.value()) != 0)
		return wire::DeclineReason::kErrRdyLnk;
	return wire::DeclineReason::kNone;
}

void LinkGroup::announce_rkey(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	if (state_ == State::kActive)
		register_buffers(endpoint, AfterRegistration::kAnnounce);
	else
		tell(&endpoint, SetupResult::kRkeyAnnounceFailed, wire::DeclineReason::kErrRegBuf);
}

// Under lock_.
void LinkGroup::announce(RdmaEndpoint &endpoint)
{
	delete_surplus();
	const struct smc_ib_region_info &rmb = endpoint.rmb_buffer_->on(kLink);
	group::AnnounceRkey announce{.flow = endpoint.token_, .rkeys = {}};
	if (announce.rkeys.push_back({kLink, {wire::Rkey{rmb.remote_key}, rmb.address}}))
		step(announce);
}

void LinkGroup::confirm_link(RdmaEndpoint &endpoint)
{
	group::LinkIdentity local{port_.wire_mac(), port_.wire_gid(), wire::Qpn{link_qpn()}};

	shell::Guard guard(lock_);
	founder_ = shell::Ref<RdmaEndpoint>::share(&endpoint);
	if (state_ != State::kForming) {
		tell(&endpoint, SetupResult::kLinkConfirmFailed, wire::DeclineReason::kTimeoutCl);
		return;
	}
	if (key_.server)
		step(group::StartConfirmLink{kLink, local, peer_});
	else
		step(group::ExpectConfirmLink{kLink, local, peer_});
}

void LinkGroup::complete(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
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

	unobserve(nullptr, observer);
}

void LinkGroup::unobserve(RdmaEndpoint *endpoint, SetupObserver &observer)
{
	shell::Guard guard(lock_);
	if (endpoint != nullptr && endpoint->observer_.under(lock_) == &observer)
		endpoint->observer_.under(lock_) = nullptr;
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
		established = established &&
			      (state_ == State::kActive ||
			       (state_ == State::kForming &&
				machine_.link_state(kLink) == group::LinkState::kAnswered));
		if (!established) {
			step(group::Terminate{wire::DeleteLinkReason::kLostPath});
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

// ---- Ending -------------------------------------------------------------------------------------

void LinkGroup::remove(RdmaEndpoint &endpoint)
{
	const bool clean = endpoint.with_lock([](connection::Connection &conn) {
		return conn.releasable() && conn.transmit_idle() && conn.peer_closed();
	});
	take_out(endpoint, clean);
}

void LinkGroup::take_out(RdmaEndpoint &endpoint, bool peer_is_done)
{
	shell::Ref<RdmaEndpoint> tables; // reference, which goes when all else is done
	bool was_full;

	// A message or a completion may be on its way to it at this moment.
	endpoint.detach();
	{
		shell::Guard guard(lock_);
		was_full = full();
		tables = shell::Ref<RdmaEndpoint>::adopt(
			endpoints_.erase(wire::Token{endpoint.token_}));
		if (tables) {
			put_into_slot(endpoint.token_, nullptr);
			place_.leave();
		}
		endpoint.observer_.under(lock_) = nullptr;
		if (tables && !std::exchange(endpoint.completed_.under(lock_), true)) {
			if (endpoint.rmb_in_doubt_.under(lock_))
				doubt_.left_in_doubt(endpoint.from_.under(lock_));
			else
				doubt_.given_up(endpoint.from_.under(lock_));
		}
		const bool unannounced =
			registering_.linked(endpoint) &&
			endpoint.after_registration_.under(lock_) == AfterRegistration::kAnnounce;
		registering_.remove(endpoint);
		// An announcement that still waits for its turn: of this use of the RMB the peer
		// will know nothing.
		if (unannounced || machine_.flow_waits(endpoint.token_))
			peer_is_done = true;
		else if (endpoint.rmb_buffer_ != nullptr)
			endpoint.rmb_buffer_->note_told(lock_);
		step(group::CancelFlow{endpoint.token_});
		if (std::exchange(endpoint.rtoken_held_.under(lock_), false))
			machine_.release_rtoken(endpoint.rtoken_.under(lock_));
		if (founder_.get() == &endpoint)
			founder_.reset();
		if (endpoints_.empty() && state_ == State::kActive) {
			idle_since_ms_ = smc_now_ms();
			arm();
		}
	}
	if (was_full)
		group_table().reopen(*this);
	take_back_buffers(endpoint, peer_is_done);
}

// Once they are registered the lock decides who has them.
bool LinkGroup::has_buffers(const RdmaEndpoint &endpoint, const shell::SpinLock &)
{
	return endpoint.rmb_buffer_ != nullptr && endpoint.send_buffer_ != nullptr;
}

void LinkGroup::take_back_buffers(RdmaEndpoint &endpoint, bool peer_is_done)
{
	if (endpoint.started() && endpoint.rmb_buffer_ != nullptr) {
		smc_stat_tx_buf(key_.netns, SMC_TECH_R, endpoint.send_buffer_->size().bytes(), -1);
		smc_stat_rx_buf(key_.netns, SMC_TECH_R, endpoint.rmb_buffer_->size().bytes(), -1);
	}
	Buffer *send, *rmb;
	bool rmb_in_doubt;
	{
		// activate() looks whether they are there.
		shell::Guard guard(lock_);
		send = std::exchange(endpoint.send_buffer_, nullptr);
		rmb = std::exchange(endpoint.rmb_buffer_, nullptr);
		rmb_in_doubt = endpoint.rmb_in_doubt_.under(lock_);
	}
	const bool idle = endpoint.with_lock(
		[](connection::Connection &conn) { return conn.transmit_idle(); });

	if (send != nullptr && idle) {
		// Nobody but this host's users ever reads a send buffer's old bytes: the next one
		// overwrites what it sends.
		if (!pool_.give_back(send, 0))
			pool_.drop(send);
	} else if (send != nullptr && !pool_.quarantine(send)) {
		// Work requests may still read it.
		end(wire::DeleteLinkReason::kProgram);
	}
	if (rmb == nullptr)
		return;
	if (rmb_in_doubt) {
		pool_.set_aside(rmb);
		return;
	}
	if (peer_is_done &&
	    pool_.give_back(rmb, endpoint.with_lock([](connection::Connection &conn) {
		    return conn.high_water_bytes();
	    })))
		return;
	if (delete_rmb(rmb))
		return;
	if (peer_is_done)
		pool_.keep(rmb);
	else if (!pool_.quarantine(rmb)) // The peer may still write to it.
		end(wire::DeleteLinkReason::kProgram);
}

// Tells the peer first: it may still write to it until it has been told to forget it, and its table
// of our rkeys shall not fill up with dead ones. False if that cannot be.
bool LinkGroup::delete_rmb(Buffer *rmb)
{
	shell::Guard guard(lock_);
	return delete_rmb_locked(rmb);
}

bool LinkGroup::delete_rmb_locked(Buffer *rmb)
{
	// One that the peer knows nothing of goes without a word.
	const bool told = rmb->told(lock_);

	if (state_ != State::kActive || !deletions_.add(rmb, told))
		return false;
	if (!told) {
		free_due_ = true;
		kick();
	}
	ask_for_deletions();
	return true;
}

// Under lock_.
void LinkGroup::ask_for_deletions()
{
	std::size_t from = 0;

	while (state_ == State::kActive) {
		const auto request = deletions_.request(from);

		if (!request)
			return;
		from = request->next;
		const struct smc_ib_region_info &info = request->rmb->on(kLink);
		group::DeleteRkey event{.flow = request->flow, .rkeys = {}};

		if (event.rkeys.push_back({kLink, {wire::Rkey{info.remote_key}, info.address}}))
			step(event);
	}
}

// Under lock_. The peer, a Linux for one, may have no more places than there can be connections.
// The pool keeps some of each size; what has another size than is wanted now gives way.
void LinkGroup::delete_surplus()
{
	while (state_ == State::kActive && !deletions_.full()) {
		Buffer *rmb = pool_.take_surplus_rmb(
			static_cast<u32>(group::kRtokensMax + deletions_.size()));

		if (rmb == nullptr || !delete_rmb_locked(rmb))
			return;
	}
}

void LinkGroup::free_deleted()
{
	for (;;) {
		std::optional<Deletions::Over> over;
		{
			shell::Guard guard(lock_);
			over = deletions_.take(/*all=*/state_ == State::kEnded);
			if (!over)
				ask_for_deletions();
		}
		if (!over)
			return;
		if (over->answered)
			pool_.drop(over->rmb);
		else if (!pool_.quarantine(over->rmb)) // The peer may still write to it.
			end(wire::DeleteLinkReason::kProgram);
	}
}

void LinkGroup::end(wire::DeleteLinkReason reason)
{
	shell::Guard guard(lock_);
	step(group::Terminate{reason});
	begin_end();
}

u64 LinkGroup::idle_since_ms()
{
	shell::Guard guard(lock_);
	return state_ == State::kActive ? idle_since_ms_ : 0;
}

void LinkGroup::end_if_idle()
{
	shell::Guard guard(lock_);
	end_if_idle_locked();
}

void LinkGroup::end_if_idle_locked()
{
	if (idle_since_ms_ == 0 || state_ != State::kActive)
		return;
	idle_since_ms_ = 0;
	step(group::Terminate{wire::DeleteLinkReason::kProgram});
	begin_end();
}

// Peer ID and GID are no secrets: any host may name them in a Proposal of its own, decline what it
// gets, and would so end what others have. Only the host that the first contact was made with has a
// say in that; it is known by its TCP address, as far as TCP knows anybody.
// Whoever comes from elsewhere may be that host all the same: it has several addresses, or
// containers with their own. So they may join. One that does not find the group then goes by TCP,
// each time, and the group needs no rescue: the peer has answered our CONFIRM_RKEY over the link
// just before, or there would have been no Accept to decline. A peer that has really forgotten the
// group has no queue pair that answers, and the link is lost over that.
void LinkGroup::disown(const TcpAddress &from)
{
	if (from == founder_address_)
		end(wire::DeleteLinkReason::kLostPath);
}

void LinkGroup::lose_link()
{
	shell::Guard guard(lock_);
	step(group::LinkFailed{kLink});
	begin_end();
}

void LinkGroup::port_changed(bool active)
{
	shell::Guard guard(lock_);
	if (active) {
		port_deadline_ms_ = 0;
	} else if (port_deadline_ms_ == 0) {
		port_deadline_ms_ = smc_now_ms() + kPortGrace_ms;
		arm();
	}
}

void LinkGroup::wait_ended()
{
	while (!smc_completion_wait(&ended_, kDrain_ms))
		kick();
}

// Under lock_.
void LinkGroup::begin_end()
{
	if (state_ >= State::kEnding)
		return;
	state_ = State::kEnding;
	drain_deadline_ms_ = smc_now_ms() + kDrain_ms;
	smc_stat_inc(key_.netns, SMC_STAT_GROUP_TERMINATED);
	endpoints_.for_each([this](RdmaEndpoint &endpoint, wire::Token) {
		lock_.assert_held();
		tell(&endpoint, SetupResult::kLinkConnectFailed, wire::DeclineReason::kErrRegBuf);
		tell(&endpoint, SetupResult::kLinkConfirmFailed, wire::DeclineReason::kTimeoutCl);
		tell(&endpoint, SetupResult::kRkeyAnnounceFailed, wire::DeclineReason::kErrRegBuf);
	});
	while (registering_.pop_front() != nullptr) {}
	settle_waiting();
	kick();
}

void LinkGroup::lose_connections()
{
	for (std::size_t slot = 1; slot < slots_.size(); slot++) {
		shell::Ref<RdmaEndpoint> endpoint;
		{
			shell::Guard guard(lock_);
			endpoint = shell::Ref<RdmaEndpoint>::share(in_slot(slot));
		}
		if (endpoint)
			endpoint->on_transport_lost(ECONNRESET);
	}
}

void LinkGroup::lose_connections_on_deleted()
{
	for (std::size_t slot = 1; slot < slots_.size(); slot++) {
		shell::Ref<RdmaEndpoint> endpoint;
		{
			shell::Guard guard(lock_);
			RdmaEndpoint *candidate = in_slot(slot);
			if (candidate != nullptr &&
			    std::exchange(candidate->rmb_deleted_.under(lock_), false))
				endpoint = shell::Ref<RdmaEndpoint>::share(candidate);
		}
		// A peer that has closed takes its RMB away at once; what it sent before is still
		// to be read here. One that has said nothing never will: it gave up the handshake
		// when this side was through with it, and an orphan would wait for it.
		if (endpoint && endpoint->with_lock([](connection::Connection &conn) {
			    return !conn.peer_finished_sending() ||
				   conn.send_status() == connection::SendStatus::kOpen ||
				   conn.unsent_bytes() != 0;
		    }))
			endpoint->on_transport_lost(ECONNRESET);
	}
}

void LinkGroup::end_phase()
{
	lose_connections();
	{
		shell::Guard guard(lock_);
		end_told_ = true;
		if (state_ == State::kEnded ||
		    (!control_.drained() && smc_now_ms() < drain_deadline_ms_))
			return;
	}
	{
		shell::Guard guard(setup_mutex_);
		link_.destroy(setup_mutex_);
		pool_.unmap_all(kLink);
	}
	pool_.close();
	smc_stat_inc(key_.netns, SMC_STAT_QP_FREE);
	{
		shell::Guard guard(lock_);
		state_ = State::kEnded;
		place_.give_back();
		control_.clear();
		timer_ms_ = 0;
		founder_.reset();
	}
	free_deleted();
	// Whoever waits for the end may free the namespace next: what this object still does after
	// that counts nothing. (Connections have a reference on the namespace.)
	smc_stat_inc(key_.netns, SMC_STAT_GROUP_FREE);
	const auto tables = group_table().take_out(*this);
	smc_complete_all(&ended_);
}

// ---- The machine --------------------------------------------------------------------------------

void LinkGroup::step(const group::Event &event)
{
	if (state_ == State::kEnded)
		return;
	machine_.hold_requests(control_.any_unsent());
	perform(machine_.step(event, smc_now_ms()));
	count_violations();
}

void LinkGroup::perform(const group::Effects &effects)
{
	for (const group::Effect &effect : effects) {
		if (const auto *send = std::get_if<group::SendLlc>(&effect)) {
			control_.send(*send);
		} else if (std::get_if<group::ActivateLink>(&effect) != nullptr) {
			activate_due_ = true;
			kick();
		} else if (const auto *up = std::get_if<group::LinkConfirmed>(&effect)) {
			uid_ = up->uid;
			peer_uid_ = up->peer_uid;
			if (state_ == State::kForming)
				state_ = State::kActive;
			place_.confirm();
			smc_stat_inc(key_.netns, SMC_STAT_LINK_UP);
			// Those that wait to join come from the founder's address.
			if (founder_ && !std::exchange(founder_->completed_.under(lock_), true))
				doubt_.completed(founder_->from_.under(lock_));
			tell(founder_.get(), SetupResult::kLinkConfirmed,
			     wire::DeclineReason::kNone);
			founder_.reset();
			if (endpoints_.empty()) {
				idle_since_ms_ = smc_now_ms();
				arm();
			}
			settle_waiting();
		} else if (const auto *no = std::get_if<group::LinkConfirmFailed>(&effect)) {
			tell(founder_.get(), SetupResult::kLinkConfirmFailed, no->reason);
		} else if (std::get_if<group::LinkDown>(&effect) != nullptr) {
			smc_stat_inc(key_.netns, SMC_STAT_LINK_DOWN);
		} else if (const auto *done = std::get_if<group::FlowDone>(&effect)) {
			flow_done(*done);
		} else if (const auto *gone = std::get_if<group::RtokensDeleted>(&effect)) {
			// At once: the response is next, after which the RMB may be gone, and an
			// index may be another RMB's by the time run() looks.
			endpoints_.for_each([this, gone](RdmaEndpoint &endpoint, wire::Token) {
				lock_.assert_held();
				if (endpoint.rtoken_held_.under(lock_) &&
				    gone->rtokens.contains(endpoint.rtoken_.under(lock_))) {
					endpoint.rmb_deleted_.under(lock_) = true;
					endpoint.forbid_writes();
				}
			});
			lose_due_ = true;
			kick();
		} else if (const auto *timer = std::get_if<group::SetTimer>(&effect)) {
			timer_ms_ = timer->deadline_ms != 0 ? timer->deadline_ms : 1;
			arm();
		} else if (std::get_if<group::StopTimer>(&effect) != nullptr) {
			timer_ms_ = 0;
		} else if (std::get_if<group::TerminateGroup>(&effect) != nullptr) {
			begin_end();
		}
	}
}

void LinkGroup::tell(RdmaEndpoint *endpoint, SetupResult result, wire::DeclineReason reason)
{
	SetupObserver *observer = endpoint != nullptr ? endpoint->observer_.under(lock_) : nullptr;

	if (observer != nullptr)
		observer->on_setup_result(result, reason);
}

void LinkGroup::flow_done(const group::FlowDone &done)
{
	if (Deletions::has(done.flow)) {
		deletions_.on_done(done.flow, done.result == group::FlowResult::kDone ||
						      done.result == group::FlowResult::kRefused);
		free_due_ = true;
		kick();
		return;
	}
	if (done.result == group::FlowResult::kTimedOut)
		smc_stat_inc(key_.netns, SMC_STAT_LLC_TIMEOUT);
	const bool ok = done.result == group::FlowResult::kDone;
	tell(endpoints_.find(wire::Token{static_cast<u32>(done.flow)}),
	     ok ? SetupResult::kRkeyAnnounced : SetupResult::kRkeyAnnounceFailed,
	     ok ? wire::DeclineReason::kNone : wire::DeclineReason::kErrRegBuf);
}

void LinkGroup::settle_waiting()
{
	while (SetupObserver *observer = waiting_.pop_front())
		observer->on_setup_result(SetupResult::kGroupSettled, wire::DeclineReason::kNone);
}

void LinkGroup::count_violations()
{
	const group::Counters &now = machine_.counters();
	const u32 malformed =
		now.malformed + now.wrong_version - (counted_.malformed + counted_.wrong_version);
	const u32 unexpected = now.unexpected_requests + now.unexpected_responses -
			       (counted_.unexpected_requests + counted_.unexpected_responses);

	if (malformed != 0)
		smc_stat_add(key_.netns, SMC_STAT_LLC_MALFORMED, malformed);
	if (unexpected != 0)
		smc_stat_add(key_.netns, SMC_STAT_LLC_UNEXPECTED, unexpected);
	if (malformed + unexpected != 0)
		smc_stat_add(key_.netns, SMC_STAT_VIOLATION, malformed + unexpected);
	counted_ = now;
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
		ready = founder && !ending() &&
			smc_ib_link_to_rts(link_.handle(setup_mutex_), own_psn_.value()) == 0;
	}
	shell::Guard guard(lock_);
	// Buffers that are gone: the handshake has given up meanwhile.
	if (!ready)
		step(group::LinkActivated{kLink, wire::DeclineReason::kErrRdyLnk});
	else if (!has_buffers(*founder, lock_))
		step(group::LinkActivated{kLink, wire::DeclineReason::kErrRegBuf});
	else if (state_ < State::kEnding)
		register_buffers(*founder, AfterRegistration::kActivated);
}

// The client's response to CONFIRM_LINK is the first thing that it sends.
void LinkGroup::look_for_delivery()
{
	if (machine_.link_state(kLink) == group::LinkState::kAnswered && control_.has_spoken() &&
	    control_.drained())
		step(group::AnswerDelivered{kLink});
}

// ---- Work ---------------------------------------------------------------------------------------

void LinkGroup::kick()
{
	work_.queue();
}

// Under lock_. Everything that run() has to do, at the time that it has to be done.
void LinkGroup::arm()
{
	const u64 now_ms = smc_now_ms();
	u64 next_ms = ~u64{0};

	if (state_ == State::kEnded)
		return;
	// Nor may this put off a run that was asked for to tell the connections of the end, or for
	// requests that may be answered now: no completion may be left that would ask for it again.
	if (activate_due_ || lose_due_ || free_due_ || (state_ == State::kEnding && !end_told_) ||
	    (control_.any_waits() && !control_.is_busy()))
		next_ms = now_ms;
	if (timer_ms_ != 0)
		next_ms = std::min(next_ms, timer_ms_);
	if (idle_since_ms_ != 0)
		next_ms = std::min(
			next_ms, idle_since_ms_ + (key_.server ? kIdleServer_ms : kIdleClient_ms));
	if (port_deadline_ms_ != 0 && state_ < State::kEnding)
		next_ms = std::min(next_ms, port_deadline_ms_);
	if (state_ == State::kEnding)
		next_ms = std::min(next_ms, control_.drained() ? now_ms : drain_deadline_ms_);
	if (next_ms == ~u64{0})
		return;
	work_.queue_delayed(next_ms > now_ms ? next_ms - now_ms : 0);
}

void LinkGroup::run()
{
	bool activate_now, lose_now, free_now, end_now;
	{
		shell::Guard guard(lock_);
		const u64 now_ms = smc_now_ms();

		if (state_ != State::kEnded) {
			flush_control(0);
			answer_waiting();
		}
		if (heard_.exchange(false, std::memory_order_relaxed))
			machine_.note_activity(kLink, now_ms);
		if (timer_ms_ != 0 && now_ms >= timer_ms_) {
			timer_ms_ = 0;
			step(group::Timer{});
		}
		if (idle_since_ms_ != 0 && elapsed_ms(idle_since_ms_, now_ms) >=
						   (key_.server ? kIdleServer_ms : kIdleClient_ms))
			end_if_idle_locked();
		if (port_deadline_ms_ != 0 && now_ms >= port_deadline_ms_ &&
		    state_ < State::kEnding) {
			step(group::LinkFailed{kLink});
			begin_end();
		}
		delete_surplus();
		activate_now = std::exchange(activate_due_, false);
		lose_now = std::exchange(lose_due_, false);
		free_now = std::exchange(free_due_, false);
		end_now = state_ == State::kEnding;
	}
	(void)pool_.free_unused(false);
	if (activate_now)
		activate();
	if (lose_now)
		lose_connections_on_deleted();
	if (free_now)
		free_deleted();
	if (end_now)
		end_phase();
	shell::Guard guard(lock_);
	arm();
}

// ---- From the link ------------------------------------------------------------------------------

bool LinkGroup::on_received(Link &link, const ControlQueue::Received &message)
{
	const ByteSpan head = message.head_bytes();

	if (!wire::is_cdc(head))
		return on_llc(message);
	on_cdc(link, head);
	return true;
}

void LinkGroup::on_cdc(Link &link, ByteSpan message)
{
	const auto cdc = wire::decode_cdc(message);

	smc_stat_inc(key_.netns, SMC_STAT_CDC_RX);
	if (!cdc) {
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_MALFORMED);
		return;
	}
	if (!heard_.load(std::memory_order_relaxed))
		heard_.store(true, std::memory_order_relaxed);
	const u32 token = cdc->token.value();
	shell::RcuGuard rcu;
	RdmaEndpoint *found = in_slot_of(token);

	if (found == nullptr || found->token_ != token) {
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_BAD_TOKEN);
		return;
	}
	if (found->link_ != &link) {
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_WRONG_LINK);
		return;
	}
	if (const auto endpoint = shell::Ref<RdmaEndpoint>::try_share(found))
		endpoint->on_cdc(connection::from_wire(*cdc));
}

bool LinkGroup::on_llc(const ControlQueue::Received &message)
{
	smc_stat_inc(key_.netns, SMC_STAT_LLC_RX);
	shell::Guard guard(lock_);
	if (!ControlQueue::has_to_queue(message)) {
		take_in(message);
		return true;
	}
	if (control_.is_busy() || control_.any_waits()) {
		control_.keep(message);
		return false;
	}
	return answer(message);
}

// Under lock_.
void LinkGroup::take_in(const ControlQueue::Received &message)
{
	const ByteSpan head = message.head_bytes();

	if (message.length_bytes <= head.size()) {
		step(group::LlcReceived{kLink, head});
		return;
	}
	const std::size_t length =
		std::min<std::size_t>(message.length_bytes, long_message_.size());
	std::memcpy(long_message_.data(), head.data(), head.size());
	std::memcpy(long_message_.data() + head.size(), message.tail, length - head.size());
	step(group::LlcReceived{kLink, ByteSpan{long_message_}.first(length)});
}

// Under lock_. True: its receive is free.
bool LinkGroup::answer(const ControlQueue::Received &request)
{
	control_.begin(request);
	take_in(request);
	return control_.end();
}

// Under lock_.
void LinkGroup::answer_waiting()
{
	while (const auto request = control_.next()) {
		if (answer(*request))
			link_.give_back(request->receive);
	}
}

// Under lock_. What waits may go, and requests of ours that were held back for it.
void LinkGroup::flush_control(u64 up_to_seq)
{
	const bool held = control_.any_unsent();

	control_.on_sent(up_to_seq);
	if (held && !control_.any_unsent())
		step(group::Timer{});
}

void LinkGroup::on_sent(u64 up_to_seq)
{
	shell::Guard guard(lock_);
	flush_control(up_to_seq);
	if (!registering_.empty())
		advance_registrations();
	// Not here: who asks without end shall not keep a softirq busy with it.
	if (control_.any_waits() && !control_.is_busy())
		kick();
	if (state_ == State::kActive)
		return;
	look_for_delivery();
	if (state_ == State::kEnding)
		arm();
}

void LinkGroup::on_link_failed([[maybe_unused]] Link &link, int status)
{
	smc_log_notice("link lost:", "status", static_cast<u32>(status));
	lose_link();
}

// ---- For the control plane ----------------------------------------------------------------------

bool LinkGroup::link_snapshot(smc_link_info &info)
{
	struct smc_ib_device_info device;
	shell::Guard guard(setup_mutex_);

	if (link_.handle(setup_mutex_) == nullptr)
		return false;
	smc_ib_device_info(port_.device.get(), &device);
	std::memcpy(info.ib_name, device.name, sizeof(info.ib_name));
	info.ib_port = port_.number;
	info.ifindex = port_.gid.ifindex;
	std::memcpy(info.gid, port_.gid.raw, sizeof(info.gid));
	std::copy(key_.peer_gid.bytes.begin(), key_.peer_gid.bytes.end(), info.peer_gid);

	shell::Guard state_guard(lock_);
	info.id = machine_.link_id(kLink).value();
	info.conns = static_cast<u32>(endpoints_.size());
	const auto put_uid = [](wire::LinkUid uid, u8(&out)[4]) {
		for (int i = 0; i < 4; i++)
			out[i] = static_cast<u8>(uid.value() >> (24 - 8 * i));
	};
	put_uid(uid_, info.uid);
	put_uid(peer_uid_, info.peer_uid);
	switch (machine_.link_state(kLink)) {
	case group::LinkState::kUnused:
	case group::LinkState::kDown: info.state = SMC_LINK_STATE_INACTIVE; break;
	case group::LinkState::kAwaitRequest:
	case group::LinkState::kActivating:
	case group::LinkState::kAnswered:
	case group::LinkState::kAwaitResponse: info.state = SMC_LINK_STATE_ACTIVATING; break;
	case group::LinkState::kActive: info.state = SMC_LINK_STATE_ACTIVE; break;
	}
	return true;
}

void LinkGroup::snapshot(smc_lgr_info &info)
{
	info.is_server = key_.server;
	info.type = SMC_LGR_TYPE_SINGLE;
	info.buf_type = static_cast<u8>(pool_.buf_type());
	info.version = key_.version;
	info.direct = direct_;
	info.vlan_id = port_.gid.vlan_id;
	info.sndbuf_bytes = pool_.bytes(SMC_IB_BUFFER_SEND);
	info.rmb_bytes = pool_.bytes(SMC_IB_BUFFER_RMB);
	std::copy(key_.eid.bytes.begin(), key_.eid.bytes.end(), info.eid);
	if (link_snapshot(info.link[0]))
		info.links = 1;
	info.conns = info.link[0].conns;

	shell::Guard guard(lock_);
	const group::Config &config = machine_.config();

	for (int i = 0; i < 4; i++)
		info.id[i] = static_cast<u8>(config.group_uid >> (24 - 8 * i));
	info.max_conns = config.max_conns;
	info.max_links = config.max_links;
	info.peer_release = agreement_.release;
	info.peer_os = static_cast<u8>(agreement_.peer_os);
	// Any bytes that the peer likes, and an administrator's terminal obeys.
	std::transform(agreement_.peer_host_name.begin(), agreement_.peer_host_name.end(),
		       info.peer_host, [](u8 byte) {
			       const bool printable = byte >= ' ' && byte <= '~';
			       return static_cast<u8>(printable || byte == 0 ? byte : '?');
		       });
}

} // namespace smc::transport::rdma
