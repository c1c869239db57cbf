// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/tcp_option.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace smc::wire {

namespace {

constexpr std::uint8_t kEnd = 0;
constexpr std::uint8_t kNop = 1;
constexpr std::uint8_t kExperimental = 254;

constexpr std::array<std::uint8_t, kTcpOptionPaddedSize> kPadded = {
	kNop, kNop, kExperimental, kTcpOptionSize, 0xe2, 0xd4, 0xc3, 0xd9,
};
constexpr std::size_t kMagicOffset = 4; // in kPadded
constexpr std::size_t kMagicSize = 4;

} // namespace

std::size_t encode_tcp_option(MutableByteSpan out)
{
	if (out.size() < kPadded.size())
		return 0;
	std::memcpy(out.data(), kPadded.data(), kPadded.size());
	return kPadded.size();
}

std::optional<std::size_t> find_tcp_option(ByteSpan options)
{
	std::size_t at = 0;
	while (at < options.size()) {
		const auto kind = std::to_integer<std::uint8_t>(options[at]);
		if (kind == kEnd)
			return std::nullopt;
		if (kind == kNop) {
			at++;
			continue;
		}
		if (options.size() - at < 2)
			return std::nullopt;
		const auto length = std::to_integer<std::size_t>(options[at + 1]);
		if (length < 2 || length > options.size() - at)
			return std::nullopt;
		// An odd length is TCP Fast Open's or another user's of the shared kind, and Linux
		// does not look at the magic then; longer ones are allowed.
		if (kind == kExperimental && length >= kTcpOptionSize && length % 2 == 0 &&
		    std::memcmp(options.data() + at + 2, kPadded.data() + kMagicOffset,
				kMagicSize) == 0)
			return at;
		at += length;
	}
	return std::nullopt;
}

} // namespace smc::wire
