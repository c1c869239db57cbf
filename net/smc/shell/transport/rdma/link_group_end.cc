// SPDX-License-Identifier: GPL-2.0-only
//
// How a connection of a LinkGroup ends, and the group itself, in the phases of link_group.hpp.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

void LinkGroup::remove(RdmaEndpoint &endpoint)
{
	// Else nobody else gets the RMB before the peer has answered DELETE_RKEY.
	const bool clean = endpoint.with_lock([](connection::Connection &conn) {
		return conn.releasable() && conn.transmit_idle() && conn.peer_closed() &&
		       !conn.closing_flag_owed() && !conn.peer_may_repeat();
	});
	take_out(endpoint, clean);
}

void LinkGroup::take_out(RdmaEndpoint &endpoint, bool peer_is_done)
{
	shell::Ref<RdmaEndpoint> tables; // reference, which goes when all else is done
	Buffer *growing;
	bool was_full;

	// A message or a completion may be on its way to it.
	endpoint.detach();
	{
		shell::Guard guard(lock_);
		was_full = full();
		growing = endpoint.growing_rmb_.under(lock_);
		// Its CONFIRM_RKEY has not been sent: the peer will not know of this use of the
		// RMB. (If it is for a larger one, the peer uses the one before.)
		const bool unannounced =
			growing == nullptr && ((registering_.linked(endpoint) &&
						endpoint.after_registration_.under(lock_) ==
							AfterRegistration::kAnnounce) ||
					       control_.machine().flow_waits(endpoint.token_) ||
					       endpoint.awaits_announcement_.under(lock_));
		registering_.remove(endpoint);
		if (unannounced)
			peer_is_done = true;
		else if (endpoint.rmb_buffer_ != nullptr)
			endpoint.rmb_buffer_->slab().note_told(lock_);
		const wire::Token token{endpoint.token_};
		const bool may_be_named =
			compact_ && !peer_is_done && endpoint.rmb_buffer_ != nullptr;
		tables = endpoints_.erase(token, may_be_named);
		if (tables && may_be_named)
			endpoint.rmb_buffer_->note_retired_slot(EndpointTable::slot_of(token),
								lock_);
		if (tables)
			place_.leave();
		if (tables)
			leave_link(*endpoint.link());
		endpoint.observer_.under(lock_) = nullptr;
		if (tables && !std::exchange(endpoint.completed_.under(lock_), true)) {
			if (endpoint.rmb_in_doubt_.under(lock_))
				doubt_.left_in_doubt(endpoint.from_.under(lock_));
			else
				doubt_.given_up(endpoint.from_.under(lock_));
		}
		if (control_.machine().has_flow(endpoint.token_))
			control_.step(group::CancelFlow{endpoint.token_});
		announcement_over(endpoint, std::nullopt);
		if (growing != nullptr)
			growing->slab().note_told(lock_);
		endpoint.growing_rmb_.under(lock_) = nullptr;
		endpoint.growing_rmb_known_.under(lock_).reset();
		if (const auto next =
			    std::exchange(endpoint.next_rtoken_.under(lock_), std::nullopt))
			control_.machine().release_rtoken(*next);
		if (std::exchange(endpoint.rtoken_held_.under(lock_), false))
			control_.machine().release_rtoken(endpoint.rtoken_.under(lock_));
		if (founder_.get() == &endpoint)
			founder_.reset();
		if (meeting_.get() == &endpoint)
			meeting_.reset();
		if (endpoints_.empty() && state_ == State::kActive) {
			idle_since_ms_ = smc_now_ms();
			arm_for_idleness();
		}
	}
	if (was_full)
		table_.reopen(*this);
	// Nobody has been told what it is for.
	if (growing != nullptr)
		free_unless_kept(pool_.give_back(growing, 0));
	take_back_buffers(endpoint, peer_is_done);
}

void LinkGroup::end(wire::DeleteLinkReason reason)
{
	shell::Guard guard(lock_);
	control_.step(group::Terminate{reason});
	begin_end();
}

u64 LinkGroup::idle_since_ms()
{
	shell::Guard guard(lock_);
	return state_ == State::kActive ? idle_since_ms_ : 0;
}

// The ids of a connection manager keep their namespace.
u64 LinkGroup::idle_limit_ms() const
{
	if (agreement_.iwarp() && key_.netns != smc_init_net())
		return kIdleKeepsNamespace_ms;
	return key_.server ? kIdleServer_ms : kIdleClient_ms;
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
	control_.step(group::Terminate{wire::DeleteLinkReason::kProgram});
	begin_end();
}

// Peer ID and GID are no secrets: any host may name them in a Proposal, decline the Accept as out
// of sync, and would so end a group of others. Only the host of the first contact may do that; its
// TCP address identifies it, as far as TCP does. A client at another address may be the same host
// all the same: with several addresses, or with containers that have their own. So it may join. If
// it does not find the group, it uses TCP, each time, and the group need not end: the peer has just
// answered our CONFIRM_RKEY over the link, or there would have been no Accept to decline. A peer
// that has really forgotten the group has no queue pair that answers, and the link is lost by that.
void LinkGroup::disown(const TcpAddress &from)
{
	if (from == founder_address_)
		end(wire::DeleteLinkReason::kLostPath);
}

void LinkGroup::lose_link(group::LinkIndex index)
{
	shell::Guard guard(lock_);
	lose_link_locked(index);
}

