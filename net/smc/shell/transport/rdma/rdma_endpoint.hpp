// SPDX-License-Identifier: GPL-2.0-only
//
// RdmaEndpoint: an endpoint whose bytes go by RDMA writes over a link of a link group (SMC-R).
#pragma once

#include <atomic>
#include <optional>

#include "core/base/result.hpp"
#include "core/connection/early_messages.hpp"
#include "core/group/doubt.hpp"
#include "core/group/rtoken_table.hpp"
#include "core/handshake/effect.hpp"
#include "core/wire/cdc.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"
#include "kernel/abi/control.h"
#include "shell/base/list.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/rdma/buffer.hpp"
#include "shell/transport/rdma/link.hpp"
#include "shell/transport/rdma/link_user.hpp"
#include "shell/transport/setup_observer.hpp"

namespace smc::transport::rdma {

class LinkGroup;
class RdmaEndpoint;

struct RegisteringTag;

// What a group does next, when a connection's buffers are registered.
enum class AfterRegistration : u8 {
	kAnnounce,  // later contact: CONFIRM_RKEY
	kConnected, // first contact, server: CONFIRM_LINK may go
	kActivated, // first contact, client: CONFIRM_LINK is answered
};

// The link group, as its endpoints use it.
class EndpointGroup : public shell::RcuCounted<EndpointGroup> {
public:
	// The peer's end is known. At first contact the queue pair comes up: a client's ready to
	// receive, a server's ready to send with the RMB registered.
	enum class Connected : u8 { kNow, kLater }; // kLater: the observer will hear of it
	[[nodiscard]] virtual Result<Connected, wire::DeclineReason>
	connect(RdmaEndpoint &endpoint, const handshake::ConnectLink &towards) = 0;
	// Later contact: registers the buffers and announces the RMB to the peer, unless it knows
	// it from an earlier connection.
	enum class Announced : u8 { kNow, kLater }; // kLater: the observer will hear of it
	[[nodiscard]] virtual Announced announce_rkey(RdmaEndpoint &endpoint) = 0;
	// First contact: CONFIRM_LINK; the observer gets the result.
	virtual void confirm_link(RdmaEndpoint &endpoint) = 0;
	// The handshake has completed with this connection.
	virtual void complete(RdmaEndpoint &endpoint) = 0;
	// First contact has completed: what the peer's messages say of it.
	virtual void know_peer(const handshake::Agreement &agreement) = 0;
	// The handshake does not want the observer's calls any more.
	virtual void unobserve(RdmaEndpoint &endpoint, SetupObserver &observer) = 0;
	// The handshake failed here. @peer_may_use: the peer may take the connection for
	// established: it is told if its end is known; otherwise the RMB stays until the group
	// ends.
	virtual void abandon(RdmaEndpoint &endpoint, bool peer_may_use) = 0;
	// A Decline over TCP from that address says that the peer does not know this group. Any
	// context.
	virtual void disown(const group::TcpAddress &from) = 0;
	// A connection has ended and its memory is free. Process.
	virtual void remove(RdmaEndpoint &endpoint) = 0;
	// How large a send buffer for @sk is to be at first.
	[[nodiscard]] virtual wire::BufferSize send_buffer_size(struct sock *sk) const = 0;
	// Memory for one, mapped on all links: of that size or smaller, or, if it @may_borrow, the
	// group's reserve. nullptr: there is none, or the group ends. Process.
	struct Lent {
		Buffer *buffer = nullptr;
		bool reserve = false;
	};
	[[nodiscard]] virtual Lent lend_send_buffer(struct sock *sk, wire::BufferSize size,
						    bool may_borrow) = 0;
	// Takes it back. @idle: no work request reads it. Process.
	virtual void take_back_send_buffer(Buffer &buffer, bool idle) = 0;
	// Both ends understand compact messages.
	[[nodiscard]] virtual bool speaks_compactly() const = 0;
	// Both ends know rings that are replaced by larger ones.
	[[nodiscard]] virtual bool grows_rings() const = 0;
	// Both ends know that who closes last ends TCP with a RST.
	[[nodiscard]] virtual bool ends_by_reset() const = 0;
	// An endpoint's ring is to be replaced, or has been: see tend_ring(). Any context.
	virtual void look_at_rings() = 0;
	// An endpoint's end of file is withheld: see settle_end(). Any context.
	virtual void look_at_ends() = 0;
	// For sock_diag: this side's role, and the endpoint's link. Process.
	virtual void snapshot(const RdmaEndpoint &endpoint, smc_sock_info &info) = 0;

