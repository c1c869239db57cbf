// SPDX-License-Identifier: GPL-2.0-only
//
// Connection: one SMC connection as bytes and cursors: two rings, the messages that keep both sides
// in step, and the ending. Sans-I/O: it touches no buffer memory, posts nothing and has no clock;
// it says which ranges to copy, what to write to the peer, and what a message from the peer means.
//
// Locking: none inside. The caller holds the connection's lock around every call, and holds it from
// plan_transmit() over the posting to commit_transmit(). User copies need no lock: the segments
// handed out stay valid until the produce() or consume() that follows, provided that there is one
// writer and one reader at a time (the socket lock sees to that).
//
// Sending:     write_segments() → copy → produce() → transmit loop
// Receiving:   on_cdc() → read_segments() → copy → consume() → transmit loop if it returns true
// Transmit:    while (plan_transmit(plan) && post(plan)) commit_transmit(plan);
//              A plan that could not be posted for want of room is not committed, and made again.
// At once:     plan_quickly() → copy → post → commit_quickly(); look_quickly() → copy → consume();
//              each under one hold of the lock. Where they refuse, the ways above.
// In place:    while (saying = speak()) peer.hear(*saying); the peer's ring is the send buffer.
//
// Errors: a message that breaks the protocol gives a Violation and changes nothing; the caller
// counts it and calls abort(). A call against this contract is a bug of ours: it is refused, and
// broken() is set, upon which the caller warns once and aborts.
//
// Source: RFC 7609 (CDC messages, cursors, urgent data, termination of a connection); where it
// leaves room, what Linux's own module does, so that the two understand each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/result.hpp"
#include "core/connection/close_machine.hpp"
#include "core/connection/diagnostics.hpp"
#include "core/connection/message.hpp"
#include "core/connection/receive_ring.hpp"
#include "core/connection/send_ring.hpp"
#include "core/connection/transmit_plan.hpp"
#include "core/connection/urgent.hpp"
#include "core/connection/verdict.hpp"
#include "core/ring/segments.hpp"

namespace smc::connection {

struct Config {
	std::uint32_t sndbuf_size_bytes = 0;   // our send buffer
	std::uint32_t rmb_size_bytes = 0;      // our ring, which the peer writes
	std::uint32_t peer_rmb_size_bytes = 0; // the peer's ring, which we write
	// At most so many bytes are held back to be sent together with later ones (sysctl
	// net.smc.autocorking_size); 0 turns autocorking off.
	std::uint32_t autocorking_size_bytes = 0;
	std::uint32_t local_token = 0;       // ours: the peer's messages carry it
	std::uint32_t peer_token = 0;        // the peer's: our messages carry it
	bool completion_frees_sndbuf = true; // see SendRing::init()
	bool in_place = false;               // ditto; needs sndbuf_size == peer_rmb_size
	bool compact = false; // both ends understand compact messages (core/wire/compact.hpp)
	bool growing = false; // and that rings are replaced (core/wire/cdc.hpp, RingOffer)
};

// How the bytes of a produce() are to leave.
enum class SendHint : std::uint8_t {
	kNormal,
	kMore,   // MSG_MORE: more follows at once, hold if there is room
	kUrgent, // MSG_OOB: the last byte is urgent, all goes out at once
};

// Whether the application may send.
enum class SendStatus : std::uint8_t {
	kOpen,
	kShutdown,   // we have shut down or closed: EPIPE
	kPeerClosed, // the peer reads no more; TCP learns of that when it has sent something
	kAborted,    // either side aborted, or the link is gone: ECONNRESET
};

// What MSG_OOB finds.
enum class UrgentStatus : std::uint8_t {
	kNone, // no urgent byte, already taken, or inline: EINVAL
	kWait, // announced but not here yet: EAGAIN
	kByte, // here it is
};

struct UrgentRead {
	UrgentStatus status = UrgentStatus::kNone;
	std::uint8_t value = 0;
};

// What a read of the stream finds where nothing but bytes counts: no end, no urgent byte, and no
// option that has changed. It takes the piece, and that is all it would get, or all that it asks
// for.
struct QuickLook {
	enum class Found : std::uint8_t {
		kUnusual, // all else: read_segments(), and so on
		kNothing, // yet
		kPiece,
	};
	Found found = Found::kUnusual;
	bool leaves_some = false; // there is more than is asked for
	ring::Segment piece{};
};

// What poll() asks of a connection in its usual state; else `usual` is false.
struct QuickReadiness {
	bool usual = false;
	bool writable = false;
	std::uint32_t readable_bytes = 0;
};

class Connection {
public:
	// Smaller rings are useless; the wire cannot name one below 16 KiB - 32 bytes anyway.
	static constexpr std::uint32_t kMinRingBytes = 64;

	// --- Life --------------------------------------------------------------------------------

