// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/bytes.hpp"

// How many messages of its peer a side has taken in so far on this link, modulo 2^32: each has
// given its receive back. Only this module has it, on links whose queue pairs must not get a
// message for which no receive is posted (iWARP). As long as an LLC message of version 1, and of a
// type that no other message has.
namespace smc::wire {

inline constexpr std::size_t kCreditSize = 44;

struct Credit {
	std::uint32_t taken = 0;

	friend constexpr bool operator==(const Credit &, const Credit &) = default;
};

// @out has kCreditSize bytes.
void encode(const Credit &credit, MutableByteSpan out);
// None if it is another message.
[[nodiscard]] std::optional<Credit> decode_credit(ByteSpan message);

} // namespace smc::wire
