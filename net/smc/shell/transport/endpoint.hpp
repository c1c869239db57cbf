// SPDX-License-Identifier: GPL-2.0-only
//
// Endpoint: our end of one SMC connection, whatever transport carries it: the core's Connection
// with its lock, the memory of both rings, and the sock whose sleepers it wakes. Sockets know
// endpoints, not transports.
//
// Locking: lock_ guards the Connection and is shared with softirqs. The socket's lock serialises
// the users, so that one thread copies into and one out of the rings at a time. Never take the
// socket's lock under lock_. Two ends in one kernel are neighbours and share one lock: what one of
// them says, the other one hears under it at once.
//
// Transports: each derives from Endpoint and fills in the hooks at the end of this class. Bytes
// pass one of them at most, send_locked().
//
// Life: the socket has one reference from UseSmc to its release, the transport another one from
// creation until the endpoint is retired: the user has let go of it, both sides have said that
// they are closed (or the link is lost), and no posted work can read the send buffer any more.
// One whose peer is in this kernel goes with its user: the peer has everything by then.
// Nothing is cut short by a close(): the data goes out first, however long the peer takes,
// within kOrphanLimit_ms. An aborted one has nothing to hand over: kAbortLimit_ms. One that has
// handed over everything, and whose peer stays open, goes after kOrphanLimit_ms without a word, or
// when closed connections hold too much memory (Departed).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>

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
	// How long a closed connection may take to hand over its data to a peer that does not
	// read, and is kept for the peer's close() then, counted from the last progress.
	static constexpr u64 kOrphanLimit_ms = 600'000;
	// And at all, however little a peer reads at a time to prolong it.
	static constexpr u64 kOrphanTotal_ms = 3'600'000;
	// How long one that was aborted waits for the peer's answer, which needs no program there:
	// a peer whose link acknowledges everything and whose CDC is silent.
	static constexpr u64 kAbortLimit_ms = 30'000;
	// How long end of file is put off for data that a closed peer says it still has. One that
	// has some sends it as soon as it hears that the ring is empty, which it does at once; and
	// Linux also leaves that word standing when its last write just filled the ring.
	static constexpr u64 kWithheldLimit_ms = 1000;
	// How often a closed one that still owes the peer something is looked at.
	static constexpr u64 kLook_ms = 1000;
	// How long a cork (TCP_CORK, MSG_MORE) holds bytes back, as in TCP.
	static constexpr u64 kCorkLimit_ms = 200;

	// Where the next bytes of the user go, if the stream still takes any.
	struct Room {
		connection::SendStatus status;
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
	// For so many bytes, or a good piece of them. If there is any, whoever asks is about to
	// copy: the send buffer stays until produce() or give_room_back().
	[[nodiscard]] Room take_room(size_t bytes)
	{
		shell::Guard guard(lock_);
		const u32 piece =
			static_cast<u32>(std::min<size_t>(bytes, conn_.send_quantum_bytes()));
		const Room room{conn_.send_status(), conn_.write_segments(piece)};

		writing_ = room.status == connection::SendStatus::kOpen && !room.segments.empty();
		return room;
	}
	// Nothing is copied after all.
	void give_room_back();
	// Appends @bytes that were copied into the send buffer, and sends what may go. What a cork
	// holds goes out after kCorkLimit_ms at the latest.
	void produce(u32 bytes, connection::SendHint hint);
	// TCP_CORK and TCP_NODELAY as they are set now.
	void set_corked(bool corked, bool nodelay);
	// Gives @bytes of the ring back; tells the peer if it is time to.
	void consume(u32 bytes);
	// Sends what waits and may go.
	void transmit();
	// @write: of writing. @read_is_shut: the socket reads no more.
	void shutdown(bool write, bool read_is_shut);
	// The user has closed the socket; what is pending still goes out.
	void close();
	// close() sleeps until its data has left: wake it at every change.
	void set_lingering() { lingering_.store(true, std::memory_order_release); }
	// The user or a violation resets the connection.
	void abort();
	// As abort(), and nothing is expected of the peer any more.
	void give_up();
	// After close(): if the peer is still to be sent anything, @sock's TCP connection stays
	// open for as long, and belongs to this endpoint; @sock has no sock then. Otherwise, or
	// without memory, nothing happens.
	void keep_tcp(struct socket *sock);
	// The handshake is over, and this is the sock's connection: if that has failed meanwhile,
	// the sock is told now. Before, it is not: the handshake may have to go on with TCP.
	void join_sock();
	// The sock hears of nothing any more: it may have another connection soon.
	void leave_sock();
	// The socket gives its reference back next, and must not use it any more.
	void release_from_user();

	[[nodiscard]] std::byte *sndbuf() const { return sndbuf_; }
	[[nodiscard]] std::byte *rmb() const { return rmb_; }
	[[nodiscard]] struct sock *sk() const { return sk_; }
	[[nodiscard]] net *netns() const { return net_; }
	[[nodiscard]] struct smc_counters *counters() const { return counters_; }
	[[nodiscard]] smc_tech tech() const { return tech_; }
	// A copy into the send buffer stopped half-way: what lies there is not all in the stream.
	void note_stray_bytes() { stray_bytes_.store(true, std::memory_order_relaxed); }
	void count(smc_tech_stat stat) const { smc_count(counters_, SMC_STAT_OF(tech(), stat), 1); }
	// @run: SMC_TS_TX_BUF or SMC_TS_RX_BUF.
	void count(smc_tech_stat run, smc_buf_stat stat) const
	{
		smc_count(counters_, SMC_STAT_OF(tech(), run) + static_cast<u32>(stat), 1);
	}
	// A send found no room.
	void note_full()
	{
		full_ = true;
		count(SMC_TS_TX_BUF, SMC_BUF_FULL);
		if (with_lock([](const connection::Connection &conn) {
			    return conn.peer_window_bytes() == 0;
		    }))
			count(SMC_TS_TX_BUF, SMC_BUF_FULL_PEER);
	}
	// Before the next one: a ring that was full and has been read empty made both ends wait
	// for each other. Gets a larger one if the transport can have that.
	void widen_if_full()
	{
		if (full_) [[unlikely]] {
			full_ = false;
			widen();
		}
	}
	// For sock_diag. Process.
	void snapshot(smc_sock_info &info);
	// Hot paths ask this instead of taking the lock.
	// More than @seen_bytes to read, or an end.
	[[nodiscard]] bool ready_to_read(u32 seen_bytes);
	[[nodiscard]] bool ready_to_write();
	// Either side has reset it, or its link is lost.
	[[nodiscard]] bool aborted()
	{
		return with_lock([](connection::Connection &conn) {
			return conn.reset() ||
			       conn.send_status() == connection::SendStatus::kAborted;
		});
	}

	// ---- For the handshake that sets it up (Setup); process ---------------------------------

	// Carries out what the machine wants of the connection. What came of it, unless the
	// observer is told later.
	[[nodiscard]] virtual std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) = 0;
	// The handshake has made a connection of it.
	virtual void established(const handshake::Agreement & /*agreement*/) {}
	// @observer is told nothing any more.
	virtual void unobserve(SetupObserver & /*observer*/) {}
	// No connection came of it; the handshake gives its reference back next. @peer_may_use: see
	// handshake::ReleaseLink.
	virtual void abandon(bool peer_may_use) = 0;
	// The peer, at this end of TCP, says that it does not know the link group.
	virtual void disown_group(const group::TcpAddress & /*from*/) {}

	// ---- For the transport ------------------------------------------------------------------

	// A message of the peer for this connection. Softirq.
	void on_message(const connection::CursorMessage &message);
	// Softirq.
	void on_transmit_complete(const connection::TransmitMarker &marker);
	// There is room to post again. Softirq or process.
	void on_room();
	// The link is gone; the user gets @err unless the connection had ended properly. Any
	// context.
	void on_transport_lost(int err);

	// Departing's.
	void leave() override;

	// Its memory goes: from here on nothing is posted, and no ring is looked into. Any context.
	void detach();

