// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

// systemd's units that are selected for SMC, by a drop-in that lasts. All throw std::system_error.
namespace smc_ctl::unit {

// "x" is "x.service".
[[nodiscard]] std::string full_name(const std::string &name);
// False if it has the drop-in already. Takes effect when the unit is started next.
[[nodiscard]] bool add(const std::string &name);
// False if it has none.
[[nodiscard]] bool remove(const std::string &name);
[[nodiscard]] std::vector<std::string> selected();
// Of a unit that runs, as Cgroup takes it; else empty.
[[nodiscard]] std::string cgroup(const std::string &name);

} // namespace smc_ctl::unit
