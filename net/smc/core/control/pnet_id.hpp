// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smc::control {

// A physical network ID: what an administrator calls one fabric. Ports and network devices with
// equal IDs can reach each other. 1 to 16 characters A-Z and 0-9, blank padded as on the wire of
// s390 firmware. There is no value for "unset"; use an optional.
class PnetId {
public:
	static constexpr std::size_t kSize = 16;

	// From what a user wrote: blanks around it are dropped, lower case becomes upper case.
	// nullopt if nothing or something else than a letter or a digit is left, or too much.
	[[nodiscard]] static std::optional<PnetId> parse(std::string_view text);

	// 16 bytes, blank padded.
	[[nodiscard]] const std::array<std::uint8_t, kSize> &bytes() const { return bytes_; }
	// Without the padding.
	[[nodiscard]] std::size_t length() const;

	friend bool operator==(const PnetId &, const PnetId &) = default;

private:
	PnetId() { bytes_.fill(' '); }

	std::array<std::uint8_t, kSize> bytes_;
};

} // namespace smc::control
