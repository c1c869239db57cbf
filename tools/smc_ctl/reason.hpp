// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace smc_ctl {

// What a fallback reason (a diagnosis of the CLC Decline message) means.
[[nodiscard]] std::string describe_reason(std::uint32_t code);

} // namespace smc_ctl
