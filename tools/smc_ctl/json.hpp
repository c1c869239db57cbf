// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <nlohmann/json.hpp>

namespace smc_ctl {

// Members in the order in which they are set. Their names are in smc_ctl(8), and do not change.
using Json = nlohmann::ordered_json;

void print(const Json &json);

} // namespace smc_ctl
