// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/cdc.hpp"

namespace smc::wire {

using namespace std::string_view_literals;

namespace {

struct CursorLayout {
	std::array<std::uint8_t, 2> reserved{};
	Be16 wrap{};
	Be32 count{};
};

struct CdcLayout {
	std::uint8_t type = kCdcType;
	std::uint8_t length = kCdcSize;
	Be16 sequence{};
	Be32 token{};
	CursorLayout producer{};
	CursorLayout consumer{};
	std::uint8_t producer_flags = 0;
	std::uint8_t state_flags = 0;
	std::uint8_t ring = 0;
	std::uint8_t offered_size = 0; // kOffers and the size's code, or 0
	std::uint8_t offered_index = 0;
	std::array<std::uint8_t, 3> reserved{};
	Be32 offered_rkey{};
	Be64 offered_address{};
};
static_assert(sizeof(CdcLayout) == kCdcSize && alignof(CdcLayout) == 1);
static_assert(offsetof(CdcLayout, token) == 4 && offsetof(CdcLayout, producer) == 8);
static_assert(offsetof(CdcLayout, consumer) == 16 && offsetof(CdcLayout, producer_flags) == 24);

constexpr std::uint8_t kOffers = 0x80;

CursorLayout layout_of(const CdcCursor &cursor)
{
	return {.wrap = Be16::from(cursor.wrap), .count = Be32::from(cursor.count)};
}

CdcCursor cursor_from(const CursorLayout &layout)
{
	return {.wrap = layout.wrap.get(), .count = layout.count.get()};
}

} // namespace

std::string_view name(CdcError error)
{
	switch (error) {
	case CdcError::kTruncated: return "truncated"sv;
	case CdcError::kBadType: return "bad type"sv;
	case CdcError::kBadLength: return "bad length"sv;
	}
	return "unknown"sv;
}

void encode(const Cdc &cdc, std::span<std::byte, kCdcSize> out)
{
	CdcLayout layout{.sequence = Be16::from(cdc.sequence),
			 .token = Be32::from(cdc.token.value()),
			 .producer = layout_of(cdc.producer),
			 .consumer = layout_of(cdc.consumer),
			 .producer_flags = cdc.producer_flags.to_byte(),
			 .state_flags = cdc.state_flags.to_byte(),
			 .ring = cdc.ring};
	if (cdc.offer) {
		layout.offered_size = kOffers | cdc.offer->size.code();
		layout.offered_index = cdc.offer->rmbe_index;
		layout.offered_rkey = Be32::from(cdc.offer->rkey.value());
		layout.offered_address = Be64::from(cdc.offer->rmb_address);
	}
	std::memcpy(out.data(), &layout, sizeof(layout));
}

Result<Cdc, CdcError> decode_cdc(ByteSpan received)
{
	const auto layout = load<CdcLayout>(received);
	if (!layout)
		return fail(CdcError::kTruncated);
	if (layout->type != kCdcType)
		return fail(CdcError::kBadType);
	if (layout->length != kCdcSize)
		return fail(CdcError::kBadLength);
	std::optional<RingOffer> offer;
	if ((layout->offered_size & kOffers) != 0)
		offer = RingOffer{
			.rkey = Rkey{layout->offered_rkey.get()},
			.rmb_address = layout->offered_address.get(),
			.rmbe_index = layout->offered_index,
			.size = BufferSize{static_cast<std::uint8_t>(layout->offered_size & 0x0f)}};
	return Cdc{.sequence = layout->sequence.get(),
		   .token = Token{layout->token.get()},
		   .producer = cursor_from(layout->producer),
		   .consumer = cursor_from(layout->consumer),
		   .producer_flags = ProducerFlags::from_byte(layout->producer_flags),
		   .state_flags = StateFlags::from_byte(layout->state_flags),
		   .ring = layout->ring,
		   .offer = offer};
}

} // namespace smc::wire
