// SPDX-License-Identifier: GPL-2.0-only
//
// Hashes of a few integers, for tables in memory. Not for what a stranger may choose, unless @hash
// begins with something that he does not know.
#pragma once

#include <cstdint>

namespace smc {

// Knuth's multiplicative hash: what differs in a few bits of @value differs in the upper half.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15U;
}

} // namespace smc