	// Starts the connection in ACTIVE with empty rings. False, and still INIT, if a size is out
	// of kMinRingBytes .. ring::kMaxSizeBytes. The object may be used again after finished().
	[[nodiscard]] bool init(const Config &config);

	// --- Sending -----------------------------------------------------------------------------

	[[nodiscard]] SendStatus send_status() const;

	// Bytes that write_segments() could hand out, whatever send_status() says.
	[[nodiscard]] std::uint32_t sndbuf_free_bytes() const { return send_.free_bytes(); }
	// EPOLLOUT, and the point up to which a blocked writer sleeps: at least a third is free.
	[[nodiscard]] bool writable_for_poll() const
	{
		return send_.free_bytes() >= writable_from_bytes_;
	}
	// A good size for one copy of a large send: transmit after each of them, so that the device
	// works while the next one is copied. Each costs a message, and wakes the reader.
	[[nodiscard]] std::uint32_t send_quantum_bytes() const { return quantum_bytes_; }
	// Where the next min(max_bytes, sndbuf_free_bytes()) bytes of the application are to be
	// put.
	[[nodiscard]] ring::Segments write_segments(std::uint32_t max_bytes) const
	{
		return send_.free_segments(max_bytes);
	}
	// The application's next `bytes` bytes have been copied there. They are dropped if the
	// connection has ended meanwhile (see send_status() afterwards). More bytes than are free
	// is a bug of the caller.
	void produce(std::uint32_t bytes, SendHint hint = SendHint::kNormal);
	// A send with MSG_OOB begins: from now on messages announce its urgent byte (0x40). False
	// takes that back, for a send that fails before its last byte.
	void announce_urgent(bool pending);

	// TCP_CORK. Setting holds small amounts until they fill a quarter of the send buffer or it
	// runs short; clearing lets everything go (then transmit).
	void set_corked(bool corked);
	// TCP_CORK or MSG_MORE may hold pending data.
	[[nodiscard]] bool corked() const { return corked_ || more_; }
	// It does.
	[[nodiscard]] bool waits_behind_cork() const
	{
		return send_.pending_bytes() != 0 && held_by_cork(send_.pending_bytes());
	}
	// Everything pending may go now (TCP_NODELAY set, a cork's timer ran out). Then transmit.
	void push();

	// --- Transmit ----------------------------------------------------------------------------

	// Fills `plan` and returns true, or returns false when there is nothing to send now. (Not
	// returned by value: it would be cleared for each message.)
	[[nodiscard]] bool plan_transmit(TransmitPlan &plan) const;
	// The plan's work requests have been posted. `plan` must come from the last plan_transmit()
	// and nothing may have been called in between.
	void commit_transmit(const TransmitPlan &plan);
	// The message of a committed plan has completed, and so has everything posted before it.
	// Plans that were not signalled may be reported as well, also an older one after a newer
	// one.
	Verdict on_transmit_complete(const TransmitMarker &marker);
	// The link is lost and drained: nothing that was posted will be carried out or completed
	// any more, and what came by it has been given to on_cdc(). The next plans are for another
	// link (RFC 7609, 4.6): how many of our messages the peer has certainly got, then all bytes
	// written since, once more and into the same places of its ring, then a message with all
	// cursors and flags. After these the connection goes on as before. Then transmit.
	void fail_over();
	// The link that the peer's messages came by is lost and drained: by another one the peer
	// may write what it has written before once more, until it says there that it has closed.
	void expect_repeats() { peer_may_repeat_ = true; }
	[[nodiscard]] bool peer_may_repeat() const { return peer_may_repeat_; }
	// In place, instead of the three functions above: makes one message, which counts as
	// delivered at once; the caller hands it to the peer's hear(). Nothing if there is nothing
	// to send now.
	[[nodiscard]] std::optional<Saying> speak()
	{
		if (!has_something_to_say())
			return std::nullopt;
		return speak_up();
	}
	// In place, the short way for most messages: @writer's produce() and speak() and @reader's
	// hear() in one step. Returns the events of @reader's Verdict, kReadable at least; 0, and
	// nothing is changed, if the message carries more than bytes and cursors. What @reader has
	// to answer is still to be sent.
	[[nodiscard]] static std::uint16_t pass(Connection &writer, Connection &reader,
						std::uint32_t bytes);
	// True if it would hand them over.
	[[nodiscard]] static bool may_pass(const Connection &writer, const Connection &reader,
					   std::uint32_t bytes);
	// Its two steps, with the copy in between, and nothing else: where the bytes have to lie,
	// in one piece of the ring, if they may be passed; and what pass() does with them then.
	[[nodiscard]] static std::optional<std::uint32_t>
	room_to_pass(const Connection &writer, const Connection &reader, std::uint32_t bytes);
	[[nodiscard]] static std::uint16_t hand_over(Connection &writer, Connection &reader,
						     std::uint32_t bytes);
	// The short way for a small message: what produce() and plan_transmit() would come to for
	// @bytes more, which are to be copied to where the plan has its write.
	[[nodiscard]] QuickWay plan_quickly(std::uint32_t bytes, QuickPlan &plan) const;
	// kSend: as produce() and commit_transmit(). The plan must come from the last
	// plan_quickly(), and nothing may have been called in between.
	void commit_quickly(const QuickPlan &plan);
	// False if there is certainly nothing to transmit; cheaper than plan_transmit(). To be
	// asked after each message and completion.
	[[nodiscard]] bool has_something_to_say() const
	{
		return send_.pending_bytes() != 0 || update_due_ || completion_requested_ ||
		       close_.owed_flags() != close_.sent_flags() || failover_ != Failover::kNone;
	}
	// The next message will be signalled, an empty one is sent if need be: its completion says
	// when the outstanding bytes have left (SIOCOUTQ, waiting for the buffers to be idle).
	void request_completion();

