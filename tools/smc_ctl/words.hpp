// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace smc_ctl {

// The words of a line of smc.conf: between blanks, or in double quotes, inside which a backslash
// takes the next character as it is. A '#' that begins a word begins a comment.
using Words = std::vector<std::string>;

// Throws std::invalid_argument if a quote does not end.
[[nodiscard]] Words split(const std::string &line);
// As split() reads it; in quotes only where they are needed.
[[nodiscard]] std::string quoted(const std::string &word);

} // namespace smc_ctl
