// SPDX-License-Identifier: GPL-2.0-only
//
// Endpoint: our end of one SMC connection, whatever transport carries it: the core's Connection
// with its lock, the memory of both rings, and the sock whose sleepers it wakes. Sockets know
// endpoints, not transports.
//
// Locking: lock_ guards the Connection and is shared with softirqs. The socket's lock serialises
// the users, so that one thread copies into and one out of the rings at a time. Never take the
// socket's lock under lock_. Two ends in one kernel are neighbours and share one lock: a message of
// one end reaches the other at once, under that lock.
//
// Transports: each derives from Endpoint and implements the hooks at the end of this class. At
// most one of them is on the way of bytes: send_locked() or post_quickly_locked(); as a rule none
// where the ends are neighbours.
//
// Life: the socket holds one reference from UseSmc to its release, the transport another one from
// creation until the endpoint is retired: the user has released it, both sides have sent closing
// flags (or the link is lost), and no posted work can read the send buffer any more. An endpoint
// whose peer is in this kernel ends with its user: the peer has everything by then. close() cuts
// nothing short: pending data goes out first, however slow the peer is, within kOrphanLimit_ms.
// After an abort there is no data: kAbortLimit_ms. An endpoint that has sent everything, and whose
// peer stays open, ends silently after kOrphanLimit_ms, or when closed connections hold too much
// memory (Departed).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/connection/connection.hpp"
#include "core/connection/early_messages.hpp"
#include "core/group/doubt.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "kernel/abi/control.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/work.hpp"
#include "shell/transport/departed.hpp"
#include "shell/transport/setup_observer.hpp"

namespace smc::transport {

class Endpoint : public Departing {
public:
	// How long a closed connection may take to send its data to a peer that does not read, and
	// then waits for the peer's close(); counted from the last progress.
	static constexpr u64 kOrphanLimit_ms = 600'000;
	// The limit in all, however slowly a peer reads to prolong it.
	static constexpr u64 kOrphanTotal_ms = 3'600'000;
	// How long an aborted connection waits for the peer's answer, for which the peer needs no
	// program: for a peer whose link acknowledges everything and whose CDC is silent.
	static constexpr u64 kAbortLimit_ms = 30'000;
	// How long end of file is withheld, at most, for data that a closed peer says it still has.
	// If it has some, it sends it as soon as it hears, at once, that the ring is empty; Linux
	// also leaves that flag set when its last write just filled the ring.
	static constexpr u64 kWithheldLimit_ms = 1000;
	// How often a closed connection that still owes the peer something is looked at.
	static constexpr u64 kLook_ms = 1000;
	// How long TCP's FIN waits for the peer's close().
	static constexpr u64 kTcpWaits_ms = 100;
	// How long a cork (TCP_CORK, MSG_MORE) holds bytes back, as in TCP.
	static constexpr u64 kCorkLimit_ms = 200;
	// When a writer that found no memory for its send buffer tries again.
	static constexpr u64 kMemoryRetry_ms = 100;

	// Where the user's next bytes go, if the stream still takes any.
	struct Room {
		connection::SendStatus status;
		bool has_buffer; // else take_send_buffer() comes first
		ring::Segments segments;
	};

	// ---- For the socket; process context, socket lock held ---------------------------------