	// --- Another send buffer -----------------------------------------------------------------

	// Nothing in the send buffer is needed any more, and no work request reads it: until
	// replace_send_buffer() its memory may belong to somebody else. request_completion() brings
	// the latter about.
	[[nodiscard]] bool send_buffer_is_idle() const
	{
		return send_.used_bytes() == 0 && transmit_idle();
	}
	// The send buffer begins anew, with @size_bytes. False, and nothing is changed, if bytes of
	// it are needed, or the size is out of bounds. Not in place. @borrowed: others may wait for
	// it, so it takes what the peer has room for, and nothing that would lie there for as long
	// as the peer likes.
	[[nodiscard]] bool replace_send_buffer(std::uint32_t size_bytes, bool borrowed = false);
	// A borrowed one would be of use.
	[[nodiscard]] bool may_borrow() const { return peer_room_bytes() >= crumb_bytes_; }
	// The connection is not writable before it may borrow one, or gets one of its own.
	void await_peer_room();
	[[nodiscard]] bool awaits_peer_room() const { return awaits_ == Awaits::kPeerRoom; }
	// write_segments(), which hands out nothing of a borrowed one, for that.
	[[nodiscard]] ring::Segments borrowed_segments(std::uint32_t max_bytes);
	// There is no memory for it: the connection is not writable before it is replaced, or worth
	// another try.
	void note_send_buffer_lacks() { writable_from_bytes_ = kNeverWritable; }
	[[nodiscard]] bool send_buffer_lacks() const
	{
		return writable_from_bytes_ == kNeverWritable;
	}
	void try_send_buffer_again() { set_send_limits(); }

	// --- A larger ring (ring_change.cc) ------------------------------------------------------
	//
	// Only with Config::growing. Whoever receives offers it, the peer goes on in it as soon as
	// it knows that the ring before is empty, at the same cursors, and says so in the message
	// (CursorMessage::ring).

	// The peer had filled our ring, and the reader has read it empty: each has waited for the
	// other. Once for each time.
	[[nodiscard]] bool take_ran_empty() { return std::exchange(ran_empty_, false); }
	// Offers a ring of @size_bytes, with each message that is not compact, until the peer uses
	// it: event::kNewRing. Then transmit. False, and nothing is changed, if it is not larger,
	// another one is on offer, or the connection does not take data any more.
	[[nodiscard]] bool offer_ring(std::uint32_t size_bytes);
	// Our ring: the first one is 0.
	[[nodiscard]] std::uint8_t ring() const { return ring_; }
	// The one that is on offer, or 0.
	[[nodiscard]] std::uint32_t offered_ring_bytes() const { return offered_ring_bytes_; }

	// The peer's offer would be of use.
	[[nodiscard]] bool wants_peer_ring(std::uint32_t size_bytes) const;
	// It has been made ready: we go on in it when ring_change_due(). Needs wants_peer_ring().
	void take_peer_ring(std::uint32_t size_bytes) { next_peer_ring_bytes_ = size_bytes; }
	// It cannot be used after all.
	void drop_peer_ring() { next_peer_ring_bytes_ = 0; }
	[[nodiscard]] bool ring_change_due() const
	{
		return next_peer_ring_bytes_ != 0 && send_.unacknowledged_bytes() == 0 &&
		       failover_ == Failover::kNone && send_status() == SendStatus::kOpen;
	}
	// All plans from here on are for it. Needs ring_change_due().
	void change_peer_ring();

	// The writer would have a larger send buffer: the connection is not writable before
	// send_buffer_is_idle(), which each message brings about from here on. Then transmit. False
	// if it is idle.
	[[nodiscard]] bool await_idle_send_buffer();

	// --- Another ring, in place --------------------------------------------------------------