	// RcuCounted's: frees it.
	virtual void destroy() = 0;

protected:
	~EndpointGroup() = default;
};

class RdmaEndpoint final : public LinkUser, public shell::ListNode<RegisteringTag> {
public:
	RdmaEndpoint(EndpointGroup &group, struct sock *sk);

	// What it receives in, mapped on all links. (A message may name its token before.) Process.
	void set_rmb(Buffer *rmb)
	{
		shell::Guard guard(lock_);
		set_rmb_locked(rmb);
	}
	// Sets the peer's end, whose RMB is @rtoken on its link, and starts the connection, with
	// the messages that have come before; the buffers must be there. @elsewhere: not on the
	// link of the handshake, which is lost and drained. False if one of its values is out of
	// bounds.
	[[nodiscard]] bool start_towards(const wire::SmcrEndpoint &peer,
					 const wire::RemoteToken &rtoken, bool elsewhere);

	// The link that it sends by is lost and its queue pair gone. It goes on over @to, where the
	// peer's RMB is @rtoken, and the next one (take_peer_ring()) @next: what may not have
	// arrived is sent once more. False if it is not known there. Process.
	[[nodiscard]] bool move_to(Link &to, const std::optional<wire::RemoteToken> &rtoken,
				   const std::optional<wire::RemoteToken> &next);
	// The same for a link that the peer's messages came by, which has been drained. They may
	// come by any other link from here on: the peer chooses that. Process.
	void hear_without(const Link &lost);

	// The rings (ring_growth.cc), in this order, each step by the group's worker. Our own: the
	// size that the next one is to have; nothing if none is wanted.
	[[nodiscard]] std::optional<wire::BufferSize> next_rmb_size();
	// The peer knows it now: it is offered. False, and it is not needed, if the connection
	// takes no data any more.
	[[nodiscard]] bool offer_rmb(Buffer &rmb);
	// None is to be had, or the peer does not take it. Another one is wanted later.
	void put_off_rmb();
	// The one that the peer does not write to any more; nullptr if there is none.
	[[nodiscard]] Buffer *take_left_rmb();
	// What is on offer; for the one who has taken it out of the group.
	[[nodiscard]] Buffer *take_offered_rmb();
	// The peer's: its offer is of use. Any context.
	[[nodiscard]] bool wants_peer_ring(const wire::RingOffer &offer);
	// It is @rtoken on the link that this end sends by. False if that is too late. Any context.
	[[nodiscard]] bool take_peer_ring(const wire::RingOffer &offer,
					  const wire::RemoteToken &rtoken);
	// This end writes there: the ring before is not needed any more. Any context.
	[[nodiscard]] bool peer_ring_begun() const
	{
		return peer_ring_begun_.load(std::memory_order_acquire);
	}
	// The one before is given up. Any context.
	void note_peer_ring_left() { peer_ring_begun_.store(false, std::memory_order_release); }

	// End of file is withheld (Connection::eof_withheld()), and an answer of the peer on that
	// link says that it has heard that its ring is empty, and that what it has sent since is
	// here: its messages come by the link that ours go by. Any context.
	struct WithheldEnd {
		group::LinkIndex link = 0;
		u64 at_bytes = 0; // the peer has sent so many

		friend bool operator==(const WithheldEnd &, const WithheldEnd &) = default;
	};
	[[nodiscard]] std::optional<WithheldEnd> withheld_end();
	// It has answered, and nothing more has come. Any context.
	void end_here(const WithheldEnd &end);

	// Memory for what is to be sent; release_unused_send_buffer() takes it away again.
	[[nodiscard]] bool take_send_buffer() override;
	// Gives the memory of the send buffer back if nothing has been sent since the last call,
	// or, @at_once, if nothing of it is needed now. Process.
	void release_unused_send_buffer(bool at_once);
	// The same unconditionally, for its end: nothing is posted any more. Process.
	void release_send_buffer();

