// SPDX-License-Identifier: GPL-2.0-only
//
// Handshake: runs the core's handshake machine for one connection, client or server, and performs
// its effects: CLC messages over TCP, or in memory to a peer in this kernel (NearClc); the
// transports' effects are performed by Setup. It runs in a work item, one step after the other, and
// never waits for the network: the TCP socket's wait queue, the transport, its peer and its timer
// wake it. Nor does it wait for a user who holds the lock of a client's sock: then a later run
// performs the rest of a step's effects (SockTurn).
//
// Locking: lock_ (class LEAF) guards the results that wakers leave for the next run; all else
// belongs to the work item. A waker holds a reference, or is removed before the last reference
// goes.
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
	// Process context, from the work item; outcome() is valid now. False: it needs the lock of
	// a sock that a user holds, and is to be called again.
	[[nodiscard]] virtual bool on_handshake_done(Handshake &handshake) = 0;
	// From here on TCP wakes for each byte, whatever SO_RCVLOWAT says: the bytes are not the
	// user's. The owner keeps the value that the user has set, or sets meanwhile, and
	// clc_ends() returns it. With the sock's lock; one call each.
	virtual void clc_begins(int) {}
	[[nodiscard]] virtual int clc_ends(int rcvlowat) { return rcvlowat; }
	// Of a client: its server may take all the time of a CLC message. Otherwise there may be no
	// SMC server at all, and it is given up earlier.
	[[nodiscard]] virtual bool server_may_be_slow() { return true; }
	// Of a client: no device leads to its server, as found in that control::Namespace::epoch().
	virtual void on_no_device(u64 /*epoch*/) {}

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

	// The owner keeps @sock, which must outlive the last run. @crossed: a client whose peer is
	// known to be a client, too.
	Handshake(Role role, struct socket *sock, HandshakeOwner &owner, bool crossed = false);
	~Handshake();

	// Begins it, in a run of its own. Process.
	void start();
	// The same in the caller's run, as far as its first message. Process, from a work item that
	// cancel() does not overtake.
	void start_here();
	// Queues a run. Any context.
	void wake();
	// Ends it without an outcome, unless it has one already, and waits until it does not run.
	// Process, not from within on_handshake_done().
	void cancel() { (void)end(/*may_wait=*/true); }
	// The same for a work item. False: a user holds the sock's lock, and it is to be called
	// again; the handshake does nothing meanwhile.
	[[nodiscard]] bool try_cancel() { return end(/*may_wait=*/false); }
	// Stops it until go_on(). False, and it is to be cancelled, unless it is a server's whose
	// client may take the connection for established at any moment: only the Confirm names the
	// connection that has to be reset. Process, not from within on_handshake_done().
	[[nodiscard]] bool stop_for_heir();
	// Runs on to its end, and tells @heir.
	void go_on(HandshakeOwner &heir);

	[[nodiscard]] struct socket *sock() const { return sock_; }
	[[nodiscard]] net *netns() const { return net_; }
	// Of a server's child: its number in TCP's order, given under its listener's lock.
	[[nodiscard]] u64 turn() const { return turn_; }
	void set_turn(u64 turn) { turn_ = turn; }
	// After on_handshake_done(); nullptr if it was cancelled.
	[[nodiscard]] const handshake::Finished *outcome() const
	{
		return finished_ ? &*finished_ : nullptr;
	}
	// It ended with Fail, which resets TCP's connection.
	[[nodiscard]] bool failed() const
	{
		return finished_ && std::get_if<handshake::Fail>(&finished_->outcome) != nullptr;
	}
	// Its messages went to and from a peer in this kernel.
	[[nodiscard]] bool met() const;
	// For the owner's on_handshake_done().
	[[nodiscard]] SockTurn &turn_at_sock() { return turn_at_sock_; }
	// The connection of a UseSmc; once.
	[[nodiscard]] Ref<transport::Endpoint> take_endpoint() { return setup_.take_endpoint(); }

	// Runs at each wakeup of the socket's wait queue, until it ends.
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
	// How long a client that may be near its server waits for it: as a rule the listener's work
	// is queued behind its own.
	static constexpr u64 kAlone_ms = 10;
	// For the Accept of a server that nobody knows: its work, with two retransmissions of ours
	// (RTO_MIN is 200 ms), and the way to it.
	static constexpr u32 kStranger_ms = 2000;
	static constexpr u32 kStrangerRoundTrips = 4;

	void run();
	[[nodiscard]] bool end(bool may_wait);
	void come_again();
	[[nodiscard]] std::optional<u64> next_run_in_ms();
	void queue_in(u64 delay_ms);
	// Gives the event to the machine, performs its effects, and gives it their answers. If an
	// effect has to wait for the sock's lock it is stalled(), and no other step begins until
	// proceed() has performed the rest.
	void step(const handshake::Event &event);
	void step_once(const handshake::Event &event);
	void proceed();
	[[nodiscard]] bool stalled() const { return performed_ < effects_.size(); }
	[[nodiscard]] bool may_step() const { return !finished_ && !stalled(); }
	// Nothing sleeps under it.
	[[nodiscard]] bool lock_sock() SMC_TRY_ACQUIRE(true, turn_at_sock_);
	// False: the sock's lock was not free, and nothing was done.
	[[nodiscard]] bool perform(const handshake::Effect &effect);
	template <std::size_t... kIndices>
	[[nodiscard]] bool perform_alternative(const handshake::Effect &effect,
					       std::index_sequence<kIndices...>);
	template <class Wanted>
	[[nodiscard]] bool carry_out(const handshake::Effect &effect, const Wanted &wanted);
	void ask_setup(const handshake::Effect &effect);
	[[nodiscard]] bool on(const handshake::SendClc &send);
	// By TCP. False: the sock's lock was not free.
	[[nodiscard]] bool send_as_segment(ByteSpan message);
	[[nodiscard]] bool on(const handshake::ConsumeTcp &consume);
	void on(const handshake::WantBytes &);
	void on(const handshake::SetTimer &timer);
	void on(const handshake::StopTimer &);
	[[nodiscard]] bool on(const handshake::Finished &wanted);
	void begin();
	[[nodiscard]] handshake::LocalOffer make_offer();
	[[nodiscard]] handshake::Timeouts timeouts();
	[[nodiscard]] bool has_more_time();
	void look_for_server();
	void exchange();
	void take_results();
	void look_as_long_as_wanted();
	void look_into_stream();
	[[nodiscard]] bool look_into_inbox();
	[[nodiscard]] bool started() const { return machine_.index() != 0; }
	void take_answer(const transport::Setup::Answer &answer);
	void take_tcp_error(int error);
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
	// A client whose Proposal lies in near_clc_, for its server to come; until then at most.
	bool alone_ = false;
	u64 alone_until_ms_ = 0;
	bool hurried_ = false;   // a client that waits less than clc_ms for an Accept
	bool from_near_ = false; // the machine's last bytes came from the inbox
	// The bytes of that TcpBytes, in near_clc_. Nobody else takes any away.
	ByteSpan given_;
	bool look_due_ = false;
	bool timed_out_ = false; // this run's timer step
	bool told_ = false;      // the owner knows the outcome
	int tcp_error_ = 0;      // of TCP's last failed call; a positive errno
	SockTurn turn_at_sock_;
	bool may_wait_ = false; // may sleep for the sock's lock
	// Effects of the last step, and how many of them were performed.
	handshake::Effects effects_;
	std::size_t performed_ = 0;
	// What came of these effects, given to the machine after their step, which asks for one
	// answer at most: that, and that TCP could not do its part.
	transport::Setup::Answer answer_;
	bool tcp_failed_ = false;
	struct smc_tcp_clc saved_ {};
	u64 deadline_ms_ = 0;
	std::optional<handshake::Finished> finished_;

	SpinLock lock_{SMC_LOCK_LEAF};
	FixedVector<Result, kResultsMax> results_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> cancelled_{false};
	std::atomic<bool> woken_{false};   // since the last run began
	std::atomic<bool> starting_{true}; // no run does anything yet
	WakeHook<Handshake, &Handshake::on_wake> hook_{sock_, *this};
	CountedWork<Handshake, &Handshake::run> work_{*this, SMC_WORK_OF_HANDSHAKE};
};
// Of more than 4 KiB kmalloc() makes 8. Whoever opens connections, and then is silent, has this
// host hold one for each.
static_assert(SMC_LOCKS_ARE_DEBUGGED || sizeof(Handshake) <= 4096);

} // namespace smc::shell
