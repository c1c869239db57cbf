// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace smc_ctl {

// What a fallback reason (a diagnosis of the CLC Decline message) means.
[[nodiscard]] std::string describe_reason(std::uint32_t code);
// What can be done about it; empty if that is not known.
[[nodiscard]] std::string advise_about(std::uint32_t code);

} // namespace smc_ctl