	// Runs @f(Connection &) under the lock and returns what it returns.
	template <class F>
	auto with_lock(F &&f)
	{
		shell::Guard guard(lock_);
		return f(conn_);
	}
	// Room for @bytes, or for one quantum of them. If there is any, the caller is about to
	// copy: the send buffer stays until produce() or give_room_back().
	[[nodiscard]] Room take_room(size_t bytes)
	{
		shell::Guard guard(lock_);
		const u32 piece =
			static_cast<u32>(std::min<size_t>(bytes, conn_.send_quantum_bytes()));
		Room room{conn_.send_status(), sndbuf_ != nullptr, conn_.write_segments(piece)};

		if (room.segments.empty() && room.has_buffer) [[unlikely]] {
			room.segments = conn_.borrowed_segments(static_cast<u32>(
				std::min<size_t>(bytes, conn_.sndbuf_size_bytes())));
			// The peer may take its time, and memory may come before it.
			if (room.segments.empty() && conn_.awaits_peer_room())
				note_send_buffer_lacks_locked();
		}
		writing_ = room.status == connection::SendStatus::kOpen && room.has_buffer &&
			   !room.segments.empty();
		return room;
	}
	// Gets memory for the send buffer, which has none since the connection has not sent for a
	// while. False if there is none: then the connection is not writable before that is worth
	// another try.
	[[nodiscard]] virtual bool take_send_buffer() { return false; }
	// A send of @bytes in one step (endpoint_at_once.cc): copies and sends them under the lock,
	// where nothing else is to be done. False: it did nothing; take_room(), and so on.
	// @socket: the socket lock, held briefly.
	static constexpr u32 kAtOnceMaxBytes = 4096;
	[[nodiscard]] bool send_at_once(struct msghdr *msg, u32 bytes, shell::SpinLockHeld socket);
	// A recv() of @max_bytes in one step, as long as it gets no more than kAtOnceMaxBytes.
	// Returns the bytes; 0: nothing has come yet, see is_dry(). Nothing: more is to be looked
	// at, and it did nothing.
	[[nodiscard]] std::optional<u32> receive_at_once(struct msghdr *msg, size_t max_bytes,
							 const smc_receive_options &options,
							 shell::SpinLockHeld socket);
	// A receive_at_once() has found or left nothing, and nothing was settled since. What is
	// there, but not settled yet, is about to wake whoever sleeps: good enough for a reader
	// that sleeps, and for no other, who might ask for ever while the one that is about to
	// settle it cannot run.
	[[nodiscard]] bool is_dry() const { return news() == dry_at_; }
	// The news() at that look, under the lock: what comes later is settled later.
	[[nodiscard]] u64 dry_at() const { return dry_at_; }
	// The caller copies nothing after all.
	void give_room_back();
	// Appends @bytes that were copied into the send buffer, and sends what may be sent. What a
	// cork holds goes out after kCorkLimit_ms at the latest.
	void produce(u32 bytes, connection::SendHint hint);
	// Applies TCP_CORK and TCP_NODELAY.
	void set_corked(bool corked, bool nodelay);
	// Gives @bytes of the ring back, and tells the peer if needed.
	void consume(u32 bytes);
	// Sends everything pending that may be sent.
	void transmit();
	// @write: SHUT_WR. @read_is_shut: SHUT_RD was called, now or before.
	void shutdown(bool write, bool read_is_shut);
	// The user has closed the socket; pending data still goes out.
	void close();
	// close() sleeps until its data has left: every change wakes it.
	void set_lingering() { lingering_.store(true, std::memory_order_release); }
	// The user or a violation resets the connection.
	void abort();
	// As abort(), and without waiting for the peer.
	void give_up();
	// After close(), for TCP's connection. As long as the peer is still to be sent anything it
	// stays open and belongs to this endpoint; @sock loses its sock. Where ends_by_reset(), it
	// ends with a RST once both have closed: one packet instead of three, and no TIME_WAIT; it
	// stays open so long for a peer that may close soon. Otherwise this does nothing, and TCP's
	// own close() follows.
	void end_tcp(struct socket *sock);
	// The handshake has ended, and this is the sock's connection. If it has failed meanwhile,
	// the sock gets the error now. Not before: the handshake might have gone on with TCP.
	void join_sock();
	// The sock gets no events any more: it may have another connection soon.
	void leave_sock();
	// The socket's reference goes next; the socket must not use the endpoint any more.
	void release_from_user();

