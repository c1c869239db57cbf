// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "json.hpp"

#include <string>
#include <vector>

namespace smc_ctl {

// What was looked at, how it is, and what to do about it.
struct Finding {
	enum class Level {
		kOk,
		kNote, // it may matter
		kBad,  // it makes connections to other hosts TCP
	} level;
	std::string what; // a word
	std::string text;
	std::string advice{}; // empty: none
};

// For people.
void print(const std::vector<Finding> &findings);
[[nodiscard]] Json json_of(const std::vector<Finding> &findings);
void append(std::vector<Finding> &findings, const std::vector<Finding> &more);
[[nodiscard]] bool all_good(const std::vector<Finding> &findings);

} // namespace smc_ctl
