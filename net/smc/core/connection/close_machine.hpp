// SPDX-License-Identifier: GPL-2.0-only
//
// CloseMachine: the ending of one connection: its State, the state flags that we owe the peer,
// those that we have sent, and those that the peer has sent. A flag once set stays set, in both
// directions. The closing flags (done, closed) are owed as soon as the application asks, but become
// ready only when all data has been written to the peer; the abnormal-close flag is always ready.
//
// No locking: the connection's lock covers it.
#pragma once

#include <cstdint>

#include "core/connection/message.hpp"
#include "core/connection/state.hpp"

namespace smc::connection {

class CloseMachine {
public:
	[[nodiscard]] State state() const { return state_; }

	void start() { apply(CloseEvent::kStart); }
	void shutdown_write();
	void close();
	void abort();
	// Finished without an answer of the peer, as far as this side goes. Owed flags may still go
	// out.
	void give_up();
	void transport_lost();

	// Takes the state flags of a message; returns those that are new.
	std::uint8_t on_peer_flags(std::uint8_t state_flags);

	// The peer has sent data behind the end that it had announced: that end does not count.
	void disown_end() { peer_ended_in_order_ = false; }

	// The flags of the next message: those sent before, and the owed ones that are ready.
	[[nodiscard]] std::uint8_t ready_flags(bool all_data_written) const
	{
		constexpr std::uint8_t any_time = state_flag::kAborted;
		return sent_flags_ |
		       (owed_flags_ & (all_data_written ? state_flag::kAll : any_time));
	}
	void flags_sent(std::uint8_t state_flags) { sent_flags_ |= state_flags; }

	// Flags that come when lost(): nothing follows from them but that the peer's ring may be
	// gone.
	void on_late_peer_flags(std::uint8_t state_flags)
	{
		if (lost_)
			peer_flags_ |= state_flags & state_flag::kAll;
	}

	[[nodiscard]] std::uint8_t owed_flags() const { return owed_flags_; }
	[[nodiscard]] std::uint8_t sent_flags() const { return sent_flags_; }
	[[nodiscard]] std::uint8_t peer_flags() const { return peer_flags_; }

	// No flag is owed, sent or received, and the link is there.
	[[nodiscard]] bool active() const { return state_ == State::kActive; }
	[[nodiscard]] bool started() const { return state_ != State::kInit; }
	// The link is lost, or this side has given up.
	[[nodiscard]] bool lost() const { return lost_; }
	[[nodiscard]] bool link_lost() const { return link_lost_; }
	[[nodiscard]] bool locally_closed() const { return locally_closed_; }
	[[nodiscard]] bool locally_aborted() const
	{
		return (owed_flags_ & state_flag::kAborted) != 0;
	}
	// The application may append to the stream.
	[[nodiscard]] bool may_send() const
	{
		return started() && !lost_ && owed_flags_ == 0 &&
		       (peer_flags_ & state_flag::kAnyClose) == 0;
	}
	// Messages may still go out.
	[[nodiscard]] bool may_transmit() const
	{
		return started() && !link_lost_ && (sent_flags_ & state_flag::kAborted) == 0 &&
		       !both_closed();
	}
	// The peer will send no more data, or none that counts: it has sent a flag, or the link is
	// lost.
	[[nodiscard]] bool peer_finished_sending() const { return lost_ || peer_flags_ != 0; }
	// The peer ended its stream by done or closed; a reset that came later does not change
	// that.
	[[nodiscard]] bool peer_ended_in_order() const { return peer_ended_in_order_; }
	// Neither side will touch the other's memory again.
	[[nodiscard]] bool finished() const { return lost_ || both_closed(); }
	// Both have sent "closed", and neither has reset it.
	[[nodiscard]] bool both_closed_in_order() const
	{
		const std::uint8_t both = sent_flags_ & peer_flags_;
		const std::uint8_t either = sent_flags_ | peer_flags_;

		return (both & state_flag::kClosed) != 0 && (either & state_flag::kAborted) == 0;
	}
	// A state change was attempted that the table does not allow: a bug of ours.
	[[nodiscard]] bool broken() const { return broken_; }

private:
	[[nodiscard]] bool both_closed() const
	{
		return (sent_flags_ & state_flag::kAnyClose) != 0 &&
		       (peer_flags_ & state_flag::kAnyClose) != 0;
	}
	void apply(CloseEvent close_event);
	void set_state(State next);

	State state_ = State::kInit;
	std::uint8_t owed_flags_ = 0;
	std::uint8_t sent_flags_ = 0;
	std::uint8_t peer_flags_ = 0;
	bool peer_ended_in_order_ = false;
	bool locally_closed_ = false;
	bool lost_ = false;
	bool link_lost_ = false;
	bool broken_ = false;
};

} // namespace smc::connection
