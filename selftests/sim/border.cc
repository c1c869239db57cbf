// SPDX-License-Identifier: GPL-2.0-only
#include "border.hpp"

#include <span>

extern "C" {
extern const std::uint64_t border_functions;
extern const char *const border_names[];
extern std::uint64_t border_counts[]; // grows with each call
}

namespace sim {
namespace {

std::span<const std::uint64_t> counts()
{
	return {border_counts, border_functions};
}

} // namespace

BorderCount::BorderCount() : before_(counts().begin(), counts().end()) {}

std::uint64_t BorderCount::crossings() const
{
	std::uint64_t sum = 0;

	for (std::size_t i = 0; i < before_.size(); i++)
		sum += counts()[i] - before_[i];
	return sum;
}

std::string BorderCount::list() const
{
	std::string text;

	for (std::size_t i = 0; i < before_.size(); i++) {
		const std::uint64_t calls = counts()[i] - before_[i];

		if (calls != 0)
			text += (text.empty() ? "" : ", ") + std::string(border_names[i]) + " " +
				std::to_string(calls);
	}
	return text;
}

} // namespace sim
