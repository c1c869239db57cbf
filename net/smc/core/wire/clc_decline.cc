// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include "core/wire/clc_layout.hpp"

namespace smc::wire {

namespace {

using layout::DeclineFixed;
using MoreReasons = std::array<Be32, 4>;

constexpr std::size_t kSizeV1 = sizeof(DeclineFixed) + kClcTrailerSize;
constexpr std::size_t kSizeV2 = kSizeV1 + sizeof(MoreReasons);
static_assert(kSizeV1 == 28 && kSizeV2 == kClcDeclineSizeMax);

} // namespace

std::size_t encode(const Decline &decline, MutableByteSpan out)
{
	const bool v1 = decline.version == 1;
	const auto os = static_cast<unsigned>(decline.os);
	if (decline.version < 1 || decline.version > 15 || os > 15)
		return 0;
	layout::Writer writer(out);
	writer.put(
		DeclineFixed{.header = layout::make_header(layout::kEyecatcherR, ClcType::kDecline,
							   v1 ? kSizeV1 : kSizeV2, decline.version,
							   decline.out_of_sync ? 0x08 : 0),
			     .peer_id = decline.peer_id,
			     .reason = Be32::from(static_cast<std::uint32_t>(decline.reason)),
			     .os = static_cast<std::uint8_t>(v1 ? 0 : os << 4)});
	if (!v1) {
		for (const std::uint32_t reason : decline.more_reasons)
			writer.put(Be32::from(reason));
	}
	writer.put(layout::kEyecatcherR);
	return writer.finish();
}

// The trailer is not checked, as in Linux: whatever it is, the peer does not want SMC. Nor does the
// version decide which of the two lengths a Decline has: Linux 5.10 to 5.15 send the shorter one in
// both.
Result<Decline, ClcError> decode_decline(ByteSpan message)
{
	const auto header = SMC_TRY(layout::open_message(message, ClcType::kDecline));
	const bool v1 = header.version() == 1;
	const auto fixed = load<DeclineFixed>(message);
	if (!fixed || (message.size() != kSizeV1 && message.size() != kSizeV2))
		return fail(ClcError::kBadLength);

	Decline decline{.version = header.version(),
			.out_of_sync = header.flag(),
			.peer_id = fixed->peer_id,
			.reason = static_cast<DeclineReason>(fixed->reason.get()),
			.os = v1 ? ClcOs::kUnknown : static_cast<ClcOs>(fixed->os >> 4)};
	const bool has_more = message.size() == kSizeV2 && !v1;
	if (const auto more = load<MoreReasons>(message, sizeof(DeclineFixed)); more && has_more) {
		for (std::size_t i = 0; i < more->size(); i++)
			decline.more_reasons[i] = (*more)[i].get();
	}
	return decline;
}

std::uint8_t decline_version(ByteSpan message)
{
	const auto header = load<layout::ClcHeader>(message);
	if (!header || header->version() < 2)
		return 1;
	const bool proposal = header->type == static_cast<std::uint8_t>(ClcType::kProposal);
	return proposal && !offers_r(static_cast<ClcMode>(header->type_v2())) ? 1 : 2;
}

} // namespace smc::wire
