// SPDX-License-Identifier: GPL-2.0-only
//
// CursorMessage: one message between the two ends of a connection, whatever carries it: an SMC-R
// CDC message (RFC 7609, 44 bytes by RDMA SEND) or the CDC words at the head of an SMC-D buffer.
// The transport turns it into bytes and back; the connection only ever sees this.
#pragma once

#include <cstdint>

#include "core/ring/cursor.hpp"

namespace smc::connection {

// Producer flags: about the data that the sender of the message produces.
namespace producer_flag {
inline constexpr std::uint8_t kWriteBlocked = 0x80;         // more to write, no room in your ring
inline constexpr std::uint8_t kUrgentPending = 0x40;        // an urgent byte is on its way
inline constexpr std::uint8_t kUrgentPresent = 0x20;        // ... and is the last byte produced
inline constexpr std::uint8_t kConsumerUpdateWanted = 0x10; // tell me your consumer cursor
inline constexpr std::uint8_t kFailoverValidation = 0x08;   // "how many of my messages came?"
} // namespace producer_flag

// State flags: once sent they stay set in every later message of that side.
namespace state_flag {
inline constexpr std::uint8_t kSendingDone = 0x80;
inline constexpr std::uint8_t kClosed = 0x40;
inline constexpr std::uint8_t kAborted = 0x20;
inline constexpr std::uint8_t kAnyClose = kClosed | kAborted;
inline constexpr std::uint8_t kAnyEnd = kSendingDone | kClosed; // of the stream, in good order
inline constexpr std::uint8_t kAll = kSendingDone | kClosed | kAborted;
} // namespace state_flag

struct CursorMessage {
	std::uint16_t sequence = 0; // per connection and direction, the first is 1, wraps (SMC-R)
	std::uint32_t token = 0;    // the receiver's alert token (SMC-R)
	ring::Cursor producer{};    // next byte that the sender will write into the receiver's ring
	ring::Cursor consumer{};    // next byte that the sender has yet to take from its own ring
	std::uint8_t producer_flags = 0;
	std::uint8_t state_flags = 0;
	// Config::growing: which of the receiver's rings the producer cursor is in.
	std::uint8_t ring = 0;
	bool offers_ring = false; // says where Connection::offer_ring()'s is, too
};

// The same for bytes and cursors alone, relative to the sender's message before (SMC-R between two
// of this module, core/wire/compact.hpp).
struct CompactMessage {
	std::uint32_t written_bytes = 0;  // by its own RDMA write
	std::uint32_t consumed_bytes = 0; // of the sender's ring
	// A write before that one has filled the receiver's ring up to its end.
	bool wrapped = false;
	bool write_blocked = false;
};

// A message between two connections that share their memory, with byte counts in place of cursors.
struct Saying {
	CursorMessage message{};
	std::uint32_t produced_bytes = 0; // since the last one
	std::uint32_t consumed_bytes = 0; // ditto
};

} // namespace smc::connection
