// SPDX-License-Identifier: GPL-2.0-only
//
// Listener: the accept queue of an SMC socket. Peers that did not offer SMC stay in TCP's queue
// until accept() takes them: they cost nothing. Those that did are taken out by a work item (or by
// accept() itself, when they stand at the head of TCP's queue), do their handshake, and then wait
// here, as SMC connections or as plain TCP ones. A client in its handshake waits for six seconds,
// however long the program is busy: so those without SMC that stand before it are put aside, here
// too, and accept() finds them all in the order that they had.
//
// A peer that is silent in its handshake keeps nobody waiting: handshakes under way do not count
// for the backlog. Who connects is not offered SMC any more while more wait here than the backlog,
// and long before there are kHandshakesMax handshakes. So there is always room for those that have
// been.
//
// Locking: lock_ (class LISTENER) guards those that wait or are under way (AcceptQueue), and what
// else changes with them.
#pragma once

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

// May no more be offered SMC than the backlog has room for?
[[nodiscard]] bool limits_handshakes(smc_hs_limit limit, net *net);

class Listener final : public HandshakeOwner {
public:
	// Hears of nothing yet.
	Listener(struct socket *sock, smc_hs_limit limit);
	~Listener();

	// The socket is a listener from now on. With the sock's lock; more than once.
	void open();

	// A connection for the user: a handshake that came to SMC or TCP, or else a TCP child to be
	// accepted as such.
	struct Accepted {
		Ref<Handshake> done;
		struct sock *plain = nullptr;
	};
	// The next one. -EAGAIN: there is none yet. Process, no lock.
	[[nodiscard]] Result<Accepted, Errno> take(bool kern);
	// For whoever connects from now on. Process.
	void set_limit(smc_hs_limit limit);
	// The sock becomes one of TCP's, and may be for longer than this module is there: what TCP
	// asks before it offers SMC is left alone from now on. Process.
	void stop_limiting();
	// listen() may have said another one. Process.
	void backlog_changed();
	// Will take() find something, if nobody else takes it? Starts what has to be started.
	// Process.
	[[nodiscard]] bool ready();
	// TCP listens no more: resets those that nobody has accepted, as TCP does; those still in
	// the handshake when that is done. Process, no lock.
	void drop_done();
	// Ends everything that is in it. Process, no lock; a take() that follows or is under way
	// begins nothing more.
	void close();

	[[nodiscard]] bool on_handshake_done(Handshake &handshake) override;

private:
	static constexpr u32 kHandshakesMax = 1024;
	// With those that stand in TCP's queues at that moment, still within kHandshakesMax.
	static constexpr u32 kOffersMax = kHandshakesMax - SMC_TCP_QUEUE_MAX;
	// So many may wait to be accepted, be the backlog as small as it may.
	static constexpr u32 kBurst = 32;
	static constexpr u64 kLookAgain_ms = 100;

	bool on_wake();
	[[nodiscard]] bool may_start();
	[[nodiscard]] bool may_start_locked() SMC_REQUIRES(lock_);
	void limit_offers_locked() SMC_REQUIRES(lock_);
	void start(struct sock *child);
	void put_aside(struct sock *child);
	void set_taking(bool taking);
	[[nodiscard]] bool take_out();
	void run();
	[[nodiscard]] std::optional<Accepted> take_waiting();
	[[nodiscard]] bool came_meanwhile();
	// Those that @take finds.
	void drop(Ref<Handshake> (AcceptQueue::*take)());
	void drop_plain();

	struct sock *const sk_;
	SpinLock lock_{SMC_LOCK_LISTENER};
	AcceptQueue queue_ SMC_GUARDED_BY(lock_);
	Owned<AcceptQueue::Plain> spare_;           // run()'s, for the next one without SMC
	bool taking_ SMC_GUARDED_BY(lock_) = false; // run() has one that is in no list
	// There was no room, when it was looked for last.
	bool held_up_ SMC_GUARDED_BY(lock_) = false;
	bool closed_ SMC_GUARDED_BY(lock_) = false;
	bool tcps_own_ SMC_GUARDED_BY(lock_) = false;
	smc_hs_limit limit_ SMC_GUARDED_BY(lock_);
	WakeHook<Listener, &Listener::on_wake> hook_;
	Work<Listener, &Listener::run> work_{*this, SMC_WORK_OF_LISTENER};
};

} // namespace smc::shell
