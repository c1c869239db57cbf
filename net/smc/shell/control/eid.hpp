// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/base/fixed_vector.hpp"
#include "core/control/eid_table.hpp"
#include "kernel/abi/types.h"

namespace smc::control {

// The user EIDs of a network namespace. A new namespace has none: a container neither sees nor uses
// those of the host. Any context.
using Eids = FixedVector<Eid, EidTable::kCapacity>;
[[nodiscard]] Eids eids_of(net *net);

} // namespace smc::control
