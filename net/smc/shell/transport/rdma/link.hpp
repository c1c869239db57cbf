// SPDX-License-Identifier: GPL-2.0-only
//
// Link: one RC queue pair of a link group. Posts the work of connections and of the group, in
// order, and reports completions to the connections that asked for one.
//
// Locking: lock_ (class LINK) serialises posts; it is the innermost one of the data path.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <span>

#include "core/base/bytes.hpp"
#include "core/connection/transmit_plan.hpp"
#include "core/group/event.hpp"
#include "core/group/limits.hpp"
#include "core/group/receive_credits.hpp"
#include "core/wire/decline_reason.hpp"
#include "kernel/abi/sock_wait.h"
#include "kernel/abi/verbs.h"
#include "shell/base/alloc.hpp"
#include "shell/base/errno.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/rdma/link_user.hpp"
#include "shell/transport/rdma/port.hpp"

namespace smc::transport::rdma {

class LinkGroup;

// State of a region's registration.
enum class Registration : u8 {
	kDone,
	kUnderWay, // a request for it is in the send queue
	kNoRoom,   // for the request; call again when something was sent
	kFailed,
};

class Link {
public:
	Link(LinkGroup &group, group::LinkIndex index) : group_(group), index_(index) {}
	~Link();

	// What is made: the queue pair on a port, with its receives posted. For iWARP: @netns is
	// the group's, and the peer of a @server will come; where connections @may_move to another
	// link, they hear of what has arrived, not of what has left.
	struct Making {
		net *netns;
		const Port &port;
		bool server;
		bool may_move;
	};
	// After destroy() it may be made again. Process.
	[[nodiscard]] Result<void, shell::Errno> create(const Making &making);
	// iWARP: whether the end waits for the peer, in leave(), which is to be called before
	// destroy(). Process; takes the group's setup mutex, and waits without it.
	[[nodiscard]] bool leaves() const { return counts_; }
	void leave(shell::Mutex &setup);
	// Stops the queue pair. What had been taken in has been delivered, and no callback runs
	// afterwards. Process, with the group's setup mutex; has to have a handle.
	void stop(const shell::Mutex &setup) SMC_REQUIRES(setup);
	// The same, if it is not stopped, without delivering anything; and frees it. Process, with
	// the group's setup mutex.
	void destroy(const shell::Mutex &setup) SMC_REQUIRES(setup);

	[[nodiscard]] group::LinkIndex index() const { return index_; }
	// Nothing after stop() or destroy(). With the group's setup mutex.
	[[nodiscard]] smc_ib_link *handle(const shell::Mutex &setup [[maybe_unused]]) const
		SMC_REQUIRES(setup) SMC_NO_LOCK_CHECK // it changes with both locks, one is enough
	{
		return stopped_ ? nullptr : link_;
	}
	// What create() was given, and what it has chosen. With the group's setup mutex.
	[[nodiscard]] const Port &port(const shell::Mutex &setup [[maybe_unused]]) const
		SMC_REQUIRES(setup)
	{
		return port_;
	}
	[[nodiscard]] wire::Psn psn(const shell::Mutex &setup [[maybe_unused]]) const
		SMC_REQUIRES(setup)
	{
		return psn_;
	}
	// How it becomes ready is its own affair (link_roce.cc, link_iwarp.cc): its group knows of
	// no addresses and states, only what it is ready for.
	enum class Ready : u8 { kToReceive, kToSend };
	// What the peer is told of this end. The QPN is 0 if the queue pair is gone.
	[[nodiscard]] group::LinkIdentity identity(const shell::Mutex &setup) const
		SMC_REQUIRES(setup);
	// Joins it to the peer's end. @peer.mtu: the smaller one of both. @direct: no gateway lies
	// between. Process; waits for the network, and takes the group's setup mutex after that.
	[[nodiscard]] Result<void, wire::DeclineReason>
	meet(const group::LinkEnd &peer, bool direct, Ready ready, shell::Mutex &setup) const;
	// False after meet() if it has not met the peer yet: LinkGroup::on_link_met() follows, or
	// on_link_failed(), or nothing. A server's has when its client has sent something. Any
	// context.
	[[nodiscard]] bool has_met() const
	{
		return !counts_ || met_.load(std::memory_order_acquire) == kMet;
	}
	// Of a server: whether it has accepted somebody who is not the peer's end.
	[[nodiscard]] bool has_met_another(wire::Qpn peer) const
	{
		return counts_ && (met_.load(std::memory_order_acquire) & kAccepted) != 0 &&
		       met_client_.load(std::memory_order_relaxed) != peer.value();
	}
	// Ready to send, after it was ready to receive. False: it cannot be, or is gone. Process.
	[[nodiscard]] bool open(const shell::Mutex &setup) const SMC_REQUIRES(setup);

	// Its owner, which gets the callbacks of kernel/verbs.
	[[nodiscard]] LinkGroup &group() const { return group_; }

