// SPDX-License-Identifier: GPL-2.0-only
//
// LLC messages of version 2 have fields in the byte order of the machine that sends them. Those in
// golden.hpp and handmade.hpp are of little-endian machines.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/hex_byte.hpp"

namespace smc {

// The same message as a big-endian machine sends it.
inline std::vector<std::byte> as_big_endian(std::vector<std::byte> message)
{
	constexpr std::size_t kLength = 1;
	constexpr std::size_t kAddLinkKeys = 70;
	const auto type = std::to_integer<unsigned>(message.at(0));

	if (type >> 4 == 2)
		std::swap(message.at(kLength), message.at(kLength + 1));
	if (type == 0x22 && message.size() > kAddLinkKeys + 1)
		std::swap(message.at(kAddLinkKeys), message.at(kAddLinkKeys + 1));
	return message;
}

// The same message as this machine sends it.
inline std::vector<std::byte> as_sent_here(const std::vector<std::byte> &message)
{
	return std::endian::native == std::endian::big ? as_big_endian(message) : message;
}

inline std::vector<std::byte> as_sent_here(std::string_view hex)
{
	return as_sent_here(from_hex(hex));
}

} // namespace smc
