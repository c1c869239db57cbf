// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>

#include "core/base/bytes.hpp"

// The TCP option that says "I can do SMC" on a SYN and a SYN-ACK: experimental option 254 with
// the ExID E2D4C3D9, "SMCR" in EBCDIC (RFC 7609 section 3.1, RFC 6994).
namespace smc::wire {

inline constexpr std::size_t kTcpOptionSize = 6;
// As emitted: two NOPs in front, so that what follows stays aligned.
inline constexpr std::size_t kTcpOptionPaddedSize = 8;

// Writes NOP NOP and the option at the start of a block. Returns the bytes written, 8, or 0 if
// there is no room for them.
[[nodiscard]] std::size_t encode_tcp_option(MutableByteSpan out);

// True if the block carries a signature of the segment (MD5, RFC 2385; AO, RFC 5925), which is over
// all options but itself.
[[nodiscard]] bool has_tcp_signature(ByteSpan options);

// Offset of the option's kind byte in a TCP option block (what follows the 20-byte header), or
// nothing. A block that is malformed ends where it goes wrong, as TCP itself has it.
[[nodiscard]] std::optional<std::size_t> find_tcp_option(ByteSpan options);

} // namespace smc::wire
