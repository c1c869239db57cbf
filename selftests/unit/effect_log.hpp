// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

namespace smc {

// The effects of a machine, in order. Effect: a variant.
template <class Effect>
class EffectLog {
public:
	// How often an effect occurred.
	template <class Wanted>
	[[nodiscard]] int count() const
	{
		return static_cast<int>(
			std::count_if(log_.begin(), log_.end(), [](const Effect &effect) {
				return std::holds_alternative<Wanted>(effect);
			}));
	}
	// The last one of its kind, or nullptr.
	template <class Wanted>
	[[nodiscard]] const Wanted *last() const
	{
		const Wanted *found = nullptr;

		for (const Effect &effect : log_) {
			if (const auto *wanted = std::get_if<Wanted>(&effect))
				found = wanted;
		}
		return found;
	}

protected:
	std::vector<Effect> log_;
};

} // namespace smc