	// True if the ring that @writer fills and @reader empties may be replaced by another one
	// now: it is empty, so nobody copies, and both ends know all cursors.
	[[nodiscard]] static bool ring_is_replaceable(const Connection &writer,
						      const Connection &reader)
	{
		return writer.send_.in_place() && writer.send_status() == SendStatus::kOpen &&
		       writer.send_.pending_bytes() == 0 && writer.writable_for_poll() &&
		       reader.receive_.stored_bytes() == 0;
	}
	// Both ends begin at the start of a new ring of @size_bytes. False, and nothing is changed,
	// if the ring is not replaceable. One lock covers both ends.
	[[nodiscard]] static bool replace_ring(Connection &writer, Connection &reader,
					       std::uint32_t size_bytes);

	// --- Receiving ---------------------------------------------------------------------------

	// An SMC-R message that carried our token, in the order of arrival.
	Verdict on_cdc(const CursorMessage &message);
	// A compact one. Only to a connection that has Config::compact.
	Verdict on_cdc(const CompactMessage &message);
	// The short way for it: what on_cdc() would come to, where that is new bytes, and
	// consumption. Returns the events, kReadable at least; 0, and nothing is changed, if there
	// is more to look at.
	[[nodiscard]] std::uint16_t hear_quickly(CompactMessage message);
	// What a compact message says that came behind @before, which has not been taken in yet.
	// Nothing if one of them cannot be right.
	[[nodiscard]] std::optional<CursorMessage> in_full(const CompactMessage &message,
							   const CursorMessage &before) const;
	// The same for a message without sequence number and failover flag (SMC-D).
	Verdict on_cursors(const CursorMessage &message);
	// A message of the peer's speak(). It comes from this code, not from a wire, so its byte
	// counts are only checked against what would do harm.
	Verdict hear(const Saying &saying);

	// All bytes that the peer has announced so far, and where the last `bytes` of them lie.
	// Needs bytes <= the ring's size.
	[[nodiscard]] std::uint64_t received_bytes() const { return receive_.received_bytes(); }
	[[nodiscard]] ring::Segments newest_segments(std::uint32_t bytes) const
	{
		return receive_.newest_segments(bytes);
	}

	// Bytes that the application can read. An urgent byte out of line is not counted.
	[[nodiscard]] std::uint32_t readable_bytes() const
	{
		return readable_bytes(urgent_inline_);
	}
	// For a caller that is not the reader and so cannot set SO_OOBINLINE: as if it were set so.
	[[nodiscard]] std::uint32_t readable_bytes(bool urgent_inline) const;
	// The next bytes to read, after `skip_bytes` of them (MSG_PEEK with an offset), at most
	// `max_bytes` and not across the urgent mark.
	[[nodiscard]] ring::Segments read_segments(std::uint32_t max_bytes,
						   std::uint32_t skip_bytes = 0) const;
	// The short way of a read: see QuickLook.
	[[nodiscard]] QuickLook look_quickly(std::uint32_t max_bytes,
					     std::size_t content_with_bytes,
					     bool urgent_inline) const;
	// consume() of the piece that the last look_quickly() has found. True: transmit.
	[[nodiscard]] bool consume_quickly(std::uint32_t bytes);
	[[nodiscard]] QuickReadiness ready_quickly() const;
	// The same for MSG_PEEK, which may begin at the urgent mark or behind it and then goes on
	// there; `skip_bytes` do not count an urgent byte out of line.
	[[nodiscard]] ring::Segments peek_segments(std::uint32_t max_bytes,
						   std::uint32_t skip_bytes) const;
	// FIONREAD and SIOCINQ: as on TCP, what can be read up to the urgent mark.
	[[nodiscard]] std::uint32_t inquired_bytes() const
	{
		return inquired_bytes(urgent_inline_);
	}
	[[nodiscard]] std::uint32_t inquired_bytes(bool urgent_inline) const;
	// The peer can send nothing until the application takes something: its window is smaller
	// than what it writes at once (see transmittable_bytes()), or, in place, than its writer
	// waits for.
	[[nodiscard]] bool waits_for_reader() const
	{
		return receive_.confirmed_free_bytes() <
		       receive_.size_bytes() / (send_.in_place() ? 3 : 8);
	}
	// The application has taken `bytes` bytes. True if the caller is to transmit, to tell the
	// peer, or if broken(): then none of the ring's bytes is handed out again.
	[[nodiscard]] bool consume(std::uint32_t bytes);