	[[nodiscard]] std::byte *sndbuf() const { return sndbuf_; }
	[[nodiscard]] std::byte *rmb() const { return rmb_; }
	[[nodiscard]] struct sock *sk() const { return sk_; }
	[[nodiscard]] net *netns() const { return net_; }
	[[nodiscard]] struct smc_counters *counters() const { return counters_; }
	[[nodiscard]] smc_tech tech() const { return tech_; }
	// A copy into the send buffer was cut short: bytes lie there that are not in the stream.
	void note_stray_bytes() { stray_bytes_.store(true, std::memory_order_relaxed); }
	void count(smc_tech_stat stat) const { smc_count(counters_, SMC_STAT_OF(tech(), stat), 1); }
	// @run: SMC_TS_TX_BUF or SMC_TS_RX_BUF.
	void count(smc_tech_stat run, smc_buf_stat stat) const
	{
		smc_count(counters_, SMC_STAT_OF(tech(), run) + static_cast<u32>(stat), 1);
	}
	// A send found no room.
	[[nodiscard]] bool note_full()
	{
		full_ = true;
		sends_without_room_.fetch_add(1, std::memory_order_relaxed);
		count(SMC_TS_TX_BUF, SMC_BUF_FULL);
		const bool peer_is_full = with_lock([](const connection::Connection &conn) {
			return conn.peer_window_bytes() == 0;
		});
		if (peer_is_full) {
			sends_without_window_.fetch_add(1, std::memory_order_relaxed);
			count(SMC_TS_TX_BUF, SMC_BUF_FULL_PEER);
		}
		return peer_is_full;
	}
	// Before the next send: after a ring that was full has been read empty, both ends had
	// waited for each other. The ring is replaced by a larger one if the transport can do that.
	// True: the caller is to wait for room once more, since that needs the buffer to be empty.
	[[nodiscard]] bool widen_if_full()
	{
		return full_ && std::exchange(full_, false) && widen();
	}
	// For sock_diag. Process.
	void snapshot(smc_sock_info &info);
	// What a reader finds stays so while this does: it counts what was settled. Read before the
	// look, and compared once the sleeper is where it will be woken.
	[[nodiscard]] u64 news() const { return news_.load(std::memory_order_acquire); }
	[[nodiscard]] bool has_news_since(u64 before) const
	{
		// Who settles writes it, and looks for sleepers after a barrier.
		std::atomic_thread_fence(std::memory_order_seq_cst);
		return news() != before;
	}
	// For hot paths, without the lock.
	[[nodiscard]] bool ready_to_write();
	// Either side has reset it, or its link is lost.
	[[nodiscard]] bool aborted()
	{
		return with_lock([](connection::Connection &conn) {
			return conn.reset() ||
			       conn.send_status() == connection::SendStatus::kAborted;
		});
	}

	// ---- For its handshake (Setup); process ------------------------------------------------

	// Performs an effect of the machine. Returns the answer, unless the observer is called
	// later.
	[[nodiscard]] virtual std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) = 0;
	// The handshake has completed with this connection.
	virtual void established(const handshake::Agreement & /*agreement*/) {}
	// @observer is not called any more.
	virtual void unobserve(SetupObserver & /*observer*/) {}
	// The handshake has failed; its reference goes next. @peer_may_use: see
	// handshake::ReleaseLink.
	virtual void abandon(bool peer_may_use) = 0;
	// The peer, at this end of TCP, says that it does not know the link group.
	virtual void disown_group(const group::TcpAddress & /*from*/) {}

	// ---- For the transport ------------------------------------------------------------------

	// A message of the peer for this connection, in either form. @carrier: what it came by.
	// False: not by what the last ones came by, so it is kept until it begins, or until that is
	// drained. In a read side of RCU, in which it was found; no reference is needed. Softirq.
	bool on_message(const connection::CursorMessage &message, const void *carrier,
			shell::InSoftirq context);
	bool on_message(connection::CompactMessage message, const void *carrier,
			shell::InSoftirq context);
	// Softirq.
	void on_transmit_complete(const connection::TransmitMarker &marker);
	// The send queue has room again. Softirq or process.
	void on_room();
	// The link is lost: the user gets @err unless the connection had an orderly end. Any
	// context.
	void on_transport_lost(int err);

