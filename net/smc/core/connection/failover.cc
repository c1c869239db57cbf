// SPDX-License-Identifier: GPL-2.0-only
//
// Connection and the loss of its link: what it sends first on another one.
//
// The peer's ring may hold all, some or none of the bytes that were written since the last known
// completion, and its reader may have taken them. Writing them once more, to where they were, does
// no harm: until the peer confirms those places with its consumer cursor nothing else is written
// there. So nothing of the connection's accounts is taken back, and no cursor goes backwards.
#include <algorithm>

#include "core/connection/connection.hpp"

namespace smc::connection {

void Connection::fail_over()
{
	heard_ = false;
	if (!close_.started() || close_.link_lost())
		return;
	// What counts as completed since the last loss may only have been given up then.
	if (completed_messages_ > abandoned_messages_)
		known_messages_ = completed_messages_;
	// The last message, which ended the connection, may be lost as well as any other.
	const bool says_no_more =
		(close_.finished() || !close_.may_transmit()) && !closing_flag_owed();
	if (says_no_more && transmit_idle() && known_messages_ == sent_messages_)
		return;
	// Nothing is posted any more.
	abandoned_messages_ = sent_messages_;
	completed_messages_ = sent_messages_;
	repeated_bytes_ = 0;
	failover_ = Failover::kValidation;
}

// The message with the urgent byte may not have arrived, and later ones do not say where it was.
bool Connection::urgent_is_lost() const
{
	return urgent_message_ > known_messages_ && !close_.locally_aborted() && !peer_closed() &&
	       urgent_end_bytes_ > std::max(repeated_bytes_, send_.acknowledged_bytes());
}

std::uint64_t Connection::repeat_to_bytes() const
{
	return urgent_is_lost() ? urgent_end_bytes_ : send_.sent_bytes();
}

void Connection::plan_failover(TransmitPlan &plan) const
{
	plan.write_count = 0;
	plan.write_bytes = 0;
	plan.compact = false;
	if (failover_ == Failover::kValidation) {
		plan.message = {.sequence = static_cast<std::uint16_t>(known_messages_),
				.token = peer_token_,
				.producer = {},
				.consumer = {},
				.producer_flags = producer_flag::kFailoverValidation,
				.state_flags = 0};
		plan.marker = {send_.completed_bytes(), known_messages_};
		plan.signal = false;
		return;
	}
	const std::uint64_t end_bytes = repeat_to_bytes();
	const std::uint64_t from_bytes =
		std::min(std::max(repeated_bytes_, send_.freed_bytes()), end_bytes);
	const auto behind = [this](std::uint64_t position_bytes) {
		return static_cast<std::uint32_t>(send_.sent_bytes() - position_bytes);
	};

	// A peer that has closed reads nothing, and its ring may be gone.
	if (!peer_closed()) {
		plan.write_bytes = static_cast<std::uint32_t>(end_bytes - from_bytes);
		plan_writes(plan,
			    ring::retreat(send_.sent(), behind(from_bytes), send_.size_bytes()),
			    ring::retreat(send_.producer(), behind(from_bytes),
					  send_.peer_size_bytes()),
			    plan.write_bytes);
	}
	// The end stands behind the last byte.
	const std::uint8_t state_flags =
		end_bytes == send_.sent_bytes() ? close_.sent_flags() : std::uint8_t{0};
	plan.message =
		message(ring::retreat(send_.producer(), behind(end_bytes), send_.peer_size_bytes()),
			0, state_flags);
	if (urgent_is_lost())
		plan.message.producer_flags =
			producer_flag::kUrgentPending | producer_flag::kUrgentPresent;
	plan.marker = {end_bytes, sent_messages_ + 1};
	plan.signal = true;
}

void Connection::commit_failover(const TransmitPlan &plan)
{
	if (failover_ == Failover::kValidation) {
		failover_ = Failover::kRepeat;
		return;
	}
	if (plan.marker.message_number != sent_messages_ + 1) {
		broken_ = true;
		return;
	}
	const std::uint64_t end_bytes = repeat_to_bytes();
	const bool again = end_bytes != send_.sent_bytes();

	if (urgent_is_lost())
		urgent_message_ = sent_messages_ + 1;
	repeated_bytes_ = end_bytes;
	written_again_bytes_ += plan.write_bytes;
	receive_.confirm();
	sent_messages_++;
	sent_producer_flags_ = plan.message.producer_flags;
	update_due_ = false;
	rings_told_ = true;
	completion_requested_ = false;
	release_told_ = false;
	last_signalled_message_ = plan.marker.message_number;
	last_signalled_bytes_ = plan.marker.sent_bytes;
	if (!again)
		failover_ = Failover::kNone;
}

} // namespace smc::connection
