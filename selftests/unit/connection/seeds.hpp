// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <cstdlib>

namespace smc::connection::test {

// The seeds of random runs, from first to last. SMC_SEED=n runs that one alone, SMC_SEEDS=n the
// first n; in a kernel, which has no environment, it is the default number.
struct Seeds {
	explicit Seeds(std::uint32_t count) : last(count)
	{
#ifndef __KERNEL__
		if (const char *seeds = std::getenv("SMC_SEEDS"))
			last = static_cast<std::uint32_t>(std::strtoul(seeds, nullptr, 10));
		if (const char *seed = std::getenv("SMC_SEED"))
			first = last = static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10));
#endif
	}

	std::uint32_t first = 1;
	std::uint32_t last;
};

} // namespace smc::connection::test
