// SPDX-License-Identifier: GPL-2.0-only
//
// What the doubles and the simulator have in place of smc_hash() (kernel/abi/mem.h): as good as the
// kernel's at spreading, and no secret.
#pragma once

#include <cstdint>

namespace doubles {

// The last step of splitmix64.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}

[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t key, std::uint64_t first,
					   std::uint64_t second)
{
	return spread(spread(spread(key) ^ first) ^ second);
}

} // namespace doubles