void LinkGroup::lose_link_locked(group::LinkIndex index)
{
	if (state_ >= State::kEnding)
		return;
	control_.step(group::LinkFailed{index});
	// The machine may not know of the first one yet.
	if (state_ == State::kForming)
		begin_end();
}

void LinkGroup::lose_links_on(const smc_ib_device *device)
{
	shell::Guard guard(lock_);
	// The device works until its last link is gone. Where the group goes with it, the peer is
	// told by it: one that waits for us, and has sent nothing, would find out half a minute
	// later.
	if (state_ == State::kActive && goes_with(device)) {
		control_.step(group::Terminate{wire::DeleteLinkReason::kLostPath});
		begin_end();
		return;
	}
	for (const Link &link : links_) {
		if (records_[link.index()].ends.device == device)
			lose_link_locked(link.index());
	}
}

bool LinkGroup::goes_with(const smc_ib_device *device) const
{
	bool uses = false;

	for (const Link &link : links_) {
		const smc_ib_device *other = records_[link.index()].ends.device;

		if (other == device)
			uses = true;
		else if (control_.machine().link_state(link.index()) == group::LinkState::kActive)
			return false;
	}
	return uses;
}

void LinkGroup::port_changed(const smc_ib_device *device, u8 port, bool active)
{
	shell::Guard guard(lock_);
	for (LinkRecord &record : records_) {
		if (record.ends.device != device || record.ends.port != port)
			continue;
		if (active)
			record.port_lost_ms = 0;
		else if (record.port_lost_ms == 0)
			record.port_lost_ms = smc_now_ms();
	}
	arm();
}

bool LinkGroup::is_usable(group::LinkIndex index) const
{
	return control_.machine().link_state(index) == group::LinkState::kActive &&
	       records_[index].port_lost_ms == 0;
}

bool LinkGroup::has_usable_link_beside(const Link &link) const
{
	return std::any_of(links_.begin(), links_.end(), [&](const Link &other) {
		lock_.assert_held();
		return &other != &link && is_usable(other.index());
	});
}

std::optional<u64> LinkGroup::given_up_ms(Link &link) const
{
	const u64 lost_ms = records_[link.index()].port_lost_ms;
	const bool other = has_usable_link_beside(link);

	if (lost_ms != 0)
		return lost_ms + (other ? kPortFlap_ms : kPortGrace_ms);
	const u64 asked_ms = is_usable(link.index()) ? link.asked_ms() : 0;

	if (asked_ms != 0)
		return asked_ms + (other ? kSilent_ms : kSilentGrace_ms);
	return std::nullopt;
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
	set_state(State::kEnding);
	drain_deadline_ms_ = smc_now_ms() + kDrain_ms;
	smc_stat_inc(key_.netns, SMC_STAT_GROUP_TERMINATED);
	endpoints_.for_each([this](RdmaEndpoint &endpoint) {
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
	visit_connections([](RdmaEndpoint &endpoint) { endpoint.on_transport_lost(ECONNRESET); });
}

void LinkGroup::lose_connections_on_deleted()
{
	for (std::size_t slot = 1; slot < EndpointTable::kSlots; slot++) {
		shell::Ref<RdmaEndpoint> endpoint;
		{
			shell::Guard guard(lock_);
			RdmaEndpoint *candidate = endpoints_.in_slot(slot);
			if (candidate != nullptr &&
			    std::exchange(candidate->rmb_deleted_.under(lock_), false))
				endpoint = shell::Ref<RdmaEndpoint>::share(candidate);
		}
		// A peer that has closed takes its RMB away at once; what it sent before can still
		// be read here. A peer that has sent nothing never will: it gave up the handshake
		// after this side had completed it, and an orphan would wait for it.
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
		links_end_ = true;
	}
	// Other groups' work does not wait for this one's peer.
	if (links_[kFirstLink].leaves())
		end_work_.queue();
	else
		end_links();
}

// Over iWARP, one thing at a time: links whose connections have moved, or all of them.
void LinkGroup::wait_for_peers()
{
	for (Link &link : links_) {
		bool leaving;
		{
			shell::Guard guard(lock_);
			leaving = !links_end_ && records_[link.index()].leaving;
		}
		if (leaving)
			end_link(link);
	}
	bool all;
	{
		shell::Guard guard(lock_);
		all = links_end_ && state_ != State::kEnded;
	}
	if (all)
		end_links();
}

void LinkGroup::end_links()
{
	for (Link &link : links_) {
		if (link.leaves())
			link.leave(setup_mutex_);
	}
	{
		shell::Guard guard(setup_mutex_);
		for (Link &link : links_) {
			if (link.handle(setup_mutex_) != nullptr)
				smc_stat_inc(key_.netns, SMC_STAT_QP_FREE);
			link.destroy(setup_mutex_);
			pool_.unmap_all(link.index());
		}
	}
	free_reserve();
	pool_.close();
	{
		shell::Guard guard(lock_);
		set_state(State::kEnded);
		for (const Link &link : links_)
			set_ends(link.index(), {});
		place_.give_back();
		control_.close();
		founder_.reset();
		meeting_.reset();
	}
	free_deleted();
	// After this the namespace may be freed by those who wait for the end: what this object
	// does later counts nothing there. (Connections hold a reference to the namespace.)
	smc_stat_inc(key_.netns, SMC_STAT_GROUP_FREE);
	const auto tables = table_.take_out(*this);
	// For what run() has left undone meanwhile.
	if (links_[kFirstLink].leaves())
		kick();
	smc_complete_all(&ended_);
}

} // namespace smc::transport::rdma
