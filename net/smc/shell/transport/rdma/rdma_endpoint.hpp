// SPDX-License-Identifier: GPL-2.0-only
//
// RdmaEndpoint: an endpoint whose bytes go by RDMA writes over a link of a link group (SMC-R).
#pragma once

#include <atomic>

#include "core/connection/early_messages.hpp"
#include "core/group/doubt.hpp"
#include "core/group/rtoken_table.hpp"
#include "core/wire/clc.hpp"
#include "kernel/abi/control.h"
#include "shell/base/list.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/endpoint.hpp"
#include "shell/transport/rdma/buffer.hpp"
#include "shell/transport/rdma/link.hpp"
#include "shell/transport/setup_observer.hpp"

namespace smc::transport::rdma {

class LinkGroup;

struct RegisteringTag;

// What a group does with a connection whose buffers are registered.
enum class AfterRegistration : u8 {
	kAnnounce,  // later contact: CONFIRM_RKEY
	kConnected, // first contact, server: CONFIRM_LINK may go
	kActivated, // first contact, client: CONFIRM_LINK is answered
};

class RdmaEndpoint final : public Endpoint,
			   public shell::ListNode<WaitingTag>,
			   public shell::ListNode<RegisteringTag> {
public:
	RdmaEndpoint(LinkGroup &group, struct sock *sk);

	// The peer's end, and the start of the connection; the buffers must be there. False if
	// something in it is out of bounds.
	[[nodiscard]] bool start_towards(const wire::SmcrEndpoint &peer);

	[[nodiscard]] LinkGroup &group() const { return *group_; }
	[[nodiscard]] u32 token() const { return token_; }
	// Asked by who starts it, or has taken it out of the group.
	[[nodiscard]] bool started() const SMC_NO_LOCK_CHECK // nobody else changes it any more
	{
		return started_;
	}

	// The peer's RMB is gone: no write to it is posted any more, while messages still are.
	// Whatever the caller posts next stands in the send queue behind the last of the writes.
	// Any context.
	void forbid_writes() { writes_forbidden_.store(true, std::memory_order_relaxed); }
	[[nodiscard]] bool writes_forbidden() const
	{
		return writes_forbidden_.load(std::memory_order_relaxed);
	}

	[[nodiscard]] std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) override;
	void established(const handshake::Agreement &agreement) override;
	void unobserve(SetupObserver &observer) override;
	void abandon(bool peer_may_use) override;
	void disown_group(const group::TcpAddress &from) override;

	// A message of the peer. One that overtakes the peer's Confirm, on which the start waits,
	// is kept. Softirq.
	void on_cdc(const connection::CursorMessage &message);

private:
	// Endpoint's hooks. send_locked() posts what there is to say; what does not fit into the
	// send queue is left until on_room(), or on_transport_lost().
	void send_locked() override SMC_REQUIRES(lock_);
	// While the connection takes messages, so the link is there, and the ring mapped.
	void sync_arrived_locked(const ring::Segments &arrived) override SMC_REQUIRES(lock_);
	[[nodiscard]] bool released_locked() override SMC_REQUIRES(lock_)
	{
		return !conn_.finished();
	}
	void retire() override;
	void destroy() override;
	void snapshot_transport(smc_sock_info &info) override;

	// With what came before.
	void begin_messages() SMC_NO_LOCK_CHECK // begin() takes the lock before it touches either
	{
		begin(early_, started_);
	}
	// 0 if it was posted.
	[[nodiscard]] int post_plan(const connection::TransmitPlan &plan) SMC_REQUIRES(lock_);

	friend class LinkGroup;

	shell::Ref<LinkGroup> group_;
	Link *link_ = nullptr;
	Buffer *send_buffer_ = nullptr;
	Buffer *rmb_buffer_ = nullptr;
	u32 token_ = 0; // ours; the slot in the group's table
	bool first_contact_ = false;
	u64 peer_address_ = 0;
	u32 peer_rkey_ = 0;
	bool started_ SMC_GUARDED_BY(lock_) = false;
	connection::EarlyMessages early_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> writes_forbidden_{false}; // set for good; read under the link's lock
	// What follows is the group's, as is what becomes of the buffers once they are registered:
	// guarded by its lock.
	shell::Guarded<bool> rtoken_held_;
	shell::Guarded<group::RtokenIndex> rtoken_;
	shell::Guarded<bool> rmb_deleted_;  // by the peer, with this connection still on it
	shell::Guarded<bool> rmb_in_doubt_; // the peer may write to it, and is told nothing
	shell::Guarded<bool>
		completed_; // its handshake, or the group has heard that it will not be
	shell::Guarded<group::TcpAddress> from_; // where the handshake came from
	// Of one that stands in the group's list of those being registered.
	shell::Guarded<AfterRegistration> after_registration_{AfterRegistration::kAnnounce};
	shell::Guarded<SetupObserver *> observer_; // whoever sets this connection up
};

} // namespace smc::transport::rdma
