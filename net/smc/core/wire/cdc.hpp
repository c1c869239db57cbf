// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/bytes.hpp"
#include "core/base/endian.hpp"
#include "core/base/result.hpp"
#include "core/wire/ids.hpp"

// Connection Data Control: cursors and flags of a connection's two rings (RFC 7609 section 4 and
// appendix A.3), in a message of 44 bytes. Nothing here checks a cursor against a ring: that is the
// connection's job.
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

// Beyond the protocol, in bytes that it reserves (capability::kGrowingRings): the sender of the
// message would have the receiver write into this RMB element instead, once the one before is
// empty.
struct RingOffer {
	Rkey rkey;                     // of the RMB, on the link of the message
	std::uint64_t rmb_address = 0; // of its first element
	std::uint8_t rmbe_index = 0;   // from 1
	BufferSize size;

	friend constexpr bool operator==(const RingOffer &, const RingOffer &) = default;
};

struct Cdc {
	std::uint16_t sequence = 0; // per connection and direction; the first one is 1; wraps
	Token token;                // the receiver's
	CdcCursor producer;         // next byte that the sender will write in the receiver's ring
	CdcCursor consumer;         // next byte that the sender has yet to read from its own ring
	ProducerFlags producer_flags;
	StateFlags state_flags;
	// Beyond the protocol, only where both ends know it: which of the receiver's rings the
	// producer cursor is in, 0 being the first; and a ring of the sender's own.
	std::uint8_t ring = 0;
	std::optional<RingOffer> offer;

	friend constexpr bool operator==(const Cdc &, const Cdc &) = default;
};

// Whether a received RDMA SEND is a CDC; otherwise it is for LLC.
[[nodiscard]] constexpr bool is_cdc(ByteSpan received)
{
	return !received.empty() && received[0] == std::byte{kCdcType};
}

void encode(const Cdc &cdc, std::span<std::byte, kCdcSize> out);

// Takes all that was received. Bytes behind the 44th do not matter; reserved bytes and unknown
// flags are ignored. Where the ends have not agreed on more, ring and offer are reserved bytes: the
// caller ignores them.
[[nodiscard]] Result<Cdc, CdcError> decode_cdc(ByteSpan received);

} // namespace smc::wire
