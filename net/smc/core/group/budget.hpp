// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/group/limits.hpp"

namespace smc::group {

// How much of something a group bears from its peer. A peer that does it all the time uses the
// budget up; one that does so now and then, in a group that lives for months, never does, because
// one is forgotten each ForgottenMs. Times are of any monotonic clock.
template <std::uint32_t Max, std::uint64_t ForgottenMs>
class Budget {
public:
	void spend(std::uint32_t count, std::uint64_t now_ms)
	{
		if (spent_ == 0 || now_ms < since_ms_)
			since_ms_ = now_ms;
		const std::uint64_t forgotten =
			std::min<std::uint64_t>(spent_, (now_ms - since_ms_) / ForgottenMs);

		spent_ -= static_cast<std::uint32_t>(forgotten);
		since_ms_ = spent_ == 0 ? now_ms : since_ms_ + forgotten * ForgottenMs;
		spent_ += count;
	}

	[[nodiscard]] bool used_up() const { return spent_ >= Max; }

private:
	std::uint32_t spent_ = 0;
	std::uint64_t since_ms_ = 0; // ForgottenMs later the next one is forgotten
};

// Violations of the protocol.
using ViolationBudget = Budget<kViolationsMax, kViolationForgotten_ms>;
// Links that were begun to be added: each costs a queue pair.
using AdditionBudget = Budget<kAdditionsMax, kAdditionForgotten_ms>;

} // namespace smc::group