	// A message other than link control was received, so the peer is alive. Any context.
	void note_heard()
	{
		if (!heard_.load(std::memory_order_relaxed))
			heard_.store(true, std::memory_order_relaxed);
	}
	// It brings messages of @sk. From a callback of the queue pair.
	void serve(sock *sk) const { smc_sk_busy_poll_by(sk, napi_id_); }
	// True if there was one since the last call.
	[[nodiscard]] bool take_heard()
	{
		return heard_.exchange(false, std::memory_order_relaxed);
	}

	// What tells the peer of a connection's writes: a message behind them, or else the
	// immediate data of the last one.
	struct Notice {
		ByteSpan message;
		u32 immediate = 0;
	};

	// Posts a connection's batch. False: there is no room, or others wait for it, and the
	// endpoint gets on_room() later; or its writes are forbidden; or the link is dead.
	// @endpoints: its lock.
	[[nodiscard]] bool post(LinkUser &endpoint, shell::SpinLockHeld endpoints,
				std::span<const smc_ib_write> writes, const Notice &notice,
				bool signal, const connection::TransmitMarker &marker);
	// Posts a message of link control; @last: it may take the place reserved for the group's
	// last message. Returns its number for sent_up_to(). -EAGAIN: no room. Any context.
	[[nodiscard]] Result<u64, shell::Errno> post_control(ByteSpan message, bool last);
	// A kept message has been handled: its receive is free. Any context.
	void give_back(smc_ib_receive_slot *receive);
	// Requests the registration, unless it is done or under way. Any context.
	[[nodiscard]] Registration post_registration(smc_ib_region *region);
	// Every post up to this number has left.
	[[nodiscard]] u64 sent_up_to();
	// The peer has got every post up to @seq. If that is not known it is found out, and
	// LinkGroup::on_sent() follows.
	[[nodiscard]] bool has_arrived(u64 seq);

	// From the queue pair, softirq.
	void on_sent(u64 up_to_seq);
	// A message has been dealt with, and its receive is free; or that is kept until
	// give_back().
	void note_taken();
	void note_kept();
	// When the peer was asked what has arrived, if it has not answered; 0: it has, or its
	// connections have nowhere to go. Any context.
	[[nodiscard]] u64 asked_ms();
	// A message for the link itself, after which there may be room; or one that says what
	// cannot be; or another message.
	enum class CreditHeard : u8 { kYes, kViolation, kNone };
	[[nodiscard]] CreditHeard take_credit(ByteSpan message);
	// Its peer has accepted it, or been accepted; its client has shown these bytes. Process.
	void on_met(const void *shown, bool client);
	// When greet_again() is due, since the client's first message is not answered. Any context.
	[[nodiscard]] std::optional<u64> greets_again_ms();
	void greet_again();

private:
	// A post whose completion a connection wants.
	struct Awaited {
		u64 seq = 0;
		shell::Ref<LinkUser> endpoint;
		connection::TransmitMarker marker;
	};

	// iWARP.
	[[nodiscard]] smc_ib_link *handle_to_leave(const shell::Mutex &setup [[maybe_unused]]) const
		SMC_REQUIRES(setup) SMC_NO_LOCK_CHECK // as handle()
	{
		return link_;
	}
	[[nodiscard]] int expect(smc_ib_link *queue_pair);
	[[nodiscard]] group::LinkIdentity identity_of_iwarp(const smc_ib_link *queue_pair) const;
	[[nodiscard]] Result<void, wire::DeclineReason>
	meet_by_manager(const group::LinkEnd &peer, Ready ready, const shell::Mutex &setup) const
		SMC_REQUIRES(setup);
	static constexpr u8 kAccepted = 1;
	static constexpr u8 kHeard = 2; // or it is the client
	static constexpr u8 kMet = kAccepted | kHeard;

	// How often, and how many times: all within the time that a handshake gives a meeting, and
	// far from what a server has receives for.
	static constexpr u64 kGreetAgain_ms = 300;
	static constexpr u32 kGreetingsMax = 5;

