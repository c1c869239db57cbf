// SPDX-License-Identifier: GPL-2.0-only
//
// The bodies of Connection's functions that run for every message, in a header so that the callers
// can have them inlined. Include core/connection/connection.hpp, not this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/connection/connection.hpp"
#include "core/wire/compact.hpp"

namespace smc::connection {

inline SendStatus Connection::send_status() const
{
	if (close_.active()) [[likely]]
		return SendStatus::kOpen;
	if (close_.lost() || close_.locally_aborted())
		return SendStatus::kAborted; // a peer's abort makes us abort as well
	if (!close_.started() || close_.owed_flags() != 0)
		return SendStatus::kShutdown;
	if (!close_.may_send())
		return SendStatus::kPeerClosed;
	return SendStatus::kOpen;
}

inline void Connection::produce(std::uint32_t bytes, SendHint hint)
{
	if (bytes == 0 || !close_.may_send())
		return;
	if (bytes > send_.free_bytes()) {
		broken_ = true;
		return;
	}
	send_.append(bytes);
	more_ = hint == SendHint::kMore;
	if (hint == SendHint::kUrgent) {
		urgent_tx_.mark(send_.appended_bytes());
		push_ = true;
	}
}

inline bool Connection::held_by_cork(std::uint32_t pending_bytes) const
{
	return (corked_ || more_) && !push_ && pending_bytes < quarter_bytes_ &&
	       writable_for_poll();
}

inline bool Connection::held_for_clock(std::uint32_t pending_bytes) const
{
	return pending_bytes <= autocork_bytes_ && clock_running() && send_.outstanding();
}

// True if small data waits for more to be sent with it. Each wait ends by itself: a completion
// comes, or the application sends more, takes off the cork, or ends.
inline bool Connection::held(std::uint32_t pending_bytes) const
{
	if (push_)
		return false;
	return held_by_cork(pending_bytes) || held_for_clock(pending_bytes);
}

inline std::uint32_t Connection::transmittable_bytes() const
{
	const std::uint32_t pending_bytes = send_.pending_bytes();
	if (pending_bytes == 0)
		return 0;
	std::uint32_t bytes = std::min(pending_bytes, send_.window_bytes());

	// A peer whose ring is full makes room in large steps; smaller amounts, which come along
	// with its own data, are left to gather. They do gather: a ring that has been read empty is
	// always confirmed.
	if (bytes < pending_bytes && bytes < crumb_bytes_)
		return 0;
	if (held(pending_bytes))
		return 0;
	if (urgent_tx_.marked()) {
		// The producer cursor has to stop just past the urgent byte.
		const std::uint64_t to_mark_bytes = urgent_tx_.end_bytes() - send_.sent_bytes();
		bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, to_mark_bytes));
	}
	return bytes;
}

// Where nothing has waited for many ticks of the clock in a row, the device is done before the
// application sends again: then one message in two, four, ... sixteen has a tick.
inline bool Connection::tick_is_due() const
{
	const std::uint64_t messages = sent_messages_ + 1 - last_signalled_message_;

	return messages >= 1U << (idle_ticks_ / kIdleTicksPerStep);
}

inline void Connection::note_tick()
{
	if (send_.pending_bytes() != 0)
		idle_ticks_ = 0;
	else if (idle_ticks_ < kIdleTicksMax)
		idle_ticks_++;
}

// A completion costs the device and us, so most messages are not signalled. A signal is wanted to
// learn when the send buffer is free: as the clock that paces coalescing, while the peer has not
// read everything before (then this may be a stream, and not an answer, which tells that by its
// cursor), more than half of the buffer later at the latest, and for everything that belongs to the
// end.
inline bool Connection::must_signal(std::uint32_t write_bytes, std::uint8_t state_flags) const
{
	if (completion_requested_ || awaits_ != Awaits::kNothing ||
	    state_flags != close_.sent_flags() || (state_flags & state_flag::kAnyClose) != 0)
		return true;
	if (write_bytes == 0)
		return false;
	if (send_.unacknowledged_bytes() != 0 && !clock_running() && tick_is_due())
		return true;
	const std::uint64_t known_bytes =
		std::max(last_signalled_bytes_, send_.acknowledged_bytes());
	return send_.sent_bytes() + write_bytes - known_bytes > send_.size_bytes() / 2;
}

