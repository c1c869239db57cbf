// SPDX-License-Identifier: GPL-2.0-only
//
// Doubles of network namespaces with their counters (kernel/abi/pernet.h, stats.h).
#pragma once

#include <map>

#include "kernel/abi/pernet.h"
#include "kernel/abi/types.h"

struct net {
	void *control = nullptr; // the state that shell/control keeps for it
	bool gone = false;       // from now on nothing may be counted in it
	std::map<u32, s64> stats;
	u32 plain_peer_time_s = 0;
	u32 loopback = SMC_LOOPBACK_OFF;
	bool others_listen = false; // at any address
	bool inherit_eids = false;
	bool default_eid = false;
};

namespace doubles {

[[nodiscard]] net &initial_net();

} // namespace doubles
