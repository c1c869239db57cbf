// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "words.hpp"

#include <string>
#include <vector>

namespace smc_ctl {

// A line of smc.conf without its first word, in the one form in which two that mean the same are
// the same text.
using Statement = std::string;

struct InForce {
	Statement text;
	// Something else has put it there and takes it away again: it is neither saved nor removed.
	bool passing = false;
};

// What to do to one statement, in this order.
struct Step {
	enum class What { kAdd, kRemove } what;
	Statement text;
	bool shown = true; // it is a difference
	bool done = true;  // it is not done by another step
};

// One kind of configuration: all lines that begin with the same word. @word alone on a line means
// that there is to be none. The functions throw std::exception with a text for the user.
struct Kind {
	const char *word;
	// Those that the words behind the first one mean.
	std::vector<Statement> (*parse)(const Words &words);
	// Two statements with the same key cannot stand side by side.
	std::string (*key)(const Statement &text);
	std::vector<InForce> (*in_force)();
	std::vector<Step> (*plan)(const std::vector<InForce> &before,
				  const std::vector<Statement> &wanted);
	void (*add)(const Statement &text);
	void (*remove)(const Statement &text);
};

// In the order in which they are applied: whom to refuse before whom to speak with.
[[nodiscard]] const std::vector<Kind> &kinds();

} // namespace smc_ctl
