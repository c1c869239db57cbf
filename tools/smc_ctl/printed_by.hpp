// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

namespace smc_ctl {

// What a shell command prints; nothing if there is no shell.
[[nodiscard]] std::optional<std::string> printed_by(const std::string &command);

} // namespace smc_ctl