	// Departing's.
	void leave() override;

	// Its memory is freed next: from here on nothing is posted, and no ring is read. Any
	// context.
	void detach();

protected:
	// @shared: the lock of both neighbours; it outlives them.
	Endpoint(smc_tech tech, struct sock *sk, shell::SpinLock *shared = nullptr);
	~Endpoint();

	// Sets carrier_, and applies messages that came before conn_ was started, which later ones
	// must not overtake. Under the lock; returns the events for change().
	[[nodiscard]] u16 begin_locked(const connection::EarlyMessages &early, const void *carrier)
		SMC_REQUIRES(lock_);
	// What carried the peer's messages is lost and drained, and carrier_ is what these have
	// come by. Under the lock; returns the events for change().
	[[nodiscard]] u16 hear_again_locked(const connection::EarlyMessages &early)
		SMC_REQUIRES(lock_);
	// What carried our own is lost. What is sent from here on goes by something else.
	[[nodiscard]] u16 send_again_locked() SMC_REQUIRES(lock_);
	// The memory of the rings; before the first use. The send buffer may come later.
	void set_rings(std::byte *sndbuf, std::byte *rmb)
	{
		sndbuf_ = sndbuf;
		rmb_ = rmb;
	}

	// Both ends are in this kernel: @ring replaces the ring that @writer fills and @reader
	// empties.
	static void change_ring_locked(Endpoint &writer, Endpoint &reader, std::byte *ring)
		SMC_REQUIRES(writer.lock_, reader.lock_)
	{
		writer.sndbuf_ = ring;
		reader.rmb_ = ring;
	}

	// @writer has no ring any more: its reader has gone. @writer must not be copying.
	static void drop_ring_locked(Endpoint &writer) SMC_REQUIRES(writer.lock_)
	{
		writer.sndbuf_ = nullptr;
	}
	// The user may be copying into the send buffer.
	[[nodiscard]] bool writing_locked() const SMC_REQUIRES(lock_) { return writing_; }
	// The memory of the send buffer; it has none any more.
	void set_send_buffer_locked(std::byte *sndbuf) SMC_REQUIRES(lock_) { sndbuf_ = sndbuf; }
	// The memory of the ring is another one from here on.
	void set_rmb_memory_locked(std::byte *rmb) SMC_REQUIRES(lock_) { rmb_ = rmb; }
	void drop_send_buffer_locked() SMC_REQUIRES(lock_);
	// See take_send_buffer().
	void note_send_buffer_lacks_locked() SMC_REQUIRES(lock_);
	// Queues run().
	void look_again_locked() SMC_REQUIRES(lock_) { work_.queue(); }

	// Neighbours share one lock, which clang cannot know.
	void shares_lock_with(const Endpoint &neighbour [[maybe_unused]]) const SMC_REQUIRES(lock_)
		SMC_ASSERT_HELD(neighbour.lock_)
	{
	}
	// Events from the neighbour's message; change() settles them with its own.
	void note_heard_locked(u16 events) SMC_REQUIRES(lock_) { heard_events_ |= events; }
	// After a message of the peer. Returns the events for settle().
	[[nodiscard]] u16 take_in_locked(connection::Verdict verdict) SMC_REQUIRES(lock_);
	// A message that can only be the peer's mistake was not admitted: the connection is reset,
	// unless it has ended. change() settles that.
	void refuse_message_locked() SMC_REQUIRES(lock_);
	// For the one who retires it.
	[[nodiscard]] bool detached() const SMC_NO_LOCK_CHECK // nobody else detaches it then
	{
		return detached_;
	}
	// Bytes may lie in the send buffer that were never sent.
	[[nodiscard]] bool stray_bytes() const
	{
		return stray_bytes_.load(std::memory_order_relaxed);
	}
	// A message waits for the link's send queue.
	void note_full_queue_locked() SMC_REQUIRES(lock_) { messages_without_room_++; }

private:
	shell::SpinLock own_lock_{SMC_LOCK_ENDPOINT};

protected:
	shell::SpinLock &lock_;
	connection::Connection conn_ SMC_GUARDED_BY(lock_);
	// Of the peer's messages. Set when it begins, and when the peer moves.
	const void *carrier_ SMC_GUARDED_BY(lock_) = nullptr;
	// The link was lost before conn_ was started.
	bool lost_early_ SMC_GUARDED_BY(lock_) = false;
	// Before the CPU can read the ring.
	bool arrivals_need_sync_ SMC_GUARDED_BY(lock_) = false;
	Endpoint *neighbour_ SMC_GUARDED_BY(lock_) = nullptr; // lives as long; freed by RCU

