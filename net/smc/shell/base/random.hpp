// SPDX-License-Identifier: GPL-2.0-only
//
// Random numbers that cannot be guessed.
#pragma once

#include "kernel/abi/mem.h"

namespace smc::shell {

// 24 bits, for a PSN or the upper part of a token.
[[nodiscard]] inline u32 random24()
{
	// From a batch, as random64(): a call for bytes runs the generator each time.
	return static_cast<u32>(smc_random_u64() & 0xffffff);
}

// Never 0, for an ID or a token.
[[nodiscard]] inline u64 random64()
{
	u64 random = 0;
	while (random == 0)
		random = smc_random_u64();
	return random;
}

} // namespace smc::shell