inline std::uint8_t Connection::producer_flags(std::uint32_t write_bytes,
					       std::uint8_t state_flags) const
{
	std::uint8_t flags = urgent_tx_.flags(send_.sent_bytes() + write_bytes);
	const std::uint32_t pending_bytes = send_.pending_bytes();

	// No data follows a closing flag, and a careful peer must be able to rely on that.
	if (pending_bytes != 0 && pending_bytes >= send_.window_bytes() && state_flags == 0)
		flags |= producer_flag::kWriteBlocked;
	// Where only the peer's cursor frees the send buffer, it has to come before the buffer is
	// full, however much room is left in the peer's ring.
	if (!send_.completion_frees() && send_.used_bytes() > send_.size_bytes() / 2)
		flags |= producer_flag::kConsumerUpdateWanted;
	return flags;
}

// The next message: how many bytes, and which flags.
inline Connection::Outgoing Connection::choose() const
{
	if (!close_.may_transmit())
		return {};
	const std::uint32_t write_bytes = transmittable_bytes();
	const std::uint8_t state_flags = close_.ready_flags(write_bytes == send_.pending_bytes());

	return {.due = write_bytes != 0 || update_due_ || completion_requested_ ||
		       state_flags != close_.sent_flags(),
		.state_flags = state_flags,
		.write_bytes = write_bytes};
}

inline CursorMessage Connection::message(ring::Cursor producer, std::uint32_t write_bytes,
					 std::uint8_t state_flags) const
{
	return {.sequence = static_cast<std::uint16_t>(sent_messages_ + 1),
		.token = peer_token_,
		.producer = producer,
		.consumer = receive_.consumer(),
		.producer_flags = producer_flags(write_bytes, state_flags),
		.state_flags = state_flags,
		.ring = peer_ring_,
		.offers_ring = offered_ring_bytes_ != 0};
}

inline void Connection::plan_writes(TransmitPlan &plan, ring::Cursor from, ring::Cursor to,
				    std::uint32_t bytes) const
{
	plan.write_count = 0;
	while (bytes != 0) {
		const std::uint32_t piece_bytes = std::min({bytes, send_.size_bytes() - from.count,
							    send_.peer_size_bytes() - to.count});
		plan.writes[plan.write_count++] = {from.count, to.count, piece_bytes};
		from = ring::advance(from, piece_bytes, send_.size_bytes());
		to = ring::advance(to, piece_bytes, send_.peer_size_bytes());
		bytes -= piece_bytes;
	}
}

inline bool Connection::plan_transmit(TransmitPlan &plan) const
{
	if (!has_something_to_say())
		return false;
	if (failover_ != Failover::kNone) [[unlikely]] {
		plan_failover(plan);
		return true;
	}
	const auto [due, state_flags, write_bytes] = choose();
	if (!due)
		return false;

	plan_writes(plan, send_.sent(), send_.producer(), write_bytes);
	plan.write_bytes = write_bytes;
	plan.marker = {send_.sent_bytes() + write_bytes, sent_messages_ + 1};
	plan.message =
		message(ring::advance(send_.producer(), write_bytes, send_.peer_size_bytes()),
			write_bytes, state_flags);
	plan.signal = must_signal(write_bytes, state_flags);
	plan.compact = compact_ && fits_compact(plan);
	if (plan.compact)
		plan.brief = {
			.written_bytes = plan.writes[plan.write_count - 1].length_bytes,
			.consumed_bytes = receive_.unconfirmed_bytes(),
			.wrapped = plan.write_count == 2,
			.write_blocked =
				(plan.message.producer_flags & producer_flag::kWriteBlocked) != 0,
		};
	return true;
}

