// SPDX-License-Identifier: GPL-2.0-only
//
// Time since an earlier reading of the clock. 0 if that lies ahead of now: two processors may read
// the clock a little apart.
#pragma once

#include <cstdint>

namespace smc {

[[nodiscard]] constexpr std::uint64_t elapsed_ms(std::uint64_t since_ms, std::uint64_t now_ms)
{
	return now_ms > since_ms ? now_ms - since_ms : 0;
}

} // namespace smc
