// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/bytes.hpp"
#include "core/base/endian.hpp"
#include "core/base/result.hpp"
#include "core/wire/ids.hpp"

// Connection Data Control: cursors and flags of a connection's two rings (RFC 7609 section 4 and
// appendix A.3). On SMC-R a 44-byte message; on SMC-D 32 bytes at the start of the receiver's DMB.
// Nothing here checks a cursor against a ring: that is the connection's job.
namespace smc::wire {

inline constexpr std::size_t kCdcSize = 44;
inline constexpr std::uint8_t kCdcType = 0xfe;

enum class CdcError : std::uint8_t {
	kTruncated,
	kBadType,
	kBadLength,
};

[[nodiscard]] std::string_view name(CdcError error);

// A place in a ring: count bytes from its start, after so many wraps.
struct CdcCursor {
	std::uint16_t wrap = 0;
	std::uint32_t count = 0;

	friend constexpr bool operator==(const CdcCursor &, const CdcCursor &) = default;
};

struct ProducerFlags {
	bool write_blocked = false;
	bool urgent_pending = false;   // urgent data is on its way
	bool urgent_present = false;   // the byte before the producer cursor is urgent
	bool update_requested = false; // send a consumer cursor back
	bool failover_validation = false;

	[[nodiscard]] static constexpr ProducerFlags from_byte(std::uint8_t byte)
	{
		return {.write_blocked = (byte & 0x80) != 0,
			.urgent_pending = (byte & 0x40) != 0,
			.urgent_present = (byte & 0x20) != 0,
			.update_requested = (byte & 0x10) != 0,
			.failover_validation = (byte & 0x08) != 0};
	}
	[[nodiscard]] constexpr std::uint8_t to_byte() const
	{
		return static_cast<std::uint8_t>(
			(write_blocked ? 0x80 : 0) | (urgent_pending ? 0x40 : 0) |
			(urgent_present ? 0x20 : 0) | (update_requested ? 0x10 : 0) |
			(failover_validation ? 0x08 : 0));
	}

	friend constexpr bool operator==(const ProducerFlags &, const ProducerFlags &) = default;
};

// Sticky: once sent, they are set in every later CDC of the connection.
struct StateFlags {
	bool sending_done = false;
	bool closed = false;
	bool aborted = false;

	[[nodiscard]] static constexpr StateFlags from_byte(std::uint8_t byte)
	{
		return {.sending_done = (byte & 0x80) != 0,
			.closed = (byte & 0x40) != 0,
			.aborted = (byte & 0x20) != 0};
	}
	[[nodiscard]] constexpr std::uint8_t to_byte() const
	{
		return static_cast<std::uint8_t>((sending_done ? 0x80 : 0) | (closed ? 0x40 : 0) |
						 (aborted ? 0x20 : 0));
	}

	friend constexpr bool operator==(const StateFlags &, const StateFlags &) = default;
};

struct Cdc {
	std::uint16_t sequence = 0; // per connection and direction; the first one is 1; wraps
	Token token;                // the receiver's
	CdcCursor producer;         // next byte that the sender will write in the receiver's ring
	CdcCursor consumer;         // next byte that the sender has yet to read from its own ring
	ProducerFlags producer_flags;
	StateFlags state_flags;

	friend constexpr bool operator==(const Cdc &, const Cdc &) = default;
};

// Whether a received RDMA SEND is a CDC; otherwise it is for LLC.
[[nodiscard]] constexpr bool is_cdc(ByteSpan received)
{
	return !received.empty() && received[0] == std::byte{kCdcType};
}

void encode(const Cdc &cdc, std::span<std::byte, kCdcSize> out);

// Takes all that was received. Bytes behind the 44th do not matter; reserved bytes and unknown
// flags are ignored.
[[nodiscard]] Result<Cdc, CdcError> decode_cdc(ByteSpan received);

// --- SMC-D ---------------------------------------------------------------------------------

inline constexpr std::size_t kSmcdCdcSize = 32;

// One of the two 8-byte words, in the machine's own byte order. The flags count only in the word
// of the consumer cursor; in the producer's they are zero.
struct SmcdCursorWord {
	Host16 wrap{};
	Host32 count{};
	std::uint8_t producer_flags = 0;
	std::uint8_t state_flags = 0;
};

// The area at the start of a DMB.
struct SmcdCdcArea {
	std::uint8_t type = kCdcType;
	std::array<std::uint8_t, 7> reserved{};
	SmcdCursorWord producer{};
	SmcdCursorWord consumer{};
	std::array<std::uint8_t, 8> reserved_end{};
};

static_assert(sizeof(SmcdCursorWord) == 8 && alignof(SmcdCursorWord) == 1);
static_assert(sizeof(SmcdCdcArea) == kSmcdCdcSize && alignof(SmcdCdcArea) == 1);
static_assert(offsetof(SmcdCdcArea, producer) == 8);
static_assert(offsetof(SmcdCdcArea, consumer) == 16);
static_assert(offsetof(SmcdCdcArea, consumer.producer_flags) == 22);
static_assert(offsetof(SmcdCdcArea, consumer.state_flags) == 23);

struct SmcdCdc {
	CdcCursor producer;
	CdcCursor consumer;
	ProducerFlags producer_flags;
	StateFlags state_flags;

	friend constexpr bool operator==(const SmcdCdc &, const SmcdCdc &) = default;
};

// The words as integers, for a receiver that has to read each of them in one go (READ_ONCE),
// since the sender may write the area again at any time.
struct SmcdCdcWords {
	std::uint64_t producer = 0;
	std::uint64_t consumer = 0;

	friend constexpr bool operator==(const SmcdCdcWords &, const SmcdCdcWords &) = default;
};

[[nodiscard]] SmcdCdcWords to_words(const SmcdCdc &cdc);
[[nodiscard]] SmcdCdc from_words(const SmcdCdcWords &words);

// The whole area as one move writes it.
void encode(const SmcdCdc &cdc, std::span<std::byte, kSmcdCdcSize> out);

} // namespace smc::wire
