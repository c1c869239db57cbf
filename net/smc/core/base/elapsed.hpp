// SPDX-License-Identifier: GPL-2.0-only
//
// Time that has gone by. Who took the earlier time may have read a clock a little ahead of that of
// who asks now: then it is none, and not an age.
#pragma once

#include <cstdint>

namespace smc {

[[nodiscard]] constexpr std::uint64_t elapsed_ms(std::uint64_t since_ms, std::uint64_t now_ms)
{
	return now_ms > since_ms ? now_ms - since_ms : 0;
}

} // namespace smc
