// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.hpp"
#include "core/wire/clc.hpp"

namespace smc::handshake {

// The head of the TCP stream, for a machine that awaits one type of message. A Decline may come
// instead of any.
enum class Head : std::uint8_t {
	kNothing, // not enough bytes yet
	kEnd,     // not enough bytes, and there will be no more
	kAwaited, // a message of the awaited type; its content may still be malformed
	kDecline, // a well-formed Decline
	kForeign, // not CLC, or not a message for this state
};

struct StreamHead {
	Head head = Head::kNothing;
	ByteSpan message;      // if kAwaited or kDecline
	wire::Decline decline; // if kDecline
};

// Without an awaited type only a Decline is expected. eof: the peer's FIN follows these bytes.
[[nodiscard]] StreamHead stream_head(ByteSpan peeked, bool eof,
				     std::optional<wire::ClcType> awaited);

} // namespace smc::handshake
