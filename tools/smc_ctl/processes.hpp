// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smc_ctl {

struct Process {
	int pid = 0;
	std::string name;
};

// Who has which socket open, by inode; only processes that the caller may look at.
[[nodiscard]] std::multimap<std::uint64_t, Process> owners_of_sockets();

} // namespace smc_ctl
