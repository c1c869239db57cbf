// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/credit.hpp"

#include <array>
#include <cstring>

#include "core/base/endian.hpp"

namespace smc::wire {

namespace {

constexpr std::uint8_t kType = 0x7c;
constexpr std::uint8_t kQuestion = 0x80;

struct Layout {
	std::uint8_t type = kType;
	std::uint8_t length = kCreditSize;
	std::uint8_t flags = 0;
	std::uint8_t reserved = 0;
	Be32 taken{};
	Be32 arrived{};
	std::array<std::uint8_t, 32> reserved2{};
};
static_assert(sizeof(Layout) == kCreditSize && alignof(Layout) == 1);

} // namespace

void encode(const Credit &credit, MutableByteSpan out)
{
	const Layout layout{.flags = credit.question ? kQuestion : std::uint8_t{0},
			    .taken = Be32::from(credit.taken),
			    .arrived = Be32::from(credit.arrived)};

	std::memcpy(out.data(), &layout, sizeof(layout));
}

std::optional<Credit> decode_credit(ByteSpan message)
{
	const auto layout = load<Layout>(message);

	if (!layout || layout->type != kType || layout->length != kCreditSize)
		return std::nullopt;
	return Credit{.taken = layout->taken.get(),
		      .arrived = layout->arrived.get(),
		      .question = (layout->flags & kQuestion) != 0};
}

} // namespace smc::wire
