// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>

// The sysctls net.smc.* of this network namespace, but for those by which sockets are selected.
namespace smc_ctl::setting {

// By name. Empty if smc.ko is not loaded.
[[nodiscard]] std::map<std::string, std::uint32_t> all();
// Throws std::system_error, for one if the value is out of range.
void set(const std::string &name, std::uint32_t value);

} // namespace smc_ctl::setting