	// Nothing to read, and nothing will come. False while the peer's write-blocked flag says
	// that it has data left although it has announced its end (the kernel's own module does so
	// after 2 s).
	[[nodiscard]] bool at_eof(std::uint32_t seen_bytes = 0) const
	{
		return close_.peer_finished_sending() && readable_bytes() <= seen_bytes &&
		       !eof_withheld();
	}
	// at_eof(), and the peer meant that end (done or closed). Stays true if a reset comes
	// later, but not if data does.
	[[nodiscard]] bool at_orderly_end(std::uint32_t seen_bytes = 0) const
	{
		return close_.peer_ended_in_order() && readable_bytes() <= seen_bytes &&
		       (gave_up_withheld_ || !peer_is_blocked());
	}
	// at_eof() is false only because the peer's write-blocked flag announces more data. The
	// caller gives up after about a second without data: Linux's own module also leaves the
	// flag set when its last write happened to fill our ring exactly, and then nothing comes. A
	// peer that does have data sends it as soon as it hears, at once, that the ring has been
	// read empty.
	[[nodiscard]] bool eof_withheld() const;
	void give_up_withheld_data() { gave_up_withheld_ = true; }
	// eof_withheld(), and the peer has been sent word that the ring has been read empty: the
	// bytes that it has sent. If they are no more when it certainly has that message, none will
	// come.
	[[nodiscard]] std::optional<std::uint64_t> withheld_at_bytes() const
	{
		if (!eof_withheld() || receive_.unconfirmed_bytes() != 0 || has_something_to_say())
			return std::nullopt;
		return receive_.received_bytes();
	}

	// --- Urgent data (MSG_OOB) ---------------------------------------------------------------

	// SO_OOBINLINE. Only while the reader holds no segments: a byte at which it stands may
	// leave the stream by this, and then the peer must be told (true: transmit). Also for a
	// caller that has event::kUrgent and has yet to call store_urgent().
	[[nodiscard]] bool set_urgent_inline(bool urgent_inline)
	{
		return urgent_inline != urgent_inline_ && change_urgent_inline(urgent_inline);
	}
	// event::kUrgent: ring offset of the urgent byte. The caller reads it and calls
	// store_urgent() under the same hold of the lock.
	[[nodiscard]] std::uint32_t urgent_offset_bytes() const;
	void store_urgent(std::uint8_t value);
	// MSG_OOB; with `peek` the byte stays.
	[[nodiscard]] UrgentRead take_urgent(bool peek);
	// EPOLLPRI: an urgent byte has come, and the reader has not passed it.
	[[nodiscard]] bool urgent_for_poll() const
	{
		return urgent_rx_.state() == UrgentReceiver::State::kValid;
	}
	// SIOCATMARK: the reader stands at the urgent byte.
	[[nodiscard]] bool at_mark() const;
	// The urgent mark lies exactly `bytes` ahead of the reader: a read or a peek that has data
	// ends there.
	[[nodiscard]] bool mark_is_ahead(std::uint32_t bytes) const;
	// The reader at the mark wants more, and nothing has come behind it: as on TCP, it passes
	// the urgent byte.
	void leave_mark();

	// --- Ending ------------------------------------------------------------------------------

	// shutdown(SHUT_WR). The flag goes out behind the last byte. Then transmit.
	void shutdown_write();
	// shutdown_write(), and reading has been shut down, too. Data that is there can still be
	// read; as on TCP, data that comes later ends in an abort.
	void refuse_data()
	{
		refuses_data_ = true;
		data_due_ = false;
	}
	// close(). With unread data it is an abort, as on TCP; data that arrives later is dropped.
	// Pending data goes out first, then the flag. Then transmit.
	void close();
	// Reset: drops pending data, and the abnormal-close flag goes out at once. Then transmit.
	void abort();
	// abort() without waiting for the peer's answer: finished. The flag still goes out, and
	// posted work completes. Then transmit.
	void give_up();
	// The link is lost: nothing more goes out or comes in.
	void transport_lost();
	// After close(): the peer still lacks data, or our closing flag. An abort counts as
	// delivered only once it has completed: an orderly end of TCP would hide it from a peer
	// that a dead link keeps it from.
	[[nodiscard]] bool owes() const
	{
		return !finished() && !reset() &&
		       (unsent_bytes() != 0 || closing_flag_owed() ||
			(close_.locally_aborted() && !transmit_idle()));
	}
	// After close(): all data is written, and the closing flag is sent.
	[[nodiscard]] bool all_said() const
	{
		return (close_.sent_flags() & state_flag::kClosed) != 0 && unsent_bytes() == 0;
	}
	// After close(): nothing is left to send; the connection only waits for the peer's closing
	// flag.
	[[nodiscard]] bool waits_for_peer() const
	{
		return !finished() && unsent_bytes() == 0 && !closing_flag_owed();
	}
	// After all_said(): finished, though the peer has not closed yet. The peer gets no message:
	// it has lost nothing, and may still be reading.
	void leave() { close_.give_up(); }