// Everything but bytes and cursors takes the long form, and so does what an RDMA write with its
// length cannot say: no bytes, or writes that are cut where our send buffer ends. Before we have
// heard from the peer on this link, it may not have begun there: then it keeps its messages for
// later, which only a message that stands alone allows.
inline bool Connection::fits_compact(const TransmitPlan &plan) const
{
	constexpr auto unsayable = static_cast<std::uint8_t>(~producer_flag::kWriteBlocked);

	return heard_ && rings_told_ && (plan.message.producer_flags & unsayable) == 0 &&
	       plan.message.state_flags == 0 &&
	       receive_.unconfirmed_bytes() <= wire::kCompactConsumedMaxBytes &&
	       (plan.write_count == 1 ||
		(plan.write_count == 2 && plan.writes[1].peer_offset_bytes == 0));
}

inline void Connection::commit_transmit(const TransmitPlan &plan)
{
	if (failover_ != Failover::kNone) [[unlikely]] {
		commit_failover(plan);
		return;
	}
	if (plan.marker.message_number != sent_messages_ + 1 ||
	    plan.marker.sent_bytes != send_.sent_bytes() + plan.write_bytes ||
	    plan.write_bytes > std::min(send_.pending_bytes(), send_.window_bytes())) {
		broken_ = true;
		return;
	}
	mark_sent(plan.message, plan.write_bytes);
	// After give_up() one more message may have been owed: releasable again once that has
	// completed.
	release_told_ = false;
	if (plan.signal) {
		last_signalled_message_ = plan.marker.message_number;
		last_signalled_bytes_ = plan.marker.sent_bytes;
		completion_requested_ = false;
	}
}

inline void Connection::mark_sent(const CursorMessage &message, std::uint32_t write_bytes)
{
	send_.mark_sent(write_bytes);
	receive_.confirm();
	close_.flags_sent(message.state_flags);
	sent_messages_++;
	sent_producer_flags_ = message.producer_flags;
	update_due_ = false;
	rings_told_ = true;
	if ((message.producer_flags & producer_flag::kUrgentPresent) != 0) [[unlikely]] {
		urgent_message_ = sent_messages_;
		urgent_end_bytes_ = send_.sent_bytes();
		urgent_tx_.clear();
	}
	if (send_.pending_bytes() == 0)
		push_ = false;
}

inline std::optional<Saying> Connection::speak_up()
{
	const auto [due, state_flags, write_bytes] = choose();

	if (!due)
		return std::nullopt;
	const Saying saying{
		.message = message(
			ring::advance(send_.producer(), write_bytes, send_.peer_size_bytes()),
			write_bytes, state_flags),
		.produced_bytes = write_bytes,
		.consumed_bytes = receive_.unconfirmed_bytes(),
	};
	mark_sent(saying.message, write_bytes);
	// In place a message is delivered when it is made.
	completed_messages_ = sent_messages_;
	send_.complete_to(send_.sent_bytes());
	completion_requested_ = false;
	return saying;
}

// True if pass() hands over bytes and cursors only: a ring more than half full asks the reader for
// its cursor, and cork, urgent byte and end each need a message.
inline bool Connection::passes(std::uint32_t bytes) const
{
	return bytes != 0 && close_.active() && send_.pending_bytes() == 0 &&
	       send_.used_bytes() + bytes <= send_.size_bytes() / 2 && !corked_ &&
	       !urgent_tx_.announced();
}

inline bool Connection::may_pass(const Connection &writer, const Connection &reader,
				 std::uint32_t bytes)
{
	return writer.passes(bytes) && reader.close_.active() && !reader.refuses_data_ &&
	       reader.urgent_rx_.state() == UrgentReceiver::State::kNone &&
	       bytes <= reader.receive_.confirmed_free_bytes() &&
	       writer.receive_.unconfirmed_bytes() <= reader.send_.unacknowledged_bytes();
}

inline std::optional<std::uint32_t>
Connection::room_to_pass(const Connection &writer, const Connection &reader, std::uint32_t bytes)
{
	if (!writer.send_.appends_in_one_piece(bytes) || !may_pass(writer, reader, bytes))
		return std::nullopt;
	return writer.send_.prepared().count;
}

inline std::uint16_t Connection::pass(Connection &writer, Connection &reader, std::uint32_t bytes)
{
	return may_pass(writer, reader, bytes) ? hand_over(writer, reader, bytes) : 0;
}

