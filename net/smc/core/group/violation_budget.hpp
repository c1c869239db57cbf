// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/group/limits.hpp"

namespace smc::group {

// How many violations a group bears. A peer that breaks the protocol all the time uses them up; one
// that does so now and then, in a group that lives for months, never does, because one violation is
// forgotten each kViolationForgotten_ms. Times are of any monotonic clock.
class ViolationBudget {
public:
	void spend(std::uint32_t violations, std::uint64_t now_ms)
	{
		if (spent_ == 0 || now_ms < since_ms_)
			since_ms_ = now_ms;
		const std::uint64_t forgotten = std::min<std::uint64_t>(
			spent_, (now_ms - since_ms_) / kViolationForgotten_ms);

		spent_ -= static_cast<std::uint32_t>(forgotten);
		since_ms_ = spent_ == 0 ? now_ms : since_ms_ + forgotten * kViolationForgotten_ms;
		spent_ += violations;
	}

	[[nodiscard]] bool used_up() const { return spent_ >= kViolationsMax; }

private:
	std::uint32_t spent_ = 0;
	std::uint64_t since_ms_ = 0; // kViolationForgotten_ms later the next one is forgotten
};

} // namespace smc::group
