// SPDX-License-Identifier: GPL-2.0-only
//
// Network namespaces with their counters (kernel/abi/pernet.h, stats.h), doubled.
#pragma once

#include <map>

#include "kernel/abi/types.h"

struct net {
	void *control = nullptr; // what shell/control has for it
	bool gone = false;       // from now on nobody may count in it
	std::map<u32, s64> stats;
};

namespace doubles {

[[nodiscard]] net &initial_net();

} // namespace doubles
