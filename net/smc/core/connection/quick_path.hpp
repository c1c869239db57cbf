// SPDX-License-Identifier: GPL-2.0-only
//
// The bodies of Connection's functions for small messages in the usual state, where a call does in
// one step, under one hold of the lock, what it otherwise does in two or three. They give what the
// general ones of hot_path.hpp give, and refuse where these have more to look at. Include
// core/connection/connection.hpp, not this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/connection/connection.hpp"
#include "core/wire/compact.hpp"

namespace smc::connection {

// They fit in one piece, and nothing is under way that has to go before, with, or instead of them.
inline bool Connection::appends_quickly(std::uint32_t bytes) const
{
	return close_.active() && !corked_ && !urgent_tx_.announced() &&
	       failover_ == Failover::kNone && !ring_change_due() && bytes != 0 &&
	       send_.appends_in_one_piece(bytes);
}

// Nothing waits, and the one form of a message will do that a single write has room for (see
// fits_compact()). It has no flag, either.
inline bool Connection::sends_quickly(std::uint32_t bytes) const
{
	return compact_ && heard_ && rings_told_ && send_.completion_frees() &&
	       send_.sends_in_one_piece(bytes) &&
	       receive_.unconfirmed_bytes() <= wire::kCompactConsumedMaxBytes;
}

[[gnu::always_inline]] inline QuickWay Connection::plan_quickly(std::uint32_t bytes,
								QuickPlan &plan) const
{
	if (!appends_quickly(bytes)) [[unlikely]]
		return QuickWay::kNone;
	plan.write = {.sndbuf_offset_bytes = send_.prepared().count,
		      .peer_offset_bytes = send_.producer().count,
		      .length_bytes = bytes};
	if (held_for_clock(send_.pending_bytes() + bytes) && !push_)
		return update_due_ || completion_requested_ ? QuickWay::kNone : QuickWay::kWait;
	if (!sends_quickly(bytes)) [[unlikely]]
		return QuickWay::kNone;
	plan.consumed_bytes = receive_.unconfirmed_bytes();
	plan.marker = {send_.sent_bytes() + bytes, sent_messages_ + 1};
	plan.signal = must_signal(bytes, /*state_flags=*/0);
	return QuickWay::kSend;
}

inline void Connection::commit_quickly(const QuickPlan &plan)
{
	const std::uint32_t bytes = plan.write.length_bytes;

	// Both rings have had the room since the plan: only bytes take it, and these are all.
	if (plan.marker.message_number != sent_messages_ + 1 ||
	    plan.marker.sent_bytes != send_.appended_bytes() + bytes) [[unlikely]] {
		broken_ = true;
		return;
	}
	send_.append_and_send(bytes);
	receive_.confirm();
	sent_messages_++;
	sent_producer_flags_ = 0;
	more_ = false;
	push_ = false;
	update_due_ = false;
	release_told_ = false;
	if (plan.signal) {
		last_signalled_message_ = plan.marker.message_number;
		last_signalled_bytes_ = plan.marker.sent_bytes;
		completion_requested_ = false;
	}
}

inline std::uint16_t Connection::hear_quickly(CompactMessage message)
{
	if (!close_.active() || !data_due_ || message.wrapped || message.write_blocked ||
	    peer_producer_flags_ != 0 || urgent_rx_.state() != UrgentReceiver::State::kNone ||
	    message.written_bytes == 0 || message.written_bytes > receive_.confirmed_free_bytes() ||
	    message.consumed_bytes > send_.unacknowledged_bytes()) [[unlikely]]
		return 0;
	std::uint16_t events = event::kReadable;

	peer_sequence_++;
	heard_ = true;
	if (message.consumed_bytes != 0) {
		const bool was_writable = writable_for_poll();

		send_.acknowledge(ring::advance(send_.peer_consumer(), message.consumed_bytes,
						send_.peer_size_bytes()),
				  message.consumed_bytes);
		look_for_idle();
		if (!was_writable && writable_for_poll())
			events |= event::kWritable;
	}
	receive_.receive(
		ring::advance(receive_.producer(), message.written_bytes, receive_.size_bytes()),
		message.written_bytes);
	if (update_due(receive_.size_bytes() / 4))
		update_due_ = true;
	return events;
}

inline QuickLook Connection::look_quickly(std::uint32_t max_bytes, std::size_t content_with_bytes,
					  bool urgent_inline) const
{
	if (!close_.active() || urgent_inline != urgent_inline_ ||
	    urgent_rx_.state() != UrgentReceiver::State::kNone) [[unlikely]]
		return {};
	const std::uint32_t stored_bytes = receive_.stored_bytes();
	if (stored_bytes == 0)
		return {.found = QuickLook::Found::kNothing};
	const std::uint32_t bytes = std::min(max_bytes, stored_bytes);
	const std::uint32_t offset_bytes = receive_.consumer().count;
	if (bytes < content_with_bytes || stored_bytes == receive_.size_bytes() ||
	    bytes > receive_.size_bytes() - offset_bytes) [[unlikely]]
		return {};
	return {.found = QuickLook::Found::kPiece,
		.leaves_some = stored_bytes > bytes,
		.piece = {.offset_bytes = offset_bytes, .length_bytes = bytes}};
}

inline bool Connection::consume_quickly(std::uint32_t bytes)
{
	receive_.consume(bytes);
	note_read();
	return update_due_;
}

inline QuickReadiness Connection::ready_quickly() const
{
	if (!close_.active() || urgent_rx_.state() != UrgentReceiver::State::kNone) [[unlikely]]
		return {};
	return {.usual = true,
		.writable = writable_for_poll(),
		.readable_bytes = receive_.stored_bytes()};
}

} // namespace smc::connection