inline std::uint16_t Connection::hand_over(Connection &writer, Connection &reader,
					   std::uint32_t bytes)
{
	const std::uint32_t consumed_bytes = writer.receive_.unconfirmed_bytes();

	writer.send_.pass(bytes);
	writer.receive_.confirm();
	writer.completed_messages_ = ++writer.sent_messages_;
	writer.sent_producer_flags_ = 0;
	writer.update_due_ = false;
	writer.completion_requested_ = false;
	writer.more_ = false;
	writer.push_ = false;

	std::uint16_t events = event::kReadable;
	reader.receive_.receive(writer.send_.producer(), bytes);
	reader.peer_producer_flags_ = 0;
	if (consumed_bytes != 0) {
		const bool was_writable = reader.writable_for_poll();

		reader.send_.acknowledge(writer.receive_.consumer(), consumed_bytes);
		if (!was_writable && reader.writable_for_poll())
			events |= event::kWritable;
	}
	if (reader.update_due(reader.receive_.size_bytes() / 2))
		reader.update_due_ = true;
	return events;
}

inline Verdict Connection::on_transmit_complete(const TransmitMarker &marker)
{
	Verdict verdict;
	if (marker.message_number > sent_messages_) {
		broken_ = true;
		return verdict;
	}
	const bool was_writable = writable_for_poll();
	const bool clock_ran = clock_running();
	completed_messages_ = std::max(completed_messages_, marker.message_number);
	send_.complete_to(marker.sent_bytes);
	look_for_idle();
	if (!was_writable && writable_for_poll())
		verdict.events |= event::kWritable;
	if (clock_ran && !clock_running())
		note_tick();
	verdict.events |= tell_if_releasable();
	return verdict;
}

inline Verdict Connection::on_cdc(const CursorMessage &message)
{
	const auto ahead = static_cast<std::int16_t>(message.sequence - peer_sequence_);

	heard_ = true;
	if ((message.producer_flags & producer_flag::kFailoverValidation) != 0) [[unlikely]]
		return on_failover_validation(ahead);
	if (ahead < 0) [[unlikely]] {
		stale_messages_++;
		return {.events = event::kStale};
	}
	if ((message.state_flags & state_flag::kAnyClose) != 0) [[unlikely]]
		peer_may_repeat_ = false;
	std::uint16_t events = 0;
	if (message.ring != ring_ && cursors_count()) [[unlikely]] {
		if (!enter_ring(message.ring))
			return {.violation = Violation::kWrongRing};
		events = event::kNewRing;
	}
	Verdict verdict = on_cursors(message);
	verdict.events |= events;
	if (verdict.ok())
		peer_sequence_ = message.sequence;
	return verdict;
}

inline std::optional<Saying> Connection::expand(const CompactMessage &message,
						const CursorMessage &before,
						std::uint32_t ring_size_bytes) const
{
	const std::uint32_t before_bytes =
		message.wrapped ? ring_size_bytes - before.producer.count : 0;

	if (message.written_bytes > ring_size_bytes - before_bytes ||
	    message.consumed_bytes > send_.peer_size_bytes())
		return std::nullopt;
	const std::uint32_t produced_bytes = before_bytes + message.written_bytes;
	return Saying{
		.message = {.sequence = static_cast<std::uint16_t>(before.sequence + 1),
			    .token = local_token_,
			    .producer =
				    ring::advance(before.producer, produced_bytes, ring_size_bytes),
			    .consumer = ring::advance(before.consumer, message.consumed_bytes,
						      send_.peer_size_bytes()),
			    .producer_flags = message.write_blocked ? producer_flag::kWriteBlocked
								    : std::uint8_t{0}},
		.produced_bytes = produced_bytes,
		.consumed_bytes = message.consumed_bytes,
	};
}

inline Verdict Connection::on_cdc(const CompactMessage &message)
{
	const std::uint16_t before = peer_sequence_++;

	heard_ = true;
	if (const auto dismissed = dismiss({})) [[unlikely]]
		return *dismissed;
	const auto saying = expand(message,
				   {.sequence = before,
				    .token = local_token_,
				    .producer = receive_.producer(),
				    .consumer = send_.peer_consumer()},
				   receive_.size_bytes());
	if (!saying) [[unlikely]]
		return {.violation = Violation::kCursorOutsideRing};
	return weigh(*saying);
}

