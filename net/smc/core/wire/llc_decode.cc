// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc.hpp"

#include <algorithm>
#include <optional>

#include "core/wire/llc_layout.hpp"

namespace smc::wire {

using namespace std::string_view_literals;

namespace {

using layout::LlcHeader;
using layout::LlcType;

using Read = Result<void, LlcError>;

RemoteToken token_from(const layout::TokenEntry &entry)
{
	return {.rkey = Rkey{entry.rkey.get()}, .address = entry.address.get()};
}

LinkToken link_token_from(const layout::TokenEntry &entry)
{
	return {.link = LinkId{entry.count_or_link}, .token = token_from(entry)};
}

// Decodes the body of one whole message, of 44 bytes at least. The body is built where it will
// stay: copying a variant copies bytes that its alternative has not set, of which gcc 12 warns.
class LlcReader {
public:
	LlcReader(ByteSpan message, const LlcHeader &header, LlcVersion version, LlcBody &out)
		: message_(message), flags_(header.flags), length_(header.length),
		  v2_(version == LlcVersion::kV2), out_(out)
	{
	}

	Read read(LlcType type)
	{
		switch (type) {
		case LlcType::kConfirmLink: return read_confirm_link();
		case LlcType::kAddLink: return read_add_link();
		case LlcType::kAddLinkCont: return read_add_link_cont();
		case LlcType::kDeleteLink: return read_delete_link();
		case LlcType::kReqAddLink: return read_req_add_link();
		case LlcType::kConfirmRkey: return read_confirm_rkey();
		case LlcType::kTestLink: return read_test_link();
		case LlcType::kConfirmRkeyCont: return read_confirm_rkey_cont();
		case LlcType::kDeleteRkey: return read_delete_rkey();
		}
		return fail(LlcError::kIgnored);
	}

private:
	// Every fixed part lies in the first 44 bytes.
	template <WireStruct T>
	[[nodiscard]] T fixed() const
	{
		static_assert(sizeof(T) <= kLlcSize);
		T value;
		std::memcpy(&value, message_.data(), sizeof(T));
		return value;
	}

	// A list at an offset; nothing if it reaches past the end.
	template <class List>
	[[nodiscard]] std::optional<List> list(std::size_t at, std::size_t count) const
	{
		const std::size_t size = count * List::kItemSize;
		if (message_.size() - at < size)
			return std::nullopt;
		return List::over(message_.subspan(at, size));
	}

	[[nodiscard]] bool has(std::uint8_t flag) const { return (flags_ & flag) != 0; }

	Read read_confirm_link()
	{
		const auto in = fixed<layout::ConfirmLink>();
		out_ = ConfirmLink{.mac = in.mac,
				   .gid = in.gid,
				   .qpn = Qpn{in.qpn.get()},
				   .link = LinkId{in.link},
				   .link_uid = LinkUid{in.link_uid.get()},
				   .max_links = in.max_links,
				   .max_conns = in.max_conns,
				   .no_eyecatchers = has(layout::kFlagNoEyecatchers)};
		return {};
	}

	Read read_add_link()
	{
		const auto in = fixed<layout::AddLink>();
		AddLink out{.rejected = has(layout::kFlagRejected),
			    .mac = in.mac,
			    .gid = in.gid,
			    .qpn = Qpn{in.qpn.get()},
			    .link = LinkId{in.link},
			    .mtu = QpMtu{in.mtu},
			    .psn = Psn{in.psn.get()},
			    .extension = {}};
		if (!v2_)
			out.reject_reason = static_cast<AddLinkReject>(length_[1] & 15);
		if (v2_ && !out.rejected)
			out.extension = SMC_TRY(read_extension());
		out_ = out;
		return {};
	}

	Result<AddLinkExtension, LlcError> read_extension() const
	{
		const auto in = load<layout::AddLinkExtension>(message_, kLlcSize);
		if (!in)
			return fail(LlcError::kBadLength);
		// At most 255 keys, so one of the two bytes is zero, and the sender's byte order
		// does not matter.
		const auto [first, second] = in->rkey_count;
		if (first != 0 && second != 0)
			return fail(LlcError::kBadCount);
		const auto rkeys = list<RkeyPairList>(kLlcSize + sizeof(*in), first | second);
		if (!rkeys)
			return fail(LlcError::kBadCount);
		return AddLinkExtension{.v2_direct = (in->flags & 0x80) != 0,
					.target_gid = in->target_gid,
					.rkeys = *rkeys};
	}

	Read read_add_link_cont()
	{
		const auto in = fixed<layout::AddLinkCont>();
		AddLinkCont out{.link = LinkId{in.link}, .rkeys_left = in.rkeys_left};
		for (std::size_t i = 0; i < in.rkeys.size(); i++)
			out.rkeys[i] = {.rkey = Rkey{in.rkeys[i].rkey.get()},
					.new_rkey = Rkey{in.rkeys[i].new_rkey.get()},
					.new_address = in.rkeys[i].new_address.get()};
		out_ = out;
		return {};
	}

	Read read_delete_link()
	{
		const auto in = fixed<layout::DeleteLink>();
		out_ = DeleteLink{.all = has(layout::kFlagAll),
				  .orderly = has(layout::kFlagOrderly),
				  .link = LinkId{in.link},
				  .reason = static_cast<DeleteLinkReason>(in.reason.get())};
		return {};
	}

	Read read_req_add_link()
	{
		const auto in = fixed<layout::ReqAddLink>();
		const auto gids = list<GidList>(sizeof(in), in.gid_count);
		if (!gids)
			return fail(LlcError::kBadCount);
		out_ = ReqAddLink{.gids = *gids};
		return {};
	}

