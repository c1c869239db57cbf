// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/base/fixed_vector.hpp"
#include "core/control/eid_table.hpp"
#include "kernel/abi/types.h"

namespace smc::control {

// The EIDs that connections of a network namespace have: its own or, if it has none, those of the
// initial one, unless net.smc.inherit_eids is 0 in either of the two. The initial one without any
// has the default EID, unless net.smc.default_eid is 0 there; a namespace in which that is 0 does
// not inherit it. Any context.
using Eids = FixedVector<Eid, EidTable::kCapacity>;
[[nodiscard]] Eids eids_of(net *net);

} // namespace smc::control