protected:
	// @shared: the lock of both neighbours, which outlives them.
	Endpoint(smc_tech tech, struct sock *sk, shell::SpinLock *shared = nullptr);
	~Endpoint();

	// Takes in what the peer said before conn_ was there. begun_ becomes true under the same
	// lock, so that what comes then does not overtake it.
	void begin(const connection::EarlyMessages &early);
	// Where the rings are; before the first use.
	void set_rings(std::byte *sndbuf, std::byte *rmb)
	{
		sndbuf_ = sndbuf;
		rmb_ = rmb;
	}

	// Both ends are ours: the ring that @writer fills and @reader empties is another one now.
	static void change_ring_locked(Endpoint &writer, Endpoint &reader, std::byte *ring)
		SMC_REQUIRES(writer.lock_, reader.lock_)
	{
		writer.sndbuf_ = ring;
		reader.rmb_ = ring;
	}

	// No ring is there for @writer any more: its reader has gone, and it does not copy.
	static void drop_ring_locked(Endpoint &writer) SMC_REQUIRES(writer.lock_)
	{
		writer.sndbuf_ = nullptr;
	}
	// The user may be copying into the send buffer.
	[[nodiscard]] bool writing_locked() const SMC_REQUIRES(lock_) { return writing_; }
	// Has run() look, soon.
	void look_again_locked() SMC_REQUIRES(lock_) { work_.queue(); }

	// Neighbours have one lock, which clang cannot know.
	void shares_lock_with(const Endpoint &neighbour [[maybe_unused]]) const SMC_REQUIRES(lock_)
		SMC_ASSERT_HELD(neighbour.lock_)
	{
	}
	// It has heard something of its neighbour, which change() settles with what that does.
	void note_heard_locked(u16 events) SMC_REQUIRES(lock_) { heard_events_ |= events; }
	// After a message of the peer. What settle() is to be told.
	[[nodiscard]] u16 take_in_locked(connection::Verdict verdict) SMC_REQUIRES(lock_);
	// Asked by whoever retires it.
	[[nodiscard]] bool detached() const SMC_NO_LOCK_CHECK // nobody else detaches it then
	{
		return detached_;
	}
	// Bytes may lie in the send buffer that were never sent.
	[[nodiscard]] bool stray_bytes() const
	{
		return stray_bytes_.load(std::memory_order_relaxed);
	}

