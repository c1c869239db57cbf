// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace smc_ctl {

// Writes a sysctl, or a file that need not be there. Throws std::system_error.
void write_file(const std::string &path, const std::string &text);

} // namespace smc_ctl
