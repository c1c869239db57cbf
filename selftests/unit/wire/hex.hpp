// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "wire/hex_byte.hpp"

namespace smc::testing {

// Exactly as large as its content, so that AddressSanitizer sees a read behind the end.
using Bytes = std::vector<std::byte>;

// Bytes from hex digits; blanks are ignored.
inline Bytes hex(std::string_view text)
{
	std::string digits;
	std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
		     [](char c) { return c != ' ' && c != '\n' && c != '\t'; });
	return from_hex(digits);
}

inline std::string to_hex(const Bytes &bytes)
{
	constexpr std::string_view kDigits = "0123456789abcdef";
	std::string text;
	for (const std::byte byte : bytes) {
		text += kDigits[std::to_integer<unsigned>(byte) >> 4];
		text += kDigits[std::to_integer<unsigned>(byte) & 15];
	}
	return text;
}

inline Bytes first(const Bytes &bytes, std::size_t count)
{
	return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

inline Bytes with(Bytes bytes, std::size_t at, std::uint8_t value)
{
	bytes.at(at) = std::byte{value};
	return bytes;
}

inline Bytes with_be16(const Bytes &bytes, std::size_t at, std::uint16_t value)
{
	return with(with(bytes, at, static_cast<std::uint8_t>(value >> 8)), at + 1,
		    static_cast<std::uint8_t>(value & 0xff));
}

// The bytes that an encoder writes into a large buffer; empty if it refuses.
template <class Value>
Bytes encoded(const Value &value)
{
	static std::array<std::byte, 8192> space;
	space.fill(std::byte{0xa5}); // every byte must be written, reserved ones too
	const std::size_t length = encode(value, space);
	return {space.begin(), space.begin() + static_cast<std::ptrdiff_t>(length)};
}

template <class Id>
Id id_from_hex(std::string_view text)
{
	const Bytes bytes = hex(text);
	Id id{};
	if (bytes.size() != Id::kSize) {
		ADD_FAILURE() << "wrong size for this type: " << text;
		return id;
	}
	std::transform(bytes.begin(), bytes.end(), id.bytes.begin(),
		       [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
	return id;
}

template <std::size_t Size = 32>
std::array<std::uint8_t, Size> padded(std::string_view text)
{
	std::array<std::uint8_t, Size> bytes;
	bytes.fill(' ');
	std::copy(text.begin(), text.end(), bytes.begin());
	return bytes;
}

} // namespace smc::testing
