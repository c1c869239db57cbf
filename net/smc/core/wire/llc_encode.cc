// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc.hpp"

#include <algorithm>

#include "core/wire/llc_layout.hpp"

namespace smc::wire {

namespace {

using layout::LlcHeader;
using layout::LlcType;

// Lays out one message. Each put_… returns the message's length, or 0 if there is no such message
// or no room for it.
class LlcWriter {
public:
	LlcWriter(const LlcMessage &message, MutableByteSpan out)
		: v2_(message.version == LlcVersion::kV2), response_(message.response), out_(out)
	{
	}

	std::size_t put(const ConfirmLink &body)
	{
		const std::uint8_t flags = body.no_eyecatchers ? layout::kFlagNoEyecatchers : 0;
		return put_short(layout::ConfirmLink{.header = header(LlcType::kConfirmLink, flags),
						     .mac = body.mac,
						     .gid = body.gid,
						     .qpn = Be24::from(body.qpn.value()),
						     .link = body.link.value(),
						     .link_uid = Be32::from(body.link_uid.value()),
						     .max_links = body.max_links,
						     .max_conns = body.max_conns});
	}

	std::size_t put(const AddLink &body)
	{
		// The extension goes with version 2 and nothing but a rejection goes without.
		if (body.extension.has_value() != (v2_ && !body.rejected))
			return 0;
		const std::size_t rkeys_size =
			body.extension ? body.extension->rkeys.bytes().size() : 0;
		if (rkeys_size > kLlcListMax * RkeyPairList::kItemSize)
			return 0;
		const std::size_t length =
			body.extension ? kLlcSize + sizeof(layout::AddLinkExtension) + rkeys_size
				       : kLlcSize;

		layout::AddLink fixed{.header = header(LlcType::kAddLink,
						       body.rejected ? layout::kFlagRejected : 0,
						       length),
				      .mac = body.mac,
				      .gid = body.gid,
				      .qpn = Be24::from(body.qpn.value()),
				      .link = body.link.value(),
				      .mtu = body.mtu.code(),
				      .psn = Be24::from(body.psn.value())};
		if (!v2_)
			fixed.header.length[1] = static_cast<std::uint8_t>(body.reject_reason) & 15;
		if (!body.extension)
			return put_short(fixed);

		layout::AddLinkExtension extension{
			.flags = static_cast<std::uint8_t>(body.extension->v2_direct ? 0x80 : 0),
			.target_gid = body.extension->target_gid,
			.rkey_count = host_order(body.extension->rkeys.size())};
		if (!start(length) || !store(out_, 0, fixed) || !store(out_, kLlcSize, extension))
			return 0;
		append(kLlcSize + sizeof(extension), body.extension->rkeys.bytes());
		return length;
	}

	std::size_t put(const AddLinkCont &body)
	{
		if (v2_)
			return 0;
		layout::AddLinkCont fixed{.header = header(LlcType::kAddLinkCont, 0),
					  .link = body.link.value(),
					  .rkeys_left = body.rkeys_left};
		for (std::size_t i = 0; i < body.rkeys.size(); i++)
			fixed.rkeys[i] = {.rkey = Be32::from(body.rkeys[i].rkey.value()),
					  .new_rkey = Be32::from(body.rkeys[i].new_rkey.value()),
					  .new_address = Be64::from(body.rkeys[i].new_address)};
		return put_short(fixed);
	}

	std::size_t put(const DeleteLink &body)
	{
		const int flags = (body.all ? layout::kFlagAll : 0) |
				  (body.orderly ? layout::kFlagOrderly : 0);
		return put_short(layout::DeleteLink{
			.header = header(LlcType::kDeleteLink, static_cast<std::uint8_t>(flags)),
			.link = body.link.value(),
			.reason = Be32::from(static_cast<std::uint32_t>(body.reason))});
	}

	std::size_t put(const ReqAddLink &body)
	{
		if (!v2_ || body.gids.size() > kLlcListMax)
			return 0;
		const std::size_t length =
			std::max(kLlcSize, sizeof(layout::ReqAddLink) + body.gids.bytes().size());
		const layout::ReqAddLink fixed{.header = header(LlcType::kReqAddLink, 0, length),
					       .gid_count =
						       static_cast<std::uint8_t>(body.gids.size())};
		if (!start(length) || !store(out_, 0, fixed))
			return 0;
		append(sizeof(fixed), body.gids.bytes());
		return length;
	}

