// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "kind.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace smc_ctl {

// A file that cannot be used; a line of text for each error in it.
class ConfigError : public std::runtime_error {
public:
	using std::runtime_error::runtime_error;
};

// What a file says about one kind that it manages.
struct Wanted {
	std::vector<Statement> texts; // in their order
	std::map<Statement, int> lines;
};

// By the word of the kind; kinds of which the file has no line are not there.
using Config = std::map<std::string, Wanted>;

// Throws ConfigError, and std::system_error if the file cannot be read.
[[nodiscard]] Config read_config(const std::string &path);

} // namespace smc_ctl