	[[nodiscard]] u32 token() const { return token_; }
	// The link that it sends by, of those of its group. Any context.
	[[nodiscard]] Link *link() const { return link_.load(std::memory_order_relaxed); }
	// The one that the peer's messages come by, nullptr: not known yet. Any context.
	[[nodiscard]] const Link *heard_link() const
	{
		return heard_link_.load(std::memory_order_relaxed);
	}
	// For the one who starts it, or has taken it out of the group.
	[[nodiscard]] bool started() const SMC_NO_LOCK_CHECK // nobody else changes it any more
	{
		return carrier_ != nullptr;
	}

	[[nodiscard]] std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) override;
	void established(const handshake::Agreement &agreement) override;
	void unobserve(SetupObserver &observer) override;
	void abandon(bool peer_may_use) override;
	void disown_group(const group::TcpAddress &from) override;

private:
	// Endpoint's hooks. send_locked() posts what is to be sent; what does not fit into the send
	// queue waits for on_room(), or on_transport_lost().
	void send_locked() override SMC_REQUIRES(lock_);
	[[nodiscard]] bool post_quickly_locked(const connection::QuickPlan &plan) override
		SMC_REQUIRES(lock_);
	// A message may overtake the Confirm, which starts the connection; or what came before it
	// by the link that the peer has given up.
	[[nodiscard]] bool admit_locked(const connection::CursorMessage &message,
					const void *carrier) override SMC_REQUIRES(lock_);
	// Nobody sends a compact one before this end has spoken, or as the first on another link.
	[[nodiscard]] bool admit_locked(const connection::CompactMessage &message,
					const void *carrier) override SMC_REQUIRES(lock_);
	// Only while the connection takes messages: the link is there then, and the ring mapped.
	void sync_arrived_locked(const ring::Segments &arrived) override SMC_REQUIRES(lock_);
	[[nodiscard]] bool released_locked() override SMC_REQUIRES(lock_)
	{
		return !conn_.finished();
	}
	[[nodiscard]] bool widen() override;
	[[nodiscard]] bool ends_by_reset() const override { return group_->ends_by_reset(); }
	void ring_ran_empty_locked() override SMC_REQUIRES(lock_);
	void enter_ring_locked() override SMC_REQUIRES(lock_);
	void end_is_doubtful_locked() override SMC_REQUIRES(lock_);
	void retire() override;
	void destroy() override;
	void snapshot_transport(smc_sock_info &info) override;

	[[nodiscard]] std::optional<WithheldEnd> withheld_end_locked() const SMC_REQUIRES(lock_);
	[[nodiscard]] u16 begin_messages_locked(bool elsewhere) SMC_REQUIRES(lock_);
	void set_rmb_locked(Buffer *rmb) SMC_REQUIRES(lock_) { rmb_buffer_ = rmb; }
	void hear_by(const Link &carrier) SMC_REQUIRES(lock_);
	void keep_early_locked(const connection::CursorMessage &message, const Link &by)
		SMC_REQUIRES(lock_);
	void point_to(Link &to, const wire::RemoteToken &rtoken) SMC_REQUIRES(lock_);
	void put_off_rmb_locked() SMC_REQUIRES(lock_);
	void put_off_widening();
	[[nodiscard]] wire::RingOffer offer_on(const Link &link) const SMC_REQUIRES(lock_);
	// Writes go to the peer's next ring from here on.
	void change_peer_ring_locked() SMC_REQUIRES(lock_);
	// The one of ours that has this number.
	[[nodiscard]] Buffer *rmb_of_locked(u8 ring) const SMC_REQUIRES(lock_)
	{
		return ring == conn_.ring() ? rmb_buffer_ : offered_rmb_;
	}
	[[nodiscard]] Buffer *unused_send_buffer_locked(bool at_once) SMC_REQUIRES(lock_);
	[[nodiscard]] Buffer *leave_send_buffer_locked() SMC_REQUIRES(lock_);
	// A write from the send buffer to the peer's ring.
	[[nodiscard]] smc_ib_write write_of(const connection::WriteSegment &segment) const
		SMC_REQUIRES(lock_);
	// False if it was not posted.
	[[nodiscard]] bool post_plan(const connection::TransmitPlan &plan) SMC_REQUIRES(lock_);

