// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace smc {

// The byte of two hex digits.
inline std::byte byte_of_hex(std::string_view digits)
{
	std::uint8_t value = 0;
	const char *const end = digits.data() + digits.size();
	const bool whole = std::from_chars(digits.data(), end, value, 16).ptr == end;
	EXPECT_TRUE(whole && digits.size() == 2) << "no hex byte: " << digits;
	return std::byte{value};
}

// Bytes from hex digits without blanks.
inline std::vector<std::byte> from_hex(std::string_view hex)
{
	std::vector<std::byte> bytes;

	for (std::size_t i = 0; i < hex.size(); i += 2)
		bytes.push_back(byte_of_hex(hex.substr(i, 2)));
	return bytes;
}

} // namespace smc