	// Calls @f() under the lock, which returns events. These, and the neighbour's, are settled
	// after the lock is released.
	template <class F>
	void change(F &&f);
	// Its parts: what is to be settled, and settling it, which has to follow.
	struct Changes {
		Endpoint *neighbour = nullptr;
		u16 own = 0;
		u16 theirs = 0;
	};
	[[nodiscard]] Changes collect_changes(u16 own) SMC_REQUIRES(lock_);
	void settle_changes(const Changes &changes);
	// The same in a read side of RCU.
	[[nodiscard]] Changes collect_locked(u16 own) SMC_REQUIRES(lock_);
	void settle_own(const Changes &changes);
	static void settle_theirs(const Changes &changes) SMC_REQUIRES_SHARED(shell::rcu_read_side);

private:
	void transmit_locked() SMC_REQUIRES(lock_);
	// What was copied into the send buffer is sent, as far as it may be. Returns the events for
	// settle().
	[[nodiscard]] u16 append_locked(u32 bytes, connection::SendHint hint) SMC_REQUIRES(lock_);
	// The same where one write that tells of itself is all there is to send. False: it did
	// nothing.
	[[nodiscard]] bool post_copied_locked(u32 bytes) SMC_REQUIRES(lock_);
	// send_at_once() without a neighbour; returns the events for settle(). And with one; true
	// if the bytes were sent.
	[[nodiscard]] u16 post_at_once_locked(struct msghdr *msg, u32 bytes, bool &sent)
		SMC_REQUIRES(lock_);
	[[nodiscard]] bool pass_at_once_locked(struct msghdr *msg, u32 bytes) SMC_REQUIRES(lock_);
	// With a neighbour: the user has appended @bytes. True if they were passed on and nothing
	// else is to be sent. False, and nothing is done: use send_locked().
	[[nodiscard]] bool pass_locked(u32 bytes) SMC_REQUIRES(lock_);
	// The neighbour has passed something on: says what is to be said to that.
	void answer_locked(u16 events) SMC_REQUIRES(lock_);
	// Copies from the user into the send buffer. False: a page of his is missing.
	[[nodiscard]] bool copy_at_once(struct msghdr *msg, std::byte *room, u32 bytes);
	// The reader has taken something, and the peer is to be told.
	void tell_of_room();
	void limit_cork_locked() SMC_REQUIRES(lock_);
	template <class Message>
	[[nodiscard]] connection::Verdict take_message_locked(const Message &message)
		SMC_REQUIRES(lock_);
	[[nodiscard]] u16 conclude_locked(connection::Verdict verdict) SMC_REQUIRES(lock_);
	template <class Message>
	[[nodiscard]] u16 hear_message_locked(const Message &message) SMC_REQUIRES(lock_);
	[[nodiscard]] u16 hear_locked(const connection::CursorMessage &message) SMC_REQUIRES(lock_);
	[[nodiscard]] u16 hear_locked(connection::CompactMessage message) SMC_REQUIRES(lock_);
	template <class Message>
	bool hear_or_keep(const Message &message, const void *carrier, shell::InSoftirq context);
	[[nodiscard]] u16 handle_urgent_locked() SMC_REQUIRES(lock_);
	// Returns the events for settle().
	[[nodiscard]] u16 abort_broken_locked() SMC_REQUIRES(lock_);
	void report_locked(int err) SMC_REQUIRES(lock_);
	// From here on nothing is reported to the sock.
	void note_left_locked() SMC_REQUIRES(lock_)
	{
		left_.store(true, std::memory_order_release);
	}
	// Wakes sleepers and reports errors; not under the lock.
	void notify(u16 events);
	// Under the lock: true if the transport is to take everything back now; once.
	[[nodiscard]] bool retire_due() SMC_REQUIRES(lock_);
	// What goes with the end of the connection, or earlier; end() does it. Process.
	struct Ending {
		bool retires = false;
		bool tcp = false;      // smc_tcp_let_go()
		bool by_reset = false; // that, if it is still there
	};
	[[nodiscard]] Ending ending_locked(bool retires) SMC_REQUIRES(lock_);
	// TCP's connection ends with a RST: the peer may wait for what will never come, or nobody
	// is left at either end, and the peer expects it.
	[[nodiscard]] bool resets_tcp(const connection::Connection &conn) const
	{
		return conn.broken_off() || (conn.both_closed_in_order() && ends_by_reset());
	}
	// For how long end_tcp()'s wait for the peer goes on; 0: it is over.
	[[nodiscard]] u64 tcp_waits_ms_locked() const SMC_REQUIRES(lock_);
	void end(const Ending &ending);
	void settle(u16 events);
	// The neighbour may be released meanwhile.
	void settle_neighbour(u16 events) SMC_REQUIRES_SHARED(shell::rcu_read_side)
	{
		settle(events);
	}
	void run();
	void arm_locked() SMC_REQUIRES(lock_);
	// End of file is withheld: it comes when the peer is known to have no more, or in time.
	void note_withheld_locked() SMC_REQUIRES(lock_);
	void depart_locked() SMC_REQUIRES(lock_);
	void make_room();
	void note_resting_locked() SMC_REQUIRES(lock_);
	// How long the connection is kept without progress.
	[[nodiscard]] u64 patience_ms_locked() const SMC_REQUIRES(lock_);
	[[nodiscard]] bool overdue_locked() const SMC_REQUIRES(lock_);
	// Time until run() looks again.
	[[nodiscard]] u64 look_in_ms_locked() const SMC_REQUIRES(lock_);
	void part_locked() SMC_REQUIRES(lock_);
	void note_progress_locked() SMC_REQUIRES(lock_);

