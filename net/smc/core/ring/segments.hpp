// SPDX-License-Identifier: GPL-2.0-only
//
// Segments: a stretch of a byte ring as the one or two contiguous pieces that it consists of.
// Pure values; no locking.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/ring/cursor.hpp"

namespace smc::ring {

// `length_bytes` bytes that begin `offset_bytes` into the ring's memory; never runs past its end.
struct Segment {
	std::uint32_t offset_bytes = 0;
	std::uint32_t length_bytes = 0;

	[[nodiscard]] friend constexpr bool operator==(const Segment &, const Segment &) = default;
};

// Pieces in stream order. None is empty; an empty stretch has no pieces.
class Segments {
public:
	constexpr Segments() = default;

	// The pieces of the `length_bytes` bytes that start at ring offset `offset_bytes`. Needs
	// offset_bytes < size_bytes and length_bytes <= size_bytes.
	constexpr Segments(std::uint32_t offset_bytes, std::uint32_t length_bytes,
			   std::uint32_t size_bytes)
	{
		const std::uint32_t first_bytes = std::min(length_bytes, size_bytes - offset_bytes);
		if (first_bytes != 0)
			pieces_[count_++] = {offset_bytes, first_bytes};
		if (length_bytes != first_bytes)
			pieces_[count_++] = {0, length_bytes - first_bytes};
	}

	[[nodiscard]] constexpr std::span<const Segment> pieces() const
	{
		return {pieces_.data(), count_};
	}
	[[nodiscard]] constexpr const Segment *begin() const { return pieces_.data(); }
	[[nodiscard]] constexpr const Segment *end() const { return pieces_.data() + count_; }
	[[nodiscard]] constexpr bool empty() const { return count_ == 0; }
	[[nodiscard]] constexpr std::uint32_t length_bytes() const
	{
		return pieces_[0].length_bytes + pieces_[1].length_bytes;
	}

private:
	std::array<Segment, 2> pieces_{};
	std::uint8_t count_ = 0;
};

// Where the bytes lie that a cursor has passed; none if it has not gone forward by a ring at most.
[[nodiscard]] constexpr Segments between(Cursor from, Cursor to, std::uint32_t size_bytes)
{
	if (!is_inside(from, size_bytes) || !is_inside(to, size_bytes))
		return {};
	return {from.count, forward_distance_bytes(from, to, size_bytes).value_or(0), size_bytes};
}

} // namespace smc::ring