	[[nodiscard]] State state() const { return close_.state(); }
	// The peer or the loss of the link ended it: ECONNRESET for the application, once it has
	// read what is there.
	[[nodiscard]] bool reset() const
	{
		return (close_.peer_flags() & state_flag::kAborted) != 0 || close_.lost();
	}
	// Each side has announced the end of its stream.
	[[nodiscard]] bool both_ended() const
	{
		return close_.peer_ended_in_order() &&
		       (close_.sent_flags() & state_flag::kAnyEnd) != 0;
	}
	// Each side has closed in order: both have sent and received all there was, and nobody is
	// left at either end.
	[[nodiscard]] bool both_closed_in_order() const { return close_.both_closed_in_order(); }
	// The link was lost before both_ended(), or before the peer is known to have heard of our
	// end: it may still wait for that, or for our bytes. Not after leave(), nor after a close()
	// that the peer has heard of: it waits for nothing.
	[[nodiscard]] bool broken_off() const
	{
		const bool heard = transmit_idle();
		const bool has_left = all_said() && (heard || !close_.link_lost());

		return close_.lost() && !has_left && !(both_ended() && heard);
	}
	// As on TCP: a writer that had already met the end of the peer's stream gets EPIPE, not
	// ECONNRESET.
	[[nodiscard]] bool reset_breaks_pipe() const
	{
		return close_.peer_ended_in_order() &&
		       (close_.owed_flags() & state_flag::kAnyEnd) == 0;
	}
	[[nodiscard]] bool peer_finished_sending() const { return close_.peer_finished_sending(); }
	// The peer has sent closed or aborted: it waits for nothing but our closing flag.
	[[nodiscard]] bool peer_closed() const
	{
		return (close_.peer_flags() & state_flag::kAnyClose) != 0;
	}
	// Both sides have sent and received closed or aborted: the peer will not touch our ring any
	// more and expects no message. Only now may the ring's memory be given back.
	[[nodiscard]] bool finished() const { return close_.finished(); }
	// All that was committed has completed, so no work request still reads the send buffer.
	// request_completion() brings it about.
	[[nodiscard]] bool transmit_idle() const
	{
		return completed_messages_ == sent_messages_ && failover_ == Failover::kNone;
	}
	// Both rings may be given back as far as this connection goes: it is finished, and no
	// posted work is left (its completion is certain as long as the link is there). After
	// transport_lost() the caller waits until the queue pair is drained instead.
	[[nodiscard]] bool releasable() const
	{
		return finished() && (close_.link_lost() || transmit_idle());
	}
	// A closing flag is owed to the peer and has not gone out.
	[[nodiscard]] bool closing_flag_owed() const
	{
		return (close_.owed_flags() & ~close_.sent_flags()) != 0 && close_.may_transmit();
	}
	[[nodiscard]] bool broken() const { return broken_ || close_.broken(); }

	// --- Accounts ----------------------------------------------------------------------------

	[[nodiscard]] std::uint32_t local_token() const { return local_token_; }
	[[nodiscard]] std::uint32_t peer_token() const { return peer_token_; }
	// Appended, and not known to have reached the peer.
	[[nodiscard]] std::uint32_t undelivered_bytes() const { return send_.undelivered_bytes(); }
	// SIOCOUTQ, SIOCOUTQNSD.
	[[nodiscard]] std::uint32_t queued_bytes() const { return send_.queued_bytes(); }
	[[nodiscard]] std::uint32_t queued_unsent_bytes() const
	{
		return send_.queued_unsent_bytes();
	}
	[[nodiscard]] std::uint32_t sndbuf_size_bytes() const { return send_.size_bytes(); }
	// Of the whole stream.
	[[nodiscard]] std::uint64_t appended_bytes() const { return send_.appended_bytes(); }
	[[nodiscard]] std::uint32_t peer_rmb_size_bytes() const { return send_.peer_size_bytes(); }
	[[nodiscard]] std::uint32_t rmb_size_bytes() const { return receive_.size_bytes(); }
	[[nodiscard]] std::uint32_t unsent_bytes() const { return send_.pending_bytes(); }
	[[nodiscard]] std::uint32_t peer_window_bytes() const { return send_.window_bytes(); }
	// So many bytes from the start of our ring have to be zeroed before others may see it.
	// After an abort it is the whole ring: nobody has looked since how far the peer wrote.
	[[nodiscard]] std::uint32_t high_water_bytes() const
	{
		return close_.locally_aborted() ? receive_.size_bytes()
						: receive_.high_water_bytes();
	}
	// The last message and byte known to have been delivered: where a failover continues.
	[[nodiscard]] TransmitMarker last_completed() const
	{
		return {send_.completed_bytes(), completed_messages_};
	}
	[[nodiscard]] Diagnostics diagnostics() const;

private:
	static constexpr std::uint32_t kNeverWritable = ~std::uint32_t{0};
	static constexpr std::uint8_t kIdleTicksPerStep = 16;
	static constexpr std::uint8_t kIdleTicksMax = 4 * kIdleTicksPerStep;

	// The next message, if one is due.
	struct Outgoing {
		bool due;
		std::uint8_t state_flags;
		std::uint32_t write_bytes;
	};
	// Bytes that a message of the peer reports as produced and consumed since the one before.
	struct Progress {
		std::uint32_t produced_bytes;
		std::uint32_t consumed_bytes;
	};

