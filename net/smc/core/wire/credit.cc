// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/credit.hpp"

#include <array>
#include <cstring>

#include "core/base/endian.hpp"

namespace smc::wire {

namespace {

constexpr std::uint8_t kType = 0x7c;

struct Layout {
	std::uint8_t type = kType;
	std::uint8_t length = kCreditSize;
	std::array<std::uint8_t, 2> reserved{};
	Be32 taken{};
	std::array<std::uint8_t, 36> reserved2{};
};
static_assert(sizeof(Layout) == kCreditSize && alignof(Layout) == 1);

} // namespace

void encode(const Credit &credit, MutableByteSpan out)
{
	const Layout layout{.taken = Be32::from(credit.taken)};

	std::memcpy(out.data(), &layout, sizeof(layout));
}

std::optional<Credit> decode_credit(ByteSpan message)
{
	const auto layout = load<Layout>(message);

	if (!layout || layout->type != kType || layout->length != kCreditSize)
		return std::nullopt;
	return Credit{layout->taken.get()};
}

} // namespace smc::wire
