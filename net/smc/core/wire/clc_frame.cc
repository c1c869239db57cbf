// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <algorithm>

#include "core/wire/clc_layout.hpp"

namespace smc::wire {

using namespace std::string_view_literals;

namespace {

// Shortest message of a type in any version and for any transport.
constexpr std::size_t shortest(ClcType type)
{
	switch (type) {
	case ClcType::kProposal:
		return sizeof(layout::ProposalFixed) + sizeof(layout::Prefix) + kClcTrailerSize;
	case ClcType::kAccept:
	case ClcType::kConfirm:
		return sizeof(layout::AcceptD) + layout::kAcceptDV1ReservedSize + kClcTrailerSize;
	case ClcType::kDecline: return sizeof(layout::DeclineFixed) + kClcTrailerSize;
	}
	return 0;
}

constexpr bool is_type(std::uint8_t byte)
{
	return byte >= static_cast<std::uint8_t>(ClcType::kProposal) &&
	       byte <= static_cast<std::uint8_t>(ClcType::kDecline);
}

bool starts_like(ByteSpan bytes, const layout::Eyecatcher &eyecatcher)
{
	const std::size_t seen = std::min(bytes.size(), eyecatcher.size());
	return seen == 0 || std::memcmp(bytes.data(), eyecatcher.data(), seen) == 0;
}

// Whether the first bytes, up to a whole header, rule a CLC message out.
bool ruled_out(ByteSpan bytes)
{
	const auto byte = [bytes](std::size_t i) {
		return std::to_integer<std::uint8_t>(bytes[i]);
	};
	const std::size_t seen = bytes.size();

	if (!starts_like(bytes, layout::kEyecatcherR) && !starts_like(bytes, layout::kEyecatcherD))
		return true;
	if (seen > offsetof(layout::ClcHeader, type) && !is_type(byte(4)))
		return true;
	if (seen > offsetof(layout::ClcHeader, length)) {
		const std::size_t length_min = std::size_t{byte(5)} << 8;
		if (length_min > kClcMessageSizeMax)
			return true;
		if (seen > offsetof(layout::ClcHeader, length) + 1) {
			const std::size_t length = length_min | byte(6);
			if (length > kClcMessageSizeMax ||
			    length < shortest(static_cast<ClcType>(byte(4))))
				return true;
		}
	}
	return seen > offsetof(layout::ClcHeader, version_and_types) && byte(7) >> 4 == 0;
}

} // namespace

ClcFrame clc_frame(ByteSpan peeked)
{
	ClcFrame frame;
	if (ruled_out(peeked.first(std::min(peeked.size(), kClcHeaderSize)))) {
		frame.state = ClcFrame::State::kNotClc;
		return frame;
	}
	const auto header = load<layout::ClcHeader>(peeked);
	if (!header) {
		frame.length_bytes = kClcHeaderSize;
		return frame;
	}
	frame.type = static_cast<ClcType>(header->type);
	frame.version = header->version();
	frame.length_bytes = header->length.get();
	if (peeked.size() >= frame.length_bytes)
		frame.state = ClcFrame::State::kComplete;
	return frame;
}

Result<ClcType, ClcError> clc_type(ByteSpan message)
{
	const auto header = load<layout::ClcHeader>(message);
	if (!header)
		return fail(ClcError::kTruncated);
	if (!layout::is_eyecatcher(header->eyecatcher))
		return fail(ClcError::kBadEyecatcher);
	if (!is_type(header->type))
		return fail(ClcError::kBadType);
	if (header->version() == 0)
		return fail(ClcError::kBadVersion);
	return static_cast<ClcType>(header->type);
}

std::string_view name(ClcError error)
{
	switch (error) {
	case ClcError::kTruncated: return "truncated"sv;
	case ClcError::kBadEyecatcher: return "bad eyecatcher"sv;
	case ClcError::kBadVersion: return "bad version"sv;
	case ClcError::kBadType: return "bad type"sv;
	case ClcError::kBadLength: return "bad length"sv;
	case ClcError::kBadTrailer: return "bad trailer"sv;
	case ClcError::kBadMode: return "bad mode"sv;
	case ClcError::kBadOffset: return "bad offset"sv;
	case ClcError::kBadCount: return "bad count"sv;
	case ClcError::kBadField: return "bad field"sv;
	}
	return "unknown"sv;
}

namespace layout {

Result<ClcHeader, ClcError> open_message(ByteSpan message, ClcType type)
{
	if (SMC_TRY(clc_type(message)) != type)
		return fail(ClcError::kBadType);
	const auto header = load<ClcHeader>(message);
	const std::size_t length = header->length.get();
	if (length > message.size())
		return fail(ClcError::kTruncated);
	if (length != message.size() || length < shortest(type))
		return fail(ClcError::kBadLength);
	return *header;
}

bool has_trailer(ByteSpan message)
{
	const auto trailer = load<Eyecatcher>(message, message.size() - kClcTrailerSize);
	return trailer && is_eyecatcher(*trailer);
}

ClcHeader make_header(const Eyecatcher &eyecatcher, ClcType type, std::size_t length,
		      std::uint8_t version, std::uint8_t types)
{
	return {.eyecatcher = eyecatcher,
		.type = static_cast<std::uint8_t>(type),
		.length = Be16::from(static_cast<std::uint16_t>(length)),
		.version_and_types = static_cast<std::uint8_t>(version << 4 | types)};
}

} // namespace layout

} // namespace smc::wire
