// SPDX-License-Identifier: GPL-2.0-only
//
// How often a call has crossed from one language to the other, counted by selftests/sim/border.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

// Counts from its construction on, for all fibers: no other one may run meanwhile.
class BorderCount {
public:
	BorderCount();

	[[nodiscard]] std::uint64_t crossings() const;
	// "smc_spin_lock 2, …".
	[[nodiscard]] std::string list() const;

private:
	std::vector<std::uint64_t> before_;
};

} // namespace sim
