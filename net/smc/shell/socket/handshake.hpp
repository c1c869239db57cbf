// SPDX-License-Identifier: GPL-2.0-only
//
// Handshake: runs the core's handshake machine for one connection, client or server, and carries
// out what it wants: CLC messages over TCP, or in memory to a peer in this kernel (NearClc). What
// else it wants is the transports' (Setup). It runs in a work item, one step after the other, and
// never waits for the network: it is woken by the TCP socket's wait queue, by the transport, by its
// peer, and by its timer. Nor does it wait for the user, who may keep the lock of a client's sock:
// then the rest of what a step wants is done by a later run (SockTurn).
//
// Locking: lock_ (class LEAF) guards what wakers leave for the next run; all else belongs to the
// work item. Wakers hold a reference or are taken away before the last one goes.
#pragma once

#include <atomic>
#include <utility>
#include <variant>

#include "core/base/fixed_vector.hpp"
#include "core/handshake/client.hpp"
#include "core/handshake/server.hpp"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/wake_hook.hpp"
#include "shell/base/work.hpp"
#include "shell/socket/near_clc.hpp"
#include "shell/socket/sock_turn.hpp"
#include "shell/transport/setup.hpp"

namespace smc::shell {

class Handshake;

class HandshakeOwner {
public:
	// Process context, from the work item; outcome() is there now. False: it needs the lock of
	// a sock that a user keeps, and is to be asked again.
	[[nodiscard]] virtual bool on_handshake_done(Handshake &handshake) = 0;
	// TCP wakes for each byte from here on, whatever SO_RCVLOWAT says: the bytes are not the
	// user's. What he has set, or sets meanwhile, is kept by the owner: clc_ends() says it.
	// With the sock's lock; one call each.
	virtual void clc_begins(int) {}
	[[nodiscard]] virtual int clc_ends(int rcvlowat) { return rcvlowat; }

protected:
	~HandshakeOwner() = default;
};

struct ChildrenTag;

class Handshake final : public RefCounted<Handshake>,
			public ListNode<ChildrenTag>,
			public transport::SetupObserver,
			public NearClcOwner {
public:
	enum class Role : u8 { kClient, kServer };

	// @sock stays the owner's; it must outlive the handshake's last run. @crossed: of a client
	// whose peer is known to be one, too.
	Handshake(Role role, struct socket *sock, HandshakeOwner &owner, bool crossed = false);
	~Handshake();

	// Begins. Process.
	void start();
	// Something may have happened. Any context.
	void wake();
	// Ends it without an outcome, unless there is one already, and waits until it does not run.
	// Process, not from within on_handshake_done().
	void cancel() { (void)end(/*may_wait=*/true); }
	// The same for a work item. False: a user keeps the sock's lock, and it is to be tried
	// again; nothing else becomes of the handshake meanwhile.
	[[nodiscard]] bool try_cancel() { return end(/*may_wait=*/false); }
	// Stops it, until go_on(). False, and it is to be cancelled, unless it is a server's whose
	// client may take the connection for established any moment: only its Confirm says whom to
	// tell that nobody wants it. Process, not from within on_handshake_done().
	[[nodiscard]] bool stop_for_heir();
	// Runs on to its end, which @heir hears of.
	void go_on(HandshakeOwner &heir);

	[[nodiscard]] struct socket *sock() const { return sock_; }
	[[nodiscard]] net *netns() const { return net_; }
	// Of a server's child: when TCP had it, in the order of its listener, under whose lock it
	// is given.
	[[nodiscard]] u64 turn() const { return turn_; }
	void set_turn(u64 turn) { turn_ = turn; }
	// After on_handshake_done() only; nullptr if it was cancelled.
	[[nodiscard]] const handshake::Finished *outcome() const
	{
		return finished_ ? &*finished_ : nullptr;
	}
	// It has ended, and TCP's connection with it.
	[[nodiscard]] bool failed() const
	{
		return finished_ && std::get_if<handshake::Fail>(&finished_->outcome) != nullptr;
	}
	// For the owner's on_handshake_done().
	[[nodiscard]] SockTurn &turn_at_sock() { return turn_at_sock_; }
	// The connection of a UseSmc; once.
	[[nodiscard]] Ref<transport::Endpoint> take_endpoint() { return setup_.take_endpoint(); }

	// Watches the socket's wait queue. For a server's child; a client's socket has its own
	// hook.
	void watch();

	void on_setup_result(transport::SetupResult result, wire::DeclineReason reason) override;
	void on_near_clc() override { wake(); }
	void last_ref_gone();

private:
	struct Result {
		transport::SetupResult result;
		wire::DeclineReason reason;
	};
	static constexpr std::size_t kResultsMax = 8;
	// How long a client that could be near its server waits for it to come: as a rule the
	// listener's work is queued behind its own.
	static constexpr u64 kAlone_ms = 10;

	void run();
	[[nodiscard]] bool end(bool may_wait);
	void come_again();
	// One step, and those that its own effects lead to, unless one of these has to wait for the
	// sock's lock: it is stalled() then, and takes no other step until proceed() has been
	// through with it.
	void step(const handshake::Event &event);
	void step_once(const handshake::Event &event);
	void proceed();
	[[nodiscard]] bool stalled() const { return performed_ < effects_.size(); }
	[[nodiscard]] bool may_step() const { return !finished_ && !stalled(); }
	[[nodiscard]] bool lock_sock() SMC_TRY_ACQUIRE(true, turn_at_sock_);
	// False: the sock's lock is missing, and nothing was done.
	[[nodiscard]] bool perform(const handshake::Effect &effect);
	template <std::size_t... kIndices>
	[[nodiscard]] bool perform_alternative(const handshake::Effect &effect,
					       std::index_sequence<kIndices...>);
	template <class Wanted>
	[[nodiscard]] bool carry_out(const handshake::Effect &effect, const Wanted &wanted);
	[[nodiscard]] bool on(const handshake::SendClc &send);
	[[nodiscard]] bool on(const handshake::ConsumeTcp &consume);
	void on(const handshake::WantBytes &);
	void on(const handshake::SetTimer &timer);
	void on(const handshake::StopTimer &);
	[[nodiscard]] bool on(const handshake::Finished &wanted);
	void begin();
	void look_for_server();
	void exchange();
	void take_results();
	void look_as_long_as_wanted();
	void look_into_stream();
	[[nodiscard]] bool look_into_inbox();
	[[nodiscard]] bool started() const { return machine_.index() != 0; }
	void later(const handshake::Event &event);
	void take_answer(const transport::Setup::Answer &answer)
	{
		if (answer)
			later(*answer);
	}
	[[nodiscard]] handshake::Finished outcome_on_tcp(const handshake::Finished &finished);
	void count_outcome();
	void count_violation(u32 kind);
	bool on_wake();

	const Role role_;
	const bool crossed_;
	struct socket *const sock_;
	struct sock *const sk_;
	net *const net_;
	HandshakeOwner *owner_;
	u64 turn_ = 0;
	std::variant<std::monostate, handshake::ClientHandshake, handshake::ServerHandshake>
		machine_;
	transport::Setup setup_;
	NearClc near_clc_;
	bool alone_ = false;     // a client that waits for its server, and has sent nothing
	bool from_near_ = false; // the bytes that the machine was shown last
	bool look_due_ = false;
	bool timed_out_ = false; // this run's timer step
	bool told_ = false;      // the owner knows the outcome
	int tcp_error_ = 0;      // the last call of TCP's failed; a positive errno
	SockTurn turn_at_sock_;
	bool may_wait_ = false; // for the sock's lock
	// Of the last step, and how many of them were carried out.
	handshake::Effects effects_;
	std::size_t performed_ = 0;
	// Answers to effects, delivered after the step that asked for them.
	FixedVector<handshake::Event, 4> events_;
	struct smc_tcp_clc saved_ {};
	u64 deadline_ms_ = 0;
	std::optional<handshake::Finished> finished_;
	std::array<std::byte, wire::kClcMessageSizeMax> peeked_;

	SpinLock lock_{SMC_LOCK_LEAF};
	FixedVector<Result, kResultsMax> results_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> cancelled_{false};
	std::atomic<bool> woken_{false}; // since the last run began
	WakeHook<Handshake, &Handshake::on_wake> hook_{sock_, *this};
	CountedWork<Handshake, &Handshake::run> work_{*this, SMC_WORK_OF_HANDSHAKE};
};

} // namespace smc::shell
