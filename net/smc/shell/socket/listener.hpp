// SPDX-License-Identifier: GPL-2.0-only
//
// Listener: the accept queue of an SMC socket. Peers without SMC stay in TCP's queue until accept()
// takes them, and cost nothing. Peers with SMC are taken out by a work item (or by accept() itself,
// at the head of TCP's queue), do their handshake, and wait here as SMC or plain TCP connections. A
// client waits six seconds for its handshake, however long the program is busy. So peers without
// SMC that stand before it in TCP's queue are put aside, into this queue, and accept() gets all of
// them in TCP's order.
//
// A peer that is silent in its handshake holds up nobody: handshakes under way do not count for the
// backlog. New clients are not offered SMC while more wait here than the backlog allows, and long
// before there are kHandshakesMax handshakes. So there is always room for those that were offered
// it.
//
// Locking: lock_ (class LISTENER) guards the children (AcceptQueue), and what changes with them.
#pragma once

#include <atomic>
#include <optional>

#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "shell/base/alloc.hpp"
#include "shell/base/errno.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/wake_hook.hpp"
#include "shell/base/work.hpp"
#include "shell/socket/accept_queue.hpp"
#include "shell/socket/handshake.hpp"

namespace smc::shell {

// True if SMC is offered only to as many as the backlog has room for.
[[nodiscard]] bool limits_handshakes(smc_hs_limit limit, net *net);

class Listener final : public HandshakeOwner {
public:
	// Without its hook; open() adds it.
	Listener(struct socket *sock, smc_hs_limit limit);
	~Listener();

	// The socket is a listener from now on. With the sock's lock; more than once.
	void open();

	// A connection for the user: a completed handshake (SMC or TCP), or else a plain TCP child.
	struct Accepted {
		Ref<Handshake> done;
		struct sock *plain = nullptr;
	};
	// The next one. -EAGAIN: there is none yet. Process, no lock.
	[[nodiscard]] Result<Accepted, Errno> take(bool kern);
	// The sock of a handshake that take() has given, for the user's socket. Process, no lock.
	[[nodiscard]] struct sock *unwrap(const Handshake &done);
	// For clients that connect from now on. Process.
	void set_limit(smc_hs_limit limit);
	// The sock becomes TCP's, and may outlive this module: from now on the Listener leaves
	// TCP's own decision to offer SMC alone. Process.
	void stop_limiting();
	// listen() may have set another backlog. Process.
	void backlog_changed();
	// True if take() finds a connection, unless another thread takes it. Starts handshakes that
	// have not begun. Process.
	[[nodiscard]] bool ready();
	// False: a child with SMC has come to TCP's queue, and run() follows, which wakes whoever
	// waits when there is something to accept. Any context, without a lock.
	[[nodiscard]] bool may_have_some() const;
	// TCP does not listen any more: resets the connections that were not accepted, as TCP does,
	// and those in a handshake when that has ended. Process, no lock.
	void drop_done();
	// Ends everything in it. Process, no lock; a take() during or after it starts nothing.
	void close();

	[[nodiscard]] bool on_handshake_done(Handshake &handshake) override;

private:
	static constexpr u32 kHandshakesMax = 1024;
	// Plus those that may be in TCP's queues at that moment, within kHandshakesMax.
	static constexpr u32 kOffersMax = kHandshakesMax - SMC_TCP_QUEUE_MAX;
	// So many may wait for accept(), however small the backlog.
	static constexpr u32 kBurst = 32;
	static constexpr u64 kLookAgain_ms = 100;

	bool on_wake();
	[[nodiscard]] bool may_start();
	[[nodiscard]] bool may_start_locked() SMC_REQUIRES(lock_);
	void limit_offers_locked() SMC_REQUIRES(lock_);
	// @here: in run(), as far as its first message.
	void start(struct sock *child, bool here);
	void put_aside(struct sock *child);
	void set_taking(bool taking);
	[[nodiscard]] bool take_out();
	void run();
	[[nodiscard]] std::optional<Accepted> take_waiting();
	[[nodiscard]] bool came_meanwhile();
	void note_waiting_locked() SMC_REQUIRES(lock_)
	{
		has_waiting_.store(closed_ || queue_.waiting() != 0, std::memory_order_release);
	}
	// Drops all that @take finds.
	void drop(Ref<Handshake> (AcceptQueue::*take)());
	void drop_plain();
	void drop_spare_socket();

	struct sock *const sk_;
	bool listed_ = false; // clients elsewhere look for it; set with the sock's lock
	SpinLock lock_{SMC_LOCK_LISTENER};
	AcceptQueue queue_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> has_waiting_{false}; // queue_ has, or run() is not to come any more
	Owned<AcceptQueue::Plain> spare_;      // run()'s place for the next one without SMC
	// Of the last one that was accepted, for the next one's handshake; nullptr: there is none.
	std::atomic<struct socket *> spare_socket_{nullptr};
	bool taking_ SMC_GUARDED_BY(lock_) = false; // run() has a child that is in no list
	// There was no room at the last look.
	bool held_up_ SMC_GUARDED_BY(lock_) = false;
	bool closed_ SMC_GUARDED_BY(lock_) = false;
	bool tcps_own_ SMC_GUARDED_BY(lock_) = false;
	smc_hs_limit limit_ SMC_GUARDED_BY(lock_);
	WakeHook<Listener, &Listener::on_wake> hook_;
	Work<Listener, &Listener::run> work_{*this, SMC_WORK_OF_LISTENER};
};

} // namespace smc::shell
