// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace smc_ctl {

// Writes a sysctl, or a file that need not be there. Throws std::system_error.
void write_file(const std::string &path, const std::string &text);
// Who reads the file meanwhile sees all of the old one or all of the new one.
void replace_file_at_once(const std::string &path, const std::string &text);

} // namespace smc_ctl