// Checks both cursors before it applies either.
inline Result<Connection::Progress, Violation> Connection::check(const CursorMessage &message) const
{
	if (!ring::is_inside(message.producer, receive_.size_bytes()) ||
	    !ring::is_inside(message.consumer, send_.peer_size_bytes()))
		return fail(Violation::kCursorOutsideRing);

	const auto produced = receive_.produced_by(message.producer);
	if (!produced) [[unlikely]] {
		const Violation violation = classify_producer(message.producer);
		if (violation != Violation::kNone)
			return fail(violation);
	}
	const auto consumed = send_.consumed_by(message.consumer);
	if (!consumed) [[unlikely]] {
		const Violation violation = classify_consumer(message.consumer);
		if (violation != Violation::kNone)
			return fail(violation);
	}
	return Progress{produced.value_or(0), consumed.value_or(0)};
}

inline std::optional<Verdict> Connection::dismiss(const CursorMessage &message)
{
	if (cursors_count()) [[likely]]
		return std::nullopt;
	if (!close_.started() || close_.finished()) {
		close_.on_late_peer_flags(message.state_flags);
		return Verdict{.events = event::kIgnored};
	}
	// The data does not count any more, but the peer's flags do.
	Verdict verdict{.events = take_in_state_flags(message.state_flags)};
	verdict.events |= tell_if_releasable();
	return verdict;
}

inline Verdict Connection::on_cursors(const CursorMessage &message)
{
	if (const auto dismissed = dismiss(message)) [[unlikely]]
		return *dismissed;
	const auto progress = check(message);
	if (!progress) [[unlikely]]
		return {.violation = progress.error()};
	if (!data_due_ && progress->produced_bytes != 0) [[unlikely]] {
		if (const auto refused = refuse_data_of(message))
			return *refused;
	}
	return {.events = take_in(message, progress->produced_bytes, progress->consumed_bytes)};
}

inline Verdict Connection::hear(const Saying &saying)
{
	if (const auto dismissed = dismiss(saying.message)) [[unlikely]]
		return *dismissed;
	return weigh(saying);
}

inline Verdict Connection::weigh(const Saying &saying)
{
	if (saying.produced_bytes > receive_.confirmed_free_bytes() ||
	    saying.consumed_bytes > send_.unacknowledged_bytes()) [[unlikely]]
		return {.violation = Violation::kCursorOutsideRing};
	if (!data_due_ && saying.produced_bytes != 0) [[unlikely]] {
		if (const auto refused = refuse_data_of(saying.message))
			return *refused;
	}
	return {.events = take_in(saying.message, saying.produced_bytes, saying.consumed_bytes)};
}

inline std::uint16_t Connection::take_in(const CursorMessage &message, std::uint32_t produced_bytes,
					 std::uint32_t consumed_bytes)
{
	std::uint16_t events = 0;
	const bool was_writable = writable_for_poll();
	const bool was_eof = at_eof();
	const bool was_withheld = eof_withheld();
	const std::uint32_t readable_before_bytes = readable_bytes();

	if (consumed_bytes != 0) {
		send_.acknowledge(message.consumer, consumed_bytes);
		look_for_idle();
	}
	if (produced_bytes != 0)
		receive_.receive(message.producer, produced_bytes);
	const bool asked_again = (message.producer_flags & peer_producer_flags_ &
				  producer_flag::kConsumerUpdateWanted) != 0;
	peer_producer_flags_ = message.producer_flags;

	constexpr std::uint8_t urgent_flags =
		producer_flag::kUrgentPending | producer_flag::kUrgentPresent;
	if (close_.locally_closed()) [[unlikely]]
		drop_received_data();
	else if ((message.producer_flags & urgent_flags) != 0 ||
		 urgent_rx_.state() != UrgentReceiver::State::kNone) [[unlikely]]
		events |= take_in_urgent_flags(message, produced_bytes);
	if (message.state_flags != 0) [[unlikely]]
		events |= take_in_state_flags(message.state_flags);
	// A request with data is answered when the data has been read; one without is answered even
	// if nothing has changed, but only once: two sides that both ask would answer each other
	// for ever.
	const bool asked =
		(message.producer_flags & producer_flag::kConsumerUpdateWanted) != 0 &&
		(receive_.unconfirmed_bytes() != 0 || (produced_bytes == 0 && !asked_again));
	// The reader may be about to take these bytes, too, and then one message tells of both: as
	// long as the peer has room for a while. In place a message costs next to nothing.
	if (asked || update_due(receive_.size_bytes() / (send_.in_place() ? 2 : 4)))
		update_due_ = true;

	if (readable_bytes() > readable_before_bytes || (!was_eof && at_eof()))
		events |= event::kReadable;
	if (was_withheld && !eof_withheld()) [[unlikely]]
		events |= event::kEndSeen;
	if (!was_writable && writable_for_poll())
		events |= event::kWritable;
	return events | tell_if_releasable();
}

