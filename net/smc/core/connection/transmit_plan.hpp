// SPDX-License-Identifier: GPL-2.0-only
//
// TransmitPlan: one batch of work for the transport, worked out by Connection::plan_transmit() and
// carried out by the caller: up to three writes into the peer's ring, then the message that tells
// the peer about them, in that order on one queue pair (the order is what makes the data visible
// before the cursor). A compact message goes with the last write.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/connection/message.hpp"

namespace smc::connection {

// One contiguous write: split where either ring wraps. Offsets count from the start of the send
// buffer and from the start of the peer's ring (the transport adds the ring's address).
struct WriteSegment {
	std::uint32_t sndbuf_offset_bytes = 0;
	std::uint32_t peer_offset_bytes = 0;
	std::uint32_t length_bytes = 0;
};

// A point in the transmit stream. Travels with the message's work request and comes back through
// Connection::on_transmit_complete() when its completion says that everything up to it is done.
struct TransmitMarker {
	std::uint64_t sent_bytes = 0; // stream bytes written up to and with this plan
	std::uint64_t message_number =
		0; // 1 for the first message; its low 16 bits are the sequence
};

struct TransmitPlan {
	// Two rings that wrap at different places cut a stretch into three pieces at most.
	static constexpr std::uint32_t kMaxWrites = 3;

	std::array<WriteSegment, kMaxWrites> writes{};
	std::uint32_t write_count = 0;
	std::uint32_t write_bytes = 0; // sum over writes
	CursorMessage message{};       // sent after the writes, unless it is compact
	bool compact = false;          // the last write carries the message, as ...
	CompactMessage brief{};        // ... this one
	TransmitMarker marker{};
	// The message's work request must raise a completion that is brought to
	// on_transmit_complete(). The caller may raise (never clear) it before commit_transmit(),
	// for instance because its send queue needs a signalled request.
	bool signal = false;

	[[nodiscard]] std::span<const WriteSegment> write_segments() const
	{
		return {writes.data(), write_count};
	}
};

// Whether bytes go the short way, see Connection::plan_quickly().
enum class QuickWay : std::uint8_t {
	kNone, // they have to be cut, or more is to be said than they and what our reader has taken
	kSend, // they leave by the plan
	kWait, // for what is under way: produce() is all that is to be done
};

// What is left of a plan then: one write, whose compact message tells of nothing but its bytes and
// those that our reader has taken.
struct QuickPlan {
	WriteSegment write{};
	std::uint32_t consumed_bytes = 0; // as CompactMessage's
	TransmitMarker marker{};
	bool signal = false; // as TransmitPlan's
};

} // namespace smc::connection