private:
	shell::SpinLock own_lock_{SMC_LOCK_ENDPOINT};

protected:
	shell::SpinLock &lock_;
	connection::Connection conn_ SMC_GUARDED_BY(lock_);
	bool begun_ SMC_GUARDED_BY(lock_) = false; // by begin()
	// The transport, before conn_ had begun.
	bool lost_early_ SMC_GUARDED_BY(lock_) = false;
	// Before the CPU can read the ring.
	bool arrivals_need_sync_ SMC_GUARDED_BY(lock_) = false;
	Endpoint *neighbour_ SMC_GUARDED_BY(lock_) = nullptr; // alive for as long, and under RCU

private:
	// Runs @f() under the lock, which returns events. Whatever came of it, here and at the
	// neighbour, is settled when the lock is free again.
	template <class F>
	void change(F &&f);
	void transmit_locked() SMC_REQUIRES(lock_);
	void limit_cork_locked() SMC_REQUIRES(lock_);
	[[nodiscard]] connection::Verdict
	take_message_locked(const connection::CursorMessage &message) SMC_REQUIRES(lock_);
	[[nodiscard]] u16 hear_message_locked(const connection::CursorMessage &message)
		SMC_REQUIRES(lock_);
	[[nodiscard]] u16 handle_urgent_locked() SMC_REQUIRES(lock_);
	// What settle() is to be told.
	[[nodiscard]] u16 abort_broken_locked() SMC_REQUIRES(lock_);
	void report_locked(int err) SMC_REQUIRES(lock_);
	// From here on nobody reports to the sock.
	void note_left_locked() SMC_REQUIRES(lock_)
	{
		left_.store(true, std::memory_order_release);
	}
	// Wakes and reports; not under the lock.
	void notify(u16 events);
	// Under the lock: is it time for the transport to take everything back?
	[[nodiscard]] bool retire_due() SMC_REQUIRES(lock_);
	void settle(u16 events);
	// Of one that may be given back meanwhile.
	void settle_neighbour(u16 events) SMC_REQUIRES_SHARED(shell::rcu_read_side)
	{
		settle(events);
	}
	void run();
	void arm_locked() SMC_REQUIRES(lock_);
	void depart_locked() SMC_REQUIRES(lock_);
	void make_room();
	void note_resting_locked() SMC_REQUIRES(lock_);
	// How long it is kept without any progress.
	[[nodiscard]] u64 patience_ms_locked() const SMC_REQUIRES(lock_);
	[[nodiscard]] bool overdue_locked() const SMC_REQUIRES(lock_);
	// Until the next look at it.
	[[nodiscard]] u64 look_in_ms_locked() const SMC_REQUIRES(lock_);
	void part_locked() SMC_REQUIRES(lock_);
	void note_progress_locked() SMC_REQUIRES(lock_);

	// ---- What each transport does in its own way --------------------------------------------

	// Sends what the connection has to say, as far as that can go now; the rest when on_room()
	// or the neighbour comes. Under the lock, not after detach().
	virtual void send_locked() SMC_REQUIRES(lock_) = 0;
	// There is a neighbour, and the user has appended @bytes. True if it was told, and that was
	// all there was to say. False, and nothing has happened: the usual way.
	[[nodiscard]] virtual bool pass_locked(u32 /*bytes*/) SMC_REQUIRES(lock_) { return false; }
	// The peer has written these pieces of our ring: makes them what the CPU reads. Where
	// arrivals_need_sync_ is set.
	virtual void sync_arrived_locked(const ring::Segments & /*arrived*/) SMC_REQUIRES(lock_) {}
	// See widen_if_full(). Process, socket lock held.
	virtual void widen() {}
	// The user has let go of it. True if it goes on alone, and holds memory for its peer.
	[[nodiscard]] virtual bool released_locked() SMC_REQUIRES(lock_) = 0;
	// run() begins: what the transport has to look after. Process.
	virtual void look_after() {}
	// Takes back everything that the connection had of the transport, its reference, too.
	// Process.
	virtual void retire() = 0;
	// What sock_diag is to know of the transport.
	virtual void snapshot_transport(smc_sock_info &info) = 0;

	std::byte *sndbuf_ = nullptr;
	std::byte *rmb_ = nullptr;
	struct sock *sk_;
	net *net_;
	struct smc_counters *const counters_; // of net_
	const smc_tech tech_;
	std::atomic<bool> lingering_{false};
	std::atomic<bool> left_{false};              // by the user: nobody is to be told anything
	bool joined_ SMC_GUARDED_BY(lock_) = false;  // the user has the connection
	int unreported_ SMC_GUARDED_BY(lock_) = 0;   // what went wrong before that, or 0
	bool writing_ SMC_GUARDED_BY(lock_) = false; // between take_room() and produce()
	bool full_ = false; // guarded by the socket lock: the last send found no room
	u64 push_ms_ SMC_GUARDED_BY(lock_) = 0; // when the cork gives way; 0: it holds nothing
	bool released_ SMC_GUARDED_BY(lock_) = false; // by the user
	u64 released_ms_ SMC_GUARDED_BY(lock_) = 0;
	// Closed, and TCP's connection below it still open.
	struct socket *tcp_ SMC_GUARDED_BY(lock_) = nullptr;
	u32 departed_bytes_ SMC_GUARDED_BY(lock_) = 0; // its share in what Departed has counted
	// When arm_locked() wants run() to look, at the latest.
	u64 look_ms_ SMC_GUARDED_BY(lock_) = 0;
	bool retiring_ SMC_GUARDED_BY(lock_) = false;
	bool detached_ SMC_GUARDED_BY(lock_) = false;
	u16 heard_events_ SMC_GUARDED_BY(lock_) = 0; // from the neighbour, not settled yet
	std::atomic<bool> stray_bytes_{false};
	// Stream bytes acknowledged at progress_ms_.
	u64 progress_position_ SMC_GUARDED_BY(lock_) = 0;
	u64 progress_ms_ SMC_GUARDED_BY(lock_) = 0;
	shell::CountedWork<Endpoint, &Endpoint::run> work_{*this};
};

} // namespace smc::transport
