// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/base/fixed_vector.hpp"
#include "core/control/eid_table.hpp"
#include "kernel/abi/types.h"

namespace smc::control {

// The user EIDs that connections of a network namespace have: its own or, if it has none, those of
// the initial one, unless net.smc.inherit_eids is 0 in either of the two. Any context.
using Eids = FixedVector<Eid, EidTable::kCapacity>;
[[nodiscard]] Eids eids_of(net *net);

} // namespace smc::control
