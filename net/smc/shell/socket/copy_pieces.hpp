// SPDX-License-Identifier: GPL-2.0-only
//
// Copies between a user and stretches of a ring.
#pragma once

#include <cstddef>

#include "core/ring/segments.hpp"
#include "kernel/abi/types.h"

namespace smc::shell::stream {

// Calls @copy(piece) for each piece; it returns the bytes that it copied. Stops at the first piece
// that is copied in part. Returns the sum.
template <class Copy>
[[nodiscard]] u32 copy_pieces(const ring::Segments &segments, Copy &&copy)
{
	u32 copied = 0;

	for (const ring::Segment &piece : segments) {
		const auto n = static_cast<u32>(copy(piece));

		copied += n;
		if (n != piece.length_bytes)
			break;
	}
	return copied;
}

} // namespace smc::shell::stream