	std::size_t put(const ConfirmRkey &body)
	{
		const int flags = (body.negative ? layout::kFlagNegative : 0) |
				  (body.retry ? layout::kFlagRetry : 0);
		layout::ConfirmRkey fixed{
			.header = header(LlcType::kConfirmRkey, static_cast<std::uint8_t>(flags))};
		const std::size_t count =
			std::max(body.others.size(), std::size_t{body.others_count});
		fixed.tokens[0] = entry_of(static_cast<std::uint8_t>(count), body.token);
		for (std::size_t i = 0; i < body.others.size(); i++)
			fixed.tokens[i + 1] = entry_of(body.others[i]);
		return put_short(fixed);
	}

	std::size_t put(const ConfirmRkeyCont &body)
	{
		if (v2_)
			return 0;
		const std::size_t left =
			std::max(body.tokens.size(), std::size_t{body.tokens_left});
		layout::ConfirmRkeyCont fixed{
			.header = header(LlcType::kConfirmRkeyCont,
					 body.negative ? layout::kFlagNegative : 0),
			.tokens_left = static_cast<std::uint8_t>(left)};
		for (std::size_t i = 0; i < body.tokens.size(); i++)
			fixed.tokens[i] = entry_of(body.tokens[i]);
		return put_short(fixed);
	}

	std::size_t put(const TestLink &body)
	{
		return put_short(layout::TestLink{.header = header(LlcType::kTestLink, 0),
						  .user_data = body.user_data});
	}

	std::size_t put(const DeleteRkey &body)
	{
		const bool counted_only = v2_ && response_;
		const std::size_t rkeys_max = counted_only ? 0
					      : v2_        ? DeleteRkey::kV2RkeysMax
							   : DeleteRkey::kV1RkeysMax;
		if (body.rkeys.size() > rkeys_max)
			return 0;
		const layout::DeleteRkey fixed{
			.header = header(LlcType::kDeleteRkey,
					 body.negative ? layout::kFlagNegative : 0),
			.count = counted_only ? body.count
					      : static_cast<std::uint8_t>(body.rkeys.size()),
			.errors = body.errors};
		if (!start(kLlcSize) || !store(out_, 0, fixed))
			return 0;
		append(sizeof(fixed), body.rkeys.bytes());
		return kLlcSize;
	}

private:
	static std::array<std::uint8_t, 2> host_order(std::size_t value)
	{
		return std::bit_cast<std::array<std::uint8_t, 2>>(
			Host16::from(static_cast<std::uint16_t>(value)));
	}

	static layout::TokenEntry entry_of(std::uint8_t count_or_link, const RemoteToken &token)
	{
		return {.count_or_link = count_or_link,
			.rkey = Be32::from(token.rkey.value()),
			.address = Be64::from(token.address)};
	}
	static layout::TokenEntry entry_of(const LinkToken &other)
	{
		return entry_of(other.link.value(), other.token);
	}

	[[nodiscard]] LlcHeader header(LlcType type, std::uint8_t flags,
				       std::size_t length = kLlcSize) const
	{
		// Linux writes and reads the version 2 length in the byte order of its machine. So
		// do we: Linux on this machine would use the same.
		return {.type = static_cast<std::uint8_t>(
				(v2_ ? layout::kTypeV2 : layout::kTypeV1) |
				static_cast<unsigned>(type)),
			.length =
				v2_ ? host_order(length) : std::array<std::uint8_t, 2>{kLlcSize, 0},
			.flags = static_cast<std::uint8_t>(
				flags | (response_ ? layout::kFlagResponse : 0))};
	}

	bool start(std::size_t length)
	{
		if (out_.size() < length)
			return false;
		std::memset(out_.data(), 0, length);
		return true;
	}

	void append(std::size_t at, ByteSpan bytes)
	{
		if (!bytes.empty())
			std::memcpy(out_.data() + at, bytes.data(), bytes.size());
	}

	template <WireStruct T>
	std::size_t put_short(const T &fixed)
	{
		static_assert(sizeof(T) == kLlcSize);
		return store(out_, 0, fixed) ? kLlcSize : 0;
	}

	bool v2_;
	bool response_;
	MutableByteSpan out_;
};

// std::visit may throw; this asks one alternative after the other instead.
template <std::size_t Index = 0>
std::size_t put_alternative(LlcWriter &writer, const LlcBody &body)
{
	if constexpr (Index < std::variant_size_v<LlcBody>) {
		if (const auto *alternative = std::get_if<Index>(&body))
			return writer.put(*alternative);
		return put_alternative<Index + 1>(writer, body);
	} else {
		return 0;
	}
}

} // namespace

std::size_t encode(const LlcMessage &message, MutableByteSpan out)
{
	LlcWriter writer(message, out);
	return put_alternative(writer, message.body);
}

} // namespace smc::wire