	friend class LinkGroup;

	shell::Ref<EndpointGroup> group_;
	std::atomic<Link *> link_ = nullptr; // changes under its lock
	std::atomic<const Link *> heard_link_ = nullptr;
	Buffer *rmb_buffer_ = nullptr;
	Buffer *send_buffer_ SMC_GUARDED_BY(lock_) = nullptr; // while there is something to send
	u64 noted_bytes_ SMC_GUARDED_BY(lock_) = 0;           // appended when it was last looked at
	// What the send buffer has grown to; guarded by the socket lock, as the next one.
	std::optional<wire::BufferSize> grown_size_;
	u64 widen_after_ms_ = 0;
	bool rested_ SMC_GUARDED_BY(lock_) = false; // it was not used, and was taken away
	// Rings that grow. Ours:
	bool rmb_wanted_ SMC_GUARDED_BY(lock_) = false;
	u64 rmb_wanted_after_ms_ SMC_GUARDED_BY(lock_) = 0;
	Buffer *offered_rmb_ SMC_GUARDED_BY(lock_) = nullptr;
	Buffer *left_rmb_ SMC_GUARDED_BY(lock_) = nullptr; // the peer has left it
	// The peer's:
	struct PeerRing {
		u64 address = 0; // of the RMB
		u64 element_offset = 0;
		u32 rkey = 0;
	};
	PeerRing next_peer_ring_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> peer_ring_begun_{false};                      // set under its lock
	std::optional<u64> end_doubted_at_bytes_ SMC_GUARDED_BY(lock_); // look_at_ends() was called
	u32 token_ = 0; // ours; the slot in the group's table
	bool first_contact_ = false;
	u64 element_offset_ = 0; // in the peer's RMB
	u64 peer_address_ = 0;   // these two change with the link, under its lock
	u32 peer_rkey_ = 0;
	connection::EarlyMessages early_ SMC_GUARDED_BY(lock_);
	// What the newest of them came by; nullptr: there is none, or that link is lost.
	const Link *early_link_ SMC_GUARDED_BY(lock_) = nullptr;
	bool any_link_ SMC_GUARDED_BY(lock_) = false; // the peer may move, nothing is in its way
	// All below belongs to the group, as does the RMB once it is registered: guarded by its
	// lock.
	shell::Guarded<bool> rtoken_held_;
	shell::Guarded<group::RtokenIndex> rtoken_;
	shell::Guarded<bool> rmb_deleted_;  // by the peer, while this connection uses it
	shell::Guarded<bool> rmb_in_doubt_; // the peer may write to it, and is not told of the end
	shell::Guarded<bool> completed_;    // its handshake has ended, as the group knows
	shell::Guarded<bool> agreed_;       // the peer takes it for established, or will
	// Its link was lost before that: the peer's QPN of it.
	shell::Guarded<std::optional<wire::Qpn>> stranded_;
	shell::Guarded<group::TcpAddress> from_; // the client's TCP address
	// While it is in the group's list of those being registered.
	shell::Guarded<AfterRegistration> after_registration_{AfterRegistration::kAnnounce};
	shell::Guarded<SetupObserver *> observer_; // of its handshake
	shell::Guarded<u64> announcement_;         // the number of its CONFIRM_RKEY
	// A larger RMB, while it is being registered and announced, and then what came of it.
	shell::Guarded<Buffer *> growing_rmb_;
	shell::Guarded<std::optional<bool>> growing_rmb_known_;
	// The peer's next one, until it is rtoken_.
	shell::Guarded<std::optional<group::RtokenIndex>> next_rtoken_;
	// What the peer is being asked about its end.
	struct EndProbe {
		std::optional<WithheldEnd> of;
		u64 after = 0; // only a TEST_LINK with a higher number counts
		u32 answers = 0;
	};
	shell::Guarded<EndProbe> end_probe_;
	// Another connection's CONFIRM_RKEY, under way, is for the slab of its RMB, too.
	shell::Guarded<bool> awaits_announcement_;
};

} // namespace smc::transport::rdma
