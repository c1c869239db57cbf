// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/bytes.hpp"

// What a side has had of its peer's messages on this link so far. Only this module has it, on links
// whose queue pairs must not get a message for which no receive is posted (iWARP). As long as an
// LLC message of version 1, and of a type that no other message has.
namespace smc::wire {

inline constexpr std::size_t kCreditSize = 44;

struct Credit {
	std::uint32_t taken = 0;   // modulo 2^32: each has given its receive back
	std::uint32_t arrived = 0; // the same of those that have come
	bool question = false;     // the peer is to say the same of its side at once

	friend constexpr bool operator==(const Credit &, const Credit &) = default;
};

// @out has kCreditSize bytes.
void encode(const Credit &credit, MutableByteSpan out);
// None if it is another message.
[[nodiscard]] std::optional<Credit> decode_credit(ByteSpan message);

} // namespace smc::wire
