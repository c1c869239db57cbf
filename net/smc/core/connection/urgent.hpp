// SPDX-License-Identifier: GPL-2.0-only
//
// UrgentSender, UrgentReceiver: the one urgent byte (MSG_OOB) that each direction can have under
// way. In the stream it is an ordinary byte with a mark on it; the newest mark counts, as with TCP.
//
// No locking: the connection's lock covers it.
#pragma once

#include <cstdint>

#include "core/connection/message.hpp"

namespace smc::connection {

// Sending: announced (0x40) from the start of the send; the message whose producer cursor points
// just past the byte says "present" as well (0x60); then both flags are gone.
class UrgentSender {
public:
	void announce() { announced_ = true; }
	void withdraw() { announced_ = marked_; }
	// The urgent byte is the last one before stream position `end_bytes`.
	void mark(std::uint64_t end_bytes)
	{
		announced_ = true;
		marked_ = true;
		end_bytes_ = end_bytes;
	}
	void clear() { *this = UrgentSender{}; }

	[[nodiscard]] bool announced() const { return announced_; }
	[[nodiscard]] bool marked() const { return marked_; }
	// Stream position just past the urgent byte. Needs marked().
	[[nodiscard]] std::uint64_t end_bytes() const { return end_bytes_; }
	// Flags of a message whose producer cursor stands at `producer_bytes`.
	[[nodiscard]] std::uint8_t flags(std::uint64_t producer_bytes) const
	{
		if (!announced_)
			return 0;
		const bool present = marked_ && producer_bytes == end_bytes_;
		return producer_flag::kUrgentPending |
		       (present ? producer_flag::kUrgentPresent : 0);
	}

private:
	std::uint64_t end_bytes_ = 0;
	bool announced_ = false;
	bool marked_ = false;
};

// Receiving. The byte is copied out of the ring when it arrives (kArrived → kValid), so that
// reading the stream past it cannot lose it.
class UrgentReceiver {
public:
	enum class State : std::uint8_t {
		kNone,    // no urgent byte known, or the reader has passed it
		kPending, // announced, not here yet
		kArrived, // in the ring; the caller has yet to hand in its value
		kValid,   // value known, not yet taken by MSG_OOB
		kTaken,   // taken by MSG_OOB, the reader has not passed the mark yet
	};

	[[nodiscard]] State state() const { return state_; }
	// Stream position of the urgent byte. Means something when has_mark().
	[[nodiscard]] std::uint64_t position_bytes() const { return position_bytes_; }
	[[nodiscard]] bool has_mark() const
	{
		return state_ == State::kArrived || state_ == State::kValid ||
		       state_ == State::kTaken;
	}
	[[nodiscard]] std::uint8_t value() const { return value_; }

	void announce()
	{
		if (state_ == State::kNone)
			state_ = State::kPending;
	}
	void withdraw()
	{
		if (state_ == State::kPending)
			state_ = State::kNone;
	}
	void arrive(std::uint64_t position_bytes)
	{
		state_ = State::kArrived;
		position_bytes_ = position_bytes;
	}
	void store(std::uint8_t value)
	{
		state_ = State::kValid;
		value_ = value;
	}
	void take() { state_ = State::kTaken; }
	void clear() { state_ = State::kNone; }

private:
	std::uint64_t position_bytes_ = 0;
	State state_ = State::kNone;
	std::uint8_t value_ = 0;
};

} // namespace smc::connection
