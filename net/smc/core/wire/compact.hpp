// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

// The compact form of a CDC message, which only this module has, and uses only where both ends have
// agreed on it (wire/vendor.hpp): the 32 bits of immediate data of an RDMA write into the RMB. The
// write itself says how many bytes were produced. Both counts are relative to the sender's message
// before, of either form, so the messages of a connection have to stay in order: they share a queue
// pair.
//
//   31-24 slot, 23 wrapped, 22 write blocked, 21-0 consumed bytes
namespace smc::wire {

struct Compact {
	std::uint8_t slot = 0; // the low 8 bits of the receiver's token
	// An RDMA write before this one has filled the receiver's ring up to its end; this one
	// begins at the ring's start.
	bool wrapped = false;
	bool write_blocked = false;
	std::uint32_t consumed_bytes = 0; // of the sender's own ring

	friend constexpr bool operator==(const Compact &, const Compact &) = default;
};

inline constexpr std::uint32_t kCompactConsumedMaxBytes = (1U << 22) - 1;

// Needs consumed_bytes <= kCompactConsumedMaxBytes.
[[nodiscard]] constexpr std::uint32_t encode(const Compact &compact)
{
	return std::uint32_t{compact.slot} << 24 | (compact.wrapped ? 1U << 23 : 0) |
	       (compact.write_blocked ? 1U << 22 : 0) | compact.consumed_bytes;
}

// Every value is one.
[[nodiscard]] constexpr Compact decode_compact(std::uint32_t immediate)
{
	return {.slot = static_cast<std::uint8_t>(immediate >> 24),
		.wrapped = (immediate & 1U << 23) != 0,
		.write_blocked = (immediate & 1U << 22) != 0,
		.consumed_bytes = immediate & kCompactConsumedMaxBytes};
}

} // namespace smc::wire