	// ---- Hooks of the transports ------------------------------------------------------------

	// Sends what the Connection has to send, as far as possible now; the rest when on_room() or
	// the neighbour comes. Under the lock, not after detach().
	virtual void send_locked() SMC_REQUIRES(lock_) = 0;
	// Posts a plan of the short way, whose bytes lie in the send buffer. False: there is no
	// room for it now.
	[[nodiscard]] virtual bool post_quickly_locked(const connection::QuickPlan & /*plan*/)
		SMC_REQUIRES(lock_)
	{
		return false;
	}
	// A message for on_message() came before it began, or by another carrier. True: they may
	// come by that one from here on, so it is heard. False: it is kept, or refused.
	[[nodiscard]] virtual bool admit_locked(const connection::CursorMessage & /*message*/,
						const void * /*carrier*/) SMC_REQUIRES(lock_)
	{
		return false;
	}
	[[nodiscard]] virtual bool admit_locked(const connection::CompactMessage & /*message*/,
						const void * /*carrier*/) SMC_REQUIRES(lock_)
	{
		return false;
	}
	// The peer has written these pieces of our ring: makes them visible to the CPU. Only where
	// arrivals_need_sync_ is set.
	virtual void sync_arrived_locked(const ring::Segments & /*arrived*/) SMC_REQUIRES(lock_) {}
	// See widen_if_full(). Process, socket lock held.
	[[nodiscard]] virtual bool widen() { return false; }
	// The reader has emptied a ring that its peer had filled.
	virtual void ring_ran_empty_locked() SMC_REQUIRES(lock_) {}
	// The peer, whose end of file is withheld, may be asked whether it has heard everything.
	virtual void end_is_doubtful_locked() SMC_REQUIRES(lock_) {}
	// See end_tcp(). The peer's user has gone by then, and knows nothing of it.
	[[nodiscard]] virtual bool ends_by_reset() const = 0;
	// The endpoint hears of the peer's close() after its own.
	[[nodiscard]] virtual bool awaits_peer() const { return true; }
	// event::kNewRing: the peer's message is about that ring.
	virtual void enter_ring_locked() SMC_REQUIRES(lock_) {}
	// The user has released it. True if it stays for its peer, with memory.
	[[nodiscard]] virtual bool released_locked() SMC_REQUIRES(lock_) = 0;
	// At the start of run(): the transport's own work. Process.
	virtual void look_after() {}
	// Gives back everything that the connection had from the transport, including the
	// transport's reference. Process.
	virtual void retire() = 0;
	// The transport's part for sock_diag.
	virtual void snapshot_transport(smc_sock_info &info) = 0;