	void announce_locked() SMC_REQUIRES(lock_);
	void announce_if_due_locked() SMC_REQUIRES(lock_)
	{
		if (credits_.announcement_due() || credits_.question_due())
			announce_locked();
	}
	// Of a message that must be known to have arrived.
	void await_arrival_locked(u64 seq) SMC_REQUIRES(lock_);
	// Every post up to this number is done with, as far as connections are concerned.
	[[nodiscard]] u64 done_up_to_locked() const SMC_REQUIRES(lock_)
	{
		return may_move_ ? std::min<u64>(sent_up_to_, credits_.arrived_up_to())
				 : sent_up_to_;
	}
	// Reports to connections. @sent_up_to: posts up to this number have left.
	void tell_of_done(std::optional<u64> sent_up_to);
	[[nodiscard]] bool may_send_data_locked() const SMC_REQUIRES(lock_)
	{
		return !counts_ || credits_.may_send_data();
	}
	[[nodiscard]] bool is_there();
	// Nobody posts, and nothing is awaited.
	void free_awaited() SMC_NO_LOCK_CHECK;
	[[nodiscard]] int post_locked(std::span<const smc_ib_write> writes, const Notice &notice,
				      bool signal, u64 &seq) SMC_REQUIRES(lock_);
	// What a post leaves behind, and one that was not made.
	void note_posted_locked(LinkUser &endpoint, u64 seq, bool signal,
				const connection::TransmitMarker &marker) SMC_REQUIRES(lock_);
	void note_not_posted_locked(LinkUser &endpoint, int ret) SMC_REQUIRES(lock_);
	// Removes the oldest one.
	[[nodiscard]] Awaited take_awaited_locked() SMC_REQUIRES(lock_);
	[[nodiscard]] bool any_done_locked() const SMC_REQUIRES(lock_)
	{
		return count_ != 0 && awaited_[head_].seq <= done_up_to_locked();
	}
	// Lets the endpoints that found no room post, in their order.
	void serve_waiting();
	// An endpoint that waits for room or for a completion, or none.
	[[nodiscard]] shell::Ref<LinkUser> take_left();

	LinkGroup &group_;
	const group::LinkIndex index_;
	net *netns_ = nullptr;
	Port port_;
	wire::Psn psn_;   // of our first packet; of an iWARP server's the port that it listens at
	wire::Mac nonce_; // iWARP, of a server: what its client has to know
	bool counts_ = false;   // iWARP: the peer's receives
	bool may_move_ = false; // the same, and connections can go on over another link
	bool left_ = false;     // iWARP: meets nobody any more; with the group's setup mutex
	bool stopped_ = false;  // with the group's setup mutex
	std::atomic<u8> met_{0};
	std::atomic<u32> met_client_{0}; // before met_
	u32 napi_id_ = 0;
	std::atomic<bool> heard_{false};
	shell::SpinLock lock_{SMC_LOCK_LINK};
	smc_ib_link *link_ SMC_GUARDED_BY(lock_) = nullptr;
	bool dead_ SMC_GUARDED_BY(lock_) = true;
	u64 sent_up_to_ SMC_GUARDED_BY(lock_) = 0;
	group::ReceiveCredits credits_ SMC_GUARDED_BY(lock_);
	u64 asked_ms_ SMC_GUARDED_BY(lock_) = 0;   // the last question
	u64 greeted_ms_ SMC_GUARDED_BY(lock_) = 0; // 0: the server has said something since
	u32 greetings_ SMC_GUARDED_BY(lock_) = 0;
	// Ring of posts whose completion is wanted, oldest at head_; as many as fit into the queue.
	Awaited *awaited_ SMC_PT_GUARDED_BY(lock_) = nullptr;
	u32 awaited_size_ = 0;
	u32 head_ SMC_GUARDED_BY(lock_) = 0;
	u32 count_ SMC_GUARDED_BY(lock_) = 0;
	// Endpoints that found no room, or found others waiting.
	shell::RefList<LinkUser, WaitingTag> waiting_ SMC_GUARDED_BY(lock_);
	const LinkUser *served_ SMC_GUARDED_BY(lock_) = nullptr; // the one being served
};

inline int Link::post_locked(std::span<const smc_ib_write> writes, const Notice &notice,
			     bool signal, u64 &seq)
{
	const auto count = static_cast<unsigned int>(writes.size());
	const unsigned int flags = signal ? SMC_IB_POST_SIGNAL : 0;

	if (notice.message.empty())
		return smc_ib_link_post_immediate(link_, writes.data(), count, notice.immediate,
						  flags, &seq);
	return smc_ib_link_post(link_, writes.data(), count, notice.message.data(),
				notice.message.size(), flags, &seq);
}

// Where it is inlined, what the caller knows of its writes and its notice need not be asked.
[[gnu::always_inline]] inline bool Link::post(LinkUser &endpoint,
					      shell::SpinLockHeld endpoints [[maybe_unused]],
					      std::span<const smc_ib_write> writes,
					      const Notice &notice, bool signal,
					      const connection::TransmitMarker &marker)
{
	const shell::InnerGuard guard(lock_, endpoints);
	u64 seq;

	// The response to the peer's DELETE_RKEY is posted under this lock, too.
	if (dead_ || (!writes.empty() && endpoint.writes_forbidden())) [[unlikely]]
		return false;
	// No post overtakes the endpoints that wait.
	const bool waits = (!waiting_.empty() && &endpoint != served_) ||
			   (signal && count_ == awaited_size_) || !may_send_data_locked();
	const int ret = waits ? -EAGAIN : post_locked(writes, notice, signal, seq);
	if (ret != 0) [[unlikely]] {
		note_not_posted_locked(endpoint, ret);
		return false;
	}
	if (signal || counts_)
		note_posted_locked(endpoint, seq, signal, marker);
	return true;
}

} // namespace smc::transport::rdma