	[[nodiscard]] std::uint32_t transmittable_bytes() const;
	[[nodiscard]] bool held(std::uint32_t pending_bytes) const;
	[[nodiscard]] bool held_for_clock(std::uint32_t pending_bytes) const;
	[[nodiscard]] bool held_by_cork(std::uint32_t pending_bytes) const;
	// The peer's newest message says that it has more data than our ring has room for.
	[[nodiscard]] bool peer_is_blocked() const
	{
		return (peer_producer_flags_ & producer_flag::kWriteBlocked) != 0;
	}
	[[nodiscard]] bool passes(std::uint32_t bytes) const;
	[[nodiscard]] bool appends_quickly(std::uint32_t bytes) const;
	[[nodiscard]] bool sends_quickly(std::uint32_t bytes) const;
	[[nodiscard]] Outgoing choose() const;
	[[nodiscard]] CursorMessage message(ring::Cursor producer, std::uint32_t write_bytes,
					    std::uint8_t state_flags) const;
	[[nodiscard]] bool fits_compact(const TransmitPlan &plan) const;
	// What it says, or nothing if one of its counts is larger than a ring.
	// @before: the message before it, whose cursors are inside of the rings; ours has that
	// size.
	[[nodiscard]] std::optional<Saying> expand(const CompactMessage &message,
						   const CursorMessage &before,
						   std::uint32_t ring_size_bytes) const;
	[[nodiscard]] Verdict weigh(const Saying &saying);
	void mark_sent(const CursorMessage &message, std::uint32_t write_bytes);
	[[nodiscard]] std::optional<Saying> speak_up();
	// Those of the peer's messages.
	[[nodiscard]] bool cursors_count() const
	{
		return close_.started() && !close_.finished() && !close_.locally_aborted();
	}
	// The verdict on a message whose cursors do not count any more; its flags are applied.
	// Nothing if they do count.
	[[nodiscard]] std::optional<Verdict> dismiss(const CursorMessage &message);
	// Returns the events that this causes.
	[[nodiscard]] std::uint16_t take_in(const CursorMessage &message,
					    std::uint32_t produced_bytes,
					    std::uint32_t consumed_bytes);
	// The verdict on a message whose data is refused; nothing if it is taken.
	[[nodiscard]] std::optional<Verdict> refuse_data_of(const CursorMessage &message);
	[[nodiscard]] bool must_signal(std::uint32_t write_bytes, std::uint8_t state_flags) const;
	// The peer is to be told of the room that our reader has made: it asks for that, or has no
	// more than so many bytes left.
	[[nodiscard]] bool update_due(std::uint32_t room_short_bytes) const;
	// The reader has taken something.
	void note_read();
	[[nodiscard]] bool clock_running() const
	{
		return last_signalled_message_ > completed_messages_;
	}
	[[nodiscard]] bool tick_is_due() const;
	void note_tick();
	[[nodiscard]] std::uint32_t readable_to_mark_bytes() const;
	// Of the peer's ring, for what is not in the send buffer yet. Only where what is there has
	// room: in an empty one, or a borrowed one.
	[[nodiscard]] std::uint32_t peer_room_bytes() const
	{
		return send_.window_bytes() - send_.pending_bytes();
	}
	void set_send_limits();
	void set_peer_limits();
	void set_receive_limits();
	Verdict on_failover_validation(std::int16_t ahead);
	// The peer says that it writes to another ring. False if it must not.
	[[nodiscard]] bool enter_ring(std::uint8_t ring);
	// The size of ours with that number; nothing if there is none.
	[[nodiscard]] std::optional<std::uint32_t> ring_bytes(std::uint8_t ring) const;
	// failover.cc
	void plan_failover(TransmitPlan &plan) const;
	void commit_failover(const TransmitPlan &plan);
	// Where the next plan that repeats bytes ends.
	[[nodiscard]] std::uint64_t repeat_to_bytes() const;
	[[nodiscard]] bool urgent_is_lost() const;
	// Splits @bytes that lie at these places of the two rings.
	void plan_writes(TransmitPlan &plan, ring::Cursor from, ring::Cursor to,
			 std::uint32_t bytes) const;
	[[nodiscard]] std::uint8_t producer_flags(std::uint32_t write_bytes,
						  std::uint8_t state_flags) const;
	[[nodiscard]] Result<Progress, Violation> check(const CursorMessage &message) const;
	[[nodiscard]] Violation classify_producer(const ring::Cursor &producer) const;
	[[nodiscard]] Violation classify_consumer(const ring::Cursor &consumer) const;
	[[nodiscard]] bool change_urgent_inline(bool urgent_inline);
	void reader_moved();
	void skip_urgent_byte();
	// Returns the events that they cause.
	[[nodiscard]] std::uint16_t take_in_urgent_flags(const CursorMessage &message,
							 std::uint32_t produced_bytes);
	[[nodiscard]] std::uint16_t take_in_state_flags(std::uint8_t state_flags);
	// Ends the wait of await_idle_send_buffer(), and of await_peer_room().
	void look_for_idle()
	{
		if (awaits_ == Awaits::kNothing) [[likely]]
			return;
		if (awaits_ == Awaits::kIdle ? send_buffer_is_idle() : may_borrow())
			set_send_limits();
	}
	// Returns kReleasable, once.
	[[nodiscard]] std::uint16_t tell_if_releasable();
	void drop_received_data();
	void drop_pending_data();

