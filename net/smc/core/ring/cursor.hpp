// SPDX-License-Identifier: GPL-2.0-only
//
// Cursor: a place in a byte ring as CDC messages carry it (RFC 7609 "cursor"): the offset of a byte
// and how often the ring has been walked round. A ring of `size_bytes` bytes has offsets
// 0 .. size_bytes - 1; when the offset would reach the size it restarts at 0 and the 16-bit wrap
// count goes up by one, itself wrapping at 65536. Two cursors with equal offsets are the same place
// if their wraps agree, and a whole ring apart if they differ by one.
//
// Ring sizes need not be powers of two (an SMC-D ring is a power of two less 32), so nothing here
// masks, and nothing divides. All functions are pure; no locking.
#pragma once

#include <cstdint>
#include <optional>

namespace smc::ring {

// Largest ring any encoding can name: 16 KiB << 15. Sums of two offsets stay below 2^31.
inline constexpr std::uint32_t kMaxSizeBytes = 16384u << 15;

struct Cursor {
	std::uint16_t wrap = 0;
	std::uint32_t count = 0;

	[[nodiscard]] friend constexpr bool operator==(Cursor, Cursor) = default;
};

// Whether the cursor names a byte of the ring at all. A cursor off the wire must pass this first.
[[nodiscard]] constexpr bool is_inside(Cursor cursor, std::uint32_t size_bytes)
{
	return cursor.count < size_bytes;
}

// The place `bytes` further on. Needs is_inside(cursor) and bytes <= size_bytes.
[[nodiscard]] constexpr Cursor advance(Cursor cursor, std::uint32_t bytes, std::uint32_t size_bytes)
{
	const std::uint32_t to_end_bytes = size_bytes - cursor.count;
	if (bytes < to_end_bytes)
		return {cursor.wrap, cursor.count + bytes};
	return {static_cast<std::uint16_t>(cursor.wrap + 1), bytes - to_end_bytes};
}

// The place `bytes` back: the inverse of advance(), with the same needs.
[[nodiscard]] constexpr Cursor retreat(Cursor cursor, std::uint32_t bytes, std::uint32_t size_bytes)
{
	if (bytes <= cursor.count)
		return {cursor.wrap, cursor.count - bytes};
	return {static_cast<std::uint16_t>(cursor.wrap - 1), cursor.count + size_bytes - bytes};
}

// How far `to` lies ahead of `from`: 0 .. size_bytes, or nothing when `to` is behind `from` or more
// than a ring ahead of it. Both cursors must be inside the ring.
[[nodiscard]] constexpr std::optional<std::uint32_t>
forward_distance_bytes(Cursor from, Cursor to, std::uint32_t size_bytes)
{
	const auto laps = static_cast<std::uint16_t>(to.wrap - from.wrap);
	if (laps == 0 && to.count >= from.count)
		return to.count - from.count;
	if (laps == 1 && to.count <= from.count)
		return size_bytes - from.count + to.count;
	return std::nullopt;
}

} // namespace smc::ring
