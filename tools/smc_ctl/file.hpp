// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace smc_ctl {

// Without its end; empty if it cannot be read.
[[nodiscard]] std::string first_line(const std::string &path);
// Writes a sysctl, or a file that need not be there. Throws std::system_error.
void write_file(const std::string &path, const std::string &text);
// Who reads the file meanwhile sees all of the old one or all of the new one. @keep_old: as
// @path.old.
void replace_file(const std::string &path, const std::string &text, bool keep_old);

} // namespace smc_ctl
