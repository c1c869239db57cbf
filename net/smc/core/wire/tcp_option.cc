// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/tcp_option.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace smc::wire {

namespace {

constexpr std::uint8_t kEnd = 0;
constexpr std::uint8_t kNop = 1;
constexpr std::uint8_t kMd5 = 19;
constexpr std::uint8_t kAo = 29;
constexpr std::uint8_t kExperimental = 254;

constexpr std::array<std::uint8_t, kTcpOptionPaddedSize> kPadded = {
	kNop, kNop, kExperimental, kTcpOptionSize, 0xe2, 0xd4, 0xc3, 0xd9,
};
constexpr std::size_t kMagicOffset = 4; // in kPadded
constexpr std::size_t kMagicSize = 4;

struct Option {
	std::uint8_t kind;
	ByteSpan bytes; // with kind and length
};

// The offset of the first option that @is_it says yes to. A block that is malformed ends where it
// goes wrong.
template <class Predicate>
inline std::optional<std::size_t> find(ByteSpan options, Predicate is_it)
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
		if (is_it(Option{kind, options.subspan(at, length)}))
			return at;
		at += length;
	}
	return std::nullopt;
}

} // namespace

std::size_t encode_tcp_option(MutableByteSpan out)
{
	if (out.size() < kPadded.size())
		return 0;
	std::memcpy(out.data(), kPadded.data(), kPadded.size());
	return kPadded.size();
}

bool has_tcp_signature(ByteSpan options)
{
	return find(options,
		    [](const Option &option) { return option.kind == kMd5 || option.kind == kAo; })
		.has_value();
}

std::optional<std::size_t> find_tcp_option(ByteSpan options)
{
	// An odd length is TCP Fast Open's or another user's of the shared kind, and Linux does not
	// look at the magic then; longer ones are allowed.
	return find(options, [](const Option &option) {
		return option.kind == kExperimental && option.bytes.size() >= kTcpOptionSize &&
		       option.bytes.size() % 2 == 0 &&
		       std::memcmp(option.bytes.data() + 2, kPadded.data() + kMagicOffset,
				   kMagicSize) == 0;
	});
}

} // namespace smc::wire