inline std::uint16_t Connection::tell_if_releasable()
{
	if (!releasable() || release_told_)
		return 0;
	release_told_ = true;
	return event::kReleasable;
}

inline std::uint32_t Connection::readable_bytes(bool urgent_inline) const
{
	const std::uint32_t stored_bytes = receive_.stored_bytes();
	const bool urgent_byte_apart = urgent_rx_.has_mark() && !urgent_inline &&
				       urgent_rx_.position_bytes() >= receive_.consumed_bytes();
	return stored_bytes - (urgent_byte_apart ? 1 : 0);
}

inline bool Connection::eof_withheld() const
{
	return close_.peer_flags() != 0 && !reset() && !gave_up_withheld_ &&
	       readable_bytes() == 0 && peer_is_blocked();
}

// How much one read may take: it stops before the urgent byte, and an inline urgent byte starts the
// next one.
inline std::uint32_t Connection::readable_to_mark_bytes() const
{
	if (urgent_rx_.has_mark()) [[unlikely]] {
		const std::uint64_t mark_bytes = urgent_rx_.position_bytes();
		const std::uint64_t reader_bytes = receive_.consumed_bytes();
		if (mark_bytes > reader_bytes)
			return static_cast<std::uint32_t>(mark_bytes - reader_bytes);
		if (mark_bytes == reader_bytes && !urgent_inline_)
			return 0;
	}
	return receive_.stored_bytes();
}

inline ring::Segments Connection::read_segments(std::uint32_t max_bytes,
						std::uint32_t skip_bytes) const
{
	const std::uint32_t there_bytes = readable_to_mark_bytes();
	if (skip_bytes >= there_bytes)
		return {};
	return receive_.stored_segments(skip_bytes, std::min(max_bytes, there_bytes - skip_bytes));
}

// Consumption is worth a message of its own when the peer asks for it, when the peer may be waiting
// for it, and otherwise in large steps. Every other message carries the cursor anyway.
inline bool Connection::update_due(std::uint32_t room_short_bytes) const
{
	const std::uint32_t unconfirmed_bytes = receive_.unconfirmed_bytes();
	if (unconfirmed_bytes == 0)
		return false;
	const bool asked = (peer_producer_flags_ & producer_flag::kConsumerUpdateWanted) != 0;
	if ((asked || peer_is_blocked()) && receive_.stored_bytes() == 0)
		return true;
	if (asked && unconfirmed_bytes > update_floor_bytes_)
		return true;
	return unconfirmed_bytes > update_above_bytes_ &&
	       (peer_is_blocked() || receive_.confirmed_free_bytes() <= room_short_bytes);
}

// With half of the ring left the peer can send as much once more, and the answer to that much says
// that it was read.
inline void Connection::note_read()
{
	if (!update_due(receive_.size_bytes() / 2 - 1)) [[likely]]
		return;
	update_due_ = true;
	ran_empty_ = growing_ && peer_is_blocked() && receive_.stored_bytes() == 0;
}

inline bool Connection::consume(std::uint32_t bytes)
{
	if (bytes > readable_to_mark_bytes()) [[unlikely]] {
		broken_ = true;
		drop_received_data();
		return true;
	}
	receive_.consume(bytes);
	if (urgent_rx_.has_mark()) [[unlikely]]
		reader_moved();
	note_read();
	return update_due_ && close_.may_transmit();
}

} // namespace smc::connection
