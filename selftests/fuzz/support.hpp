// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "core/base/bytes.hpp"

namespace smc::fuzz {

inline ByteSpan input(const std::uint8_t *data, std::size_t size)
{
	return std::as_bytes(std::span(data, size));
}

// Ends the run as a finding.
inline void demand(bool holds, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
	if (holds)
		return;
	std::fprintf(stderr, "broken: %s:%d\n", file, line);
	std::abort();
}

// What is accepted must encode again, to the same meaning. The second decoding gets only the
// encoder's bytes, so AddressSanitizer guards their end, too.
template <class Value, class Decode>
void demand_round_trip(const Value &value, Decode decode)
{
	std::array<std::byte, 8192> space;
	const std::size_t length = encode(value, space);
	demand(length > 0);
	const auto again = decode(ByteSpan(space).first(length));
	demand(again.has_value());
	demand(*again == value);
}

} // namespace smc::fuzz
