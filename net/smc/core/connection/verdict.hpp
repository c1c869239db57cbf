// SPDX-License-Identifier: GPL-2.0-only
//
// Verdict: what a message from the peer, or a completion, means to the owner of the connection.
#pragma once

#include <cstdint>

namespace smc::connection {

// Things that happened, a set of bits. Each peer_* bit is reported once per connection.
namespace event {
inline constexpr std::uint16_t kReadable = 0x0001;    // more to read than before, or end of file
inline constexpr std::uint16_t kWritable = 0x0002;    // the send buffer became writable again
inline constexpr std::uint16_t kPeerDone = 0x0008;    // peer will send no more (shutdown for write)
inline constexpr std::uint16_t kPeerClosed = 0x0010;  // peer has closed; it reads no more either
inline constexpr std::uint16_t kPeerAborted = 0x0020; // peer gave up: ECONNRESET
inline constexpr std::uint16_t kUrgentPending = 0x0040; // an urgent byte is announced, not yet here
inline constexpr std::uint16_t kUrgent = 0x0080;  // SIGURG; fetch the byte: urgent_offset_bytes()
inline constexpr std::uint16_t kStale = 0x0100;   // older than what we have: ignored
inline constexpr std::uint16_t kIgnored = 0x0200; // the connection takes no more messages
inline constexpr std::uint16_t kReleasable = 0x0400; // releasable() became true
inline constexpr std::uint16_t kRefused = 0x0800;    // data that nobody will read: we have aborted
inline constexpr std::uint16_t kEndSeen = 0x1000;    // eof_withheld() is over: the end counts
// The peer writes to the ring of offer_ring() from here on. Also with a violation.
inline constexpr std::uint16_t kNewRing = 0x2000;
} // namespace event

// Why a message breaks the protocol. Everything but kNone: nothing of the message was applied, the
// caller counts it and calls Connection::abort().
enum class Violation : std::uint8_t {
	kNone,
	kCursorOutsideRing,  // an offset that is not in the ring
	kProducerBackward,   // takes back bytes that it had announced
	kProducerOverrun,    // announces more than the free space that we confirmed
	kProducerBehindEnd,  // announces bytes behind the end of its stream
	kConsumerBackward,   // takes back consumption
	kConsumerBeyondSent, // claims bytes that were never written to it
	kWrongRing,          // one that was not offered, or before the one before is empty
	kMessagesLost, // failover: the peer's messages did not all arrive (no fault of the peer's)
};

struct Verdict {
	std::uint16_t events = 0;
	Violation violation = Violation::kNone;

	[[nodiscard]] constexpr bool has(std::uint16_t event_bits) const
	{
		return (events & event_bits) != 0;
	}
	[[nodiscard]] constexpr bool ok() const { return violation == Violation::kNone; }
};

} // namespace smc::connection
