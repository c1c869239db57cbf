// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smc_ctl {

struct Process {
	int pid = 0;
	std::string name;
};

// Who has which socket open, by inode.
using Owners = std::multimap<std::uint64_t, Process>;

// Only processes that the caller may look at.
[[nodiscard]] Owners owners_of_sockets();

// Those of one socket: " redis-server(4711)" for each, or an array.
[[nodiscard]] std::string text_of(const Owners &owners, std::uint64_t inode);
[[nodiscard]] Json json_of(const Owners &owners, std::uint64_t inode);

} // namespace smc_ctl
