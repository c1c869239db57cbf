// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "core/ring/cursor.hpp"

namespace smc::fuzz {

// How far a cursor is ahead of a stream position, if that is less than 65536 laps.
inline std::uint64_t ahead_bytes(ring::Cursor cursor, std::uint64_t position_bytes,
				 std::uint64_t size_bytes)
{
	const std::uint64_t all_laps_bytes = 65536 * size_bytes;
	const std::uint64_t at_bytes = cursor.wrap * size_bytes + cursor.count;

	return (at_bytes + all_laps_bytes - position_bytes % all_laps_bytes) % all_laps_bytes;
}

inline ring::Cursor cursor_at(std::uint64_t position_bytes, std::uint32_t size_bytes)
{
	return {static_cast<std::uint16_t>(position_bytes / size_bytes),
		static_cast<std::uint32_t>(position_bytes % size_bytes)};
}

} // namespace smc::fuzz