	Read read_confirm_rkey()
	{
		const auto in = fixed<layout::ConfirmRkey>();
		ConfirmRkey out{.negative = has(layout::kFlagNegative),
				.retry = has(layout::kFlagRetry),
				.others_count = in.tokens[0].count_or_link,
				.token = token_from(in.tokens[0]),
				.others = {}};
		const std::size_t here =
			std::min(std::size_t{out.others_count}, out.others.capacity());
		for (std::size_t i = 0; i < here; i++)
			(void)out.others.push_back(link_token_from(in.tokens[i + 1]));
		out_ = out;
		return {};
	}

	Read read_confirm_rkey_cont()
	{
		const auto in = fixed<layout::ConfirmRkeyCont>();
		ConfirmRkeyCont out{.negative = has(layout::kFlagNegative),
				    .tokens_left = in.tokens_left,
				    .tokens = {}};
		const std::size_t here =
			std::min(std::size_t{in.tokens_left}, out.tokens.capacity());
		for (std::size_t i = 0; i < here; i++)
			(void)out.tokens.push_back(link_token_from(in.tokens[i]));
		out_ = out;
		return {};
	}

	Read read_test_link()
	{
		out_ = TestLink{.user_data = fixed<layout::TestLink>().user_data};
		return {};
	}

	Read read_delete_rkey()
	{
		const auto in = fixed<layout::DeleteRkey>();
		DeleteRkey out{.negative = has(layout::kFlagNegative),
			       .count = in.count,
			       .errors = in.errors,
			       .rkeys = {}};
		if (!v2_ || !has(layout::kFlagResponse)) {
			if (!v2_ && in.count > DeleteRkey::kV1RkeysMax)
				return fail(LlcError::kBadCount);
			const auto rkeys = list<RkeyList>(sizeof(in), in.count);
			if (!rkeys)
				return fail(LlcError::kBadCount);
			out.rkeys = *rkeys;
		}
		out_ = out;
		return {};
	}

	ByteSpan message_;
	std::uint8_t flags_;
	std::array<std::uint8_t, 2> length_;
	bool v2_;
	LlcBody &out_;
};

bool is_known(LlcType type, LlcVersion version)
{
	switch (type) {
	case LlcType::kConfirmLink:
	case LlcType::kAddLink:
	case LlcType::kDeleteLink:
	case LlcType::kConfirmRkey:
	case LlcType::kTestLink:
	case LlcType::kDeleteRkey: return true;
	case LlcType::kAddLinkCont:
	case LlcType::kConfirmRkeyCont: return version == LlcVersion::kV1;
	case LlcType::kReqAddLink: return version == LlcVersion::kV2;
	}
	return false;
}

// The version that a type byte says; nothing if it is none of ours.
std::optional<LlcVersion> version_of(std::uint8_t type_byte)
{
	switch (type_byte & 0xf0) {
	case layout::kTypeV1: return LlcVersion::kV1;
	case layout::kTypeV2: return LlcVersion::kV2;
	}
	return std::nullopt;
}

// Length of the message. Version 2 has it in the byte order of the sender's machine, which we do
// not know: as a rule only one order gives a possible length; if both do, ours is right.
std::optional<std::size_t> length_of(const LlcHeader &header, LlcVersion version,
				     std::size_t received)
{
	if (version == LlcVersion::kV1) {
		if (header.length[0] != kLlcSize)
			return std::nullopt;
		return kLlcSize;
	}
	const auto fits = [received](std::size_t length) {
		return length >= kLlcSize && length <= received;
	};
	const std::size_t ours = std::bit_cast<Host16>(header.length).get();
	const std::size_t swapped = (ours & 0xff) << 8 | ours >> 8;
	if (fits(ours))
		return ours;
	if (fits(swapped))
		return swapped;
	return std::nullopt;
}

} // namespace

Result<LlcMessage, LlcError> decode_llc(ByteSpan received)
{
	if (received.size() < kLlcSize)
		return fail(LlcError::kTruncated);
	const auto header = load<LlcHeader>(received);
	const auto version = version_of(header->type);
	const auto type = static_cast<LlcType>(header->type & 0x0f);
	if (!version || !is_known(type, *version))
		return fail(LlcError::kIgnored);
	const auto length = length_of(*header, *version, std::min(received.size(), kLlcSizeMax));
	if (!length)
		return fail(LlcError::kBadLength);

	Result<LlcMessage, LlcError> result{std::in_place};
	result->version = *version;
	result->response = (header->flags & layout::kFlagResponse) != 0;
	LlcReader reader(received.first(*length), *header, *version, result->body);
	const auto read = reader.read(type);
	if (!read)
		result = fail(read.error());
	return result;
}

std::string_view name(LlcError error)
{
	switch (error) {
	case LlcError::kTruncated: return "truncated"sv;
	case LlcError::kBadLength: return "bad length"sv;
	case LlcError::kBadCount: return "bad count"sv;
	case LlcError::kIgnored: return "unknown type"sv;
	}
	return "unknown"sv;
}

std::string_view name(DeleteLinkReason reason)
{
	switch (reason) {
	case DeleteLinkReason::kNone: return "none"sv;
	case DeleteLinkReason::kLostPath: return "lost path"sv;
	case DeleteLinkReason::kOperator: return "operator"sv;
	case DeleteLinkReason::kProgram: return "program"sv;
	case DeleteLinkReason::kProtocolViolation: return "protocol violation"sv;
	case DeleteLinkReason::kNoAsymmetricNeeded: return "no asymmetric link needed"sv;
	case DeleteLinkReason::kUnknownLink: return "unknown link"sv;
	case DeleteLinkReason::kUnknownGroup: return "unknown link group"sv;
	}
	return "unknown"sv;
}

} // namespace smc::wire
