// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace smc_ctl {

// As the module has it: IPv4 as ::ffff:a.b.c.d.
using Address = std::array<std::uint8_t, 16>;

// IPv4 in its own form.
[[nodiscard]] std::string text_of(const Address &address);

// Addresses that begin alike.
struct Prefix {
	Address address{};
	std::uint8_t bits = 0; // of the 128; 0: every address
};

// "10.0.0.0/8", "2001:db8::/32", or an address alone. Throws NetlinkError for any other text, and
// where bits behind the prefix are set.
[[nodiscard]] Prefix parse_prefix(const std::string &text);
[[nodiscard]] bool is_in(const Address &address, const Prefix &prefix);
// "any" for 0 bits.
[[nodiscard]] std::string text_of(const Prefix &prefix);

} // namespace smc_ctl