	SendRing send_{};
	ReceiveRing receive_{};

	// Messages are counted in 64 bits; the wire's sequence is the low 16 bits.
	std::uint64_t sent_messages_ = 0;
	std::uint64_t completed_messages_ = 0;
	std::uint64_t last_signalled_message_ = 0;
	std::uint64_t last_signalled_bytes_ = 0;

	std::uint32_t peer_token_ = 0;
	std::uint32_t quantum_bytes_ = 0;        // see send_quantum_bytes()
	std::uint32_t quarter_bytes_ = 0;        // of the send buffer
	std::uint32_t writable_from_bytes_ = 0;  // a third of it
	std::uint32_t autocork_max_bytes_ = 0;   // Config::autocorking_size_bytes
	std::uint32_t autocork_bytes_ = 0;       // pending data up to this waits for the clock
	std::uint32_t crumb_bytes_ = 0;          // windows below this are not worth a write
	std::uint32_t update_floor_bytes_ = 0;   // consumption up to this is never worth a message
	std::uint32_t update_above_bytes_ = 0;   // above this it is, when the peer's room is short
	std::uint16_t peer_sequence_ = 0;        // of the newest message
	std::uint8_t peer_producer_flags_ = 0;   // of the newest message
	std::uint8_t sent_producer_flags_ = 0;   // of our newest message
	std::uint8_t idle_ticks_ = 0;            // of the clock, in a row, that nothing waited for
	std::uint8_t ring_ = 0;                  // ours: how many there were before
	std::uint8_t peer_ring_ = 0;             // the peer's
	std::uint32_t offered_ring_bytes_ = 0;   // a larger one of ours; 0: none is on offer
	std::uint32_t next_peer_ring_bytes_ = 0; // of the peer's; 0: none

	// What goes out next after fail_over().
	enum class Failover : std::uint8_t {
		kNone,
		kValidation,
		kRepeat,
	};
	Failover failover_ = Failover::kNone;
	enum class Awaits : std::uint8_t {
		kNothing,
		kIdle,     // see await_idle_send_buffer()
		kPeerRoom, // see await_peer_room()
	};
	bool compact_ = false;              // Config::compact
	bool growing_ = false;              // Config::growing
	bool ran_empty_ = false;            // see take_ran_empty()
	Awaits awaits_ = Awaits::kNothing;  // before it is writable again
	bool borrowed_ = false;             // the send buffer; or the next one, while it has none
	bool rings_told_ = true;            // a message has said peer_ring_, and our offer
	bool heard_ = false;                // a message of the peer, on this link
	bool update_due_ = false;           // a message must go out for its consumer cursor
	bool completion_requested_ = false; // the next one must be signalled
	bool corked_ = false;               // TCP_CORK
	bool more_ = false;                 // last produce() said kMore
	bool push_ = false;                 // nothing is held until all has gone
	bool urgent_inline_ = false;        // SO_OOBINLINE
	bool peer_failed_over_ = false;     // has sent a validation: may repeat messages
	bool peer_may_repeat_ = false;      // see expect_repeats()
	bool refuses_data_ = false;
	bool data_due_ = true; // the peer has not announced its end, and we do not refuse its data
	bool gave_up_withheld_ = false;
	bool release_told_ = false; // kReleasable has been reported
	bool broken_ = false;

	std::uint64_t known_messages_ = 0;     // at the last fail_over(): really completed
	std::uint64_t abandoned_messages_ = 0; // at the last fail_over(): sent
	std::uint64_t repeated_bytes_ = 0;     // after it: up to this stream position
	std::uint64_t urgent_message_ = 0;     // ours that brought the newest urgent byte
	std::uint64_t urgent_end_bytes_ = 0;   // the stream position behind that byte
	UrgentSender urgent_tx_{};
	UrgentReceiver urgent_rx_{};
	CloseMachine close_{};
	std::uint32_t local_token_ = 0;
	std::uint64_t stale_messages_ = 0;
	std::uint64_t written_again_bytes_ = 0;
};

} // namespace smc::connection

#include "core/connection/hot_path.hpp"
#include "core/connection/quick_path.hpp"