	std::byte *sndbuf_ = nullptr;
	std::byte *rmb_ = nullptr;
	struct sock *sk_;
	net *net_;
	struct smc_counters *const counters_; // of net_
	const smc_tech tech_;
	std::atomic<bool> lingering_{false};
	std::atomic<u64> news_{0};
	u64 dry_at_ = ~u64{0};                       // guarded by the socket lock: see is_dry()
	std::atomic<bool> left_{false};              // the user has left: nothing is reported
	std::atomic<bool> joined_{false};            // set under lock_: the user has the connection
	int unreported_ SMC_GUARDED_BY(lock_) = 0;   // an error before that, or 0
	bool writing_ SMC_GUARDED_BY(lock_) = false; // between take_room() and produce()
	bool full_ = false; // guarded by the socket lock: the last send found no room
	u64 push_ms_ SMC_GUARDED_BY(lock_) = 0;       // when the cork ends; 0: it holds nothing
	bool released_ SMC_GUARDED_BY(lock_) = false; // by the user
	u64 released_ms_ SMC_GUARDED_BY(lock_) = 0;
	// After smc_tcp_keep(): TCP's connection is still open, and this endpoint's.
	bool keeps_tcp_ SMC_GUARDED_BY(lock_) = false;
	u32 departed_bytes_ SMC_GUARDED_BY(lock_) = 0; // its part of Departed's count
	// When arm_locked() wants run(), at the latest.
	u64 look_ms_ SMC_GUARDED_BY(lock_) = 0;
	bool retiring_ SMC_GUARDED_BY(lock_) = false;
	bool retires_in_run_ SMC_GUARDED_BY(lock_) = false; // it is run() that retires it
	bool detached_ SMC_GUARDED_BY(lock_) = false;
	u16 heard_events_ SMC_GUARDED_BY(lock_) = 0; // from the neighbour, not settled yet
	std::atomic<bool> stray_bytes_{false};
	// For sock_diag.
	std::atomic<u32> sends_without_room_{0};
	std::atomic<u32> sends_without_window_{0};
	u32 sends_behind_cork_ SMC_GUARDED_BY(lock_) = 0;
	u32 messages_without_room_ SMC_GUARDED_BY(lock_) = 0;
	// Stream bytes acknowledged at progress_ms_.
	u64 progress_position_ SMC_GUARDED_BY(lock_) = 0;
	u64 progress_ms_ SMC_GUARDED_BY(lock_) = 0;
	shell::CountedWork<Endpoint, &Endpoint::run> work_{*this};
};

} // namespace smc::transport
