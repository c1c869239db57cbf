// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup's ends: of a connection, and its own, in the phases that link_group.hpp lists.
#include <cerrno>
#include <utility>

#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

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
		tables = endpoints_.erase(wire::Token{endpoint.token_});
		if (tables)
			place_.leave();
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
		if (unannounced || control_.machine().flow_waits(endpoint.token_))
			peer_is_done = true;
		else if (endpoint.rmb_buffer_ != nullptr)
			endpoint.rmb_buffer_->note_told(lock_);
		control_.step(group::CancelFlow{endpoint.token_});
		if (std::exchange(endpoint.rtoken_held_.under(lock_), false))
			control_.machine().release_rtoken(endpoint.rtoken_.under(lock_));
		if (founder_.get() == &endpoint)
			founder_.reset();
		if (endpoints_.empty() && state_ == State::kActive) {
			idle_since_ms_ = smc_now_ms();
			arm();
		}
	}
	if (was_full)
		table_.reopen(*this);
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
	control_.step(group::LinkFailed{kLink});
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
	for (std::size_t slot = 1; slot < EndpointTable::kSlots; slot++) {
		shell::Ref<RdmaEndpoint> endpoint;
		{
			shell::Guard guard(lock_);
			endpoint = shell::Ref<RdmaEndpoint>::share(endpoints_.in_slot(slot));
		}
		if (endpoint)
			endpoint->on_transport_lost(ECONNRESET);
	}
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
		set_state(State::kEnded);
		place_.give_back();
		control_.close();
		founder_.reset();
	}
	free_deleted();
	// Whoever waits for the end may free the namespace next: what this object still does after
	// that counts nothing. (Connections have a reference on the namespace.)
	smc_stat_inc(key_.netns, SMC_STAT_GROUP_FREE);
	const auto tables = table_.take_out(*this);
	smc_complete_all(&ended_);
}

} // namespace smc::transport::rdma
