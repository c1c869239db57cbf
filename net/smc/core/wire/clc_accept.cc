// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <algorithm>

#include "core/wire/clc_layout.hpp"

// Accept and Confirm.
namespace smc::wire {

namespace {

using layout::AcceptD;
using layout::AcceptDV2;
using layout::AcceptR;
using layout::AcceptRV2;
using layout::FirstContact;
using layout::FirstContactV21;
using layout::GidListHeader;

constexpr std::size_t kSizeRV1 = sizeof(AcceptR) + kClcTrailerSize;
constexpr std::size_t kSizeDV1 = sizeof(AcceptD) + layout::kAcceptDV1ReservedSize + kClcTrailerSize;
static_assert(kSizeRV1 == 68 && kSizeDV1 == 48);
static_assert(sizeof(AcceptR) + sizeof(AcceptRV2) >= sizeof(AcceptD) + sizeof(AcceptDV2));
static_assert(sizeof(AcceptR) + sizeof(AcceptRV2) + sizeof(FirstContact) + sizeof(FirstContactV21) +
		      kClcTrailerSize ==
	      kClcAcceptSizeMax);

// Queue pairs 0 and 1 belong to the fabric's management.
constexpr std::uint32_t kQpnMin = 2;

// Values that no sender can mean. Encoder and decoder share this, so we never send what we refuse.
bool is_valid(const SmcrEndpoint &endpoint)
{
	return endpoint.qpn.value() >= kQpnMin && endpoint.rmbe_index >= 1 &&
	       endpoint.mtu.code() >= 1;
}

// --- Decoding ------------------------------------------------------------------------------

SmcrEndpoint endpoint_from(const AcceptR &fixed)
{
	return {.peer_id = fixed.peer_id,
		.gid = fixed.gid,
		.mac = fixed.mac,
		.qpn = Qpn{fixed.qpn.get()},
		.rmb_rkey = Rkey{fixed.rmb_rkey.get()},
		.rmbe_index = fixed.rmbe_index,
		.token = Token{fixed.token.get()},
		.rmbe_size = BufferSize{static_cast<std::uint8_t>(fixed.size_and_mtu >> 4)},
		.mtu = QpMtu{static_cast<std::uint8_t>(fixed.size_and_mtu & 15)},
		.rmb_address = fixed.rmb_address.get(),
		.psn = Psn{fixed.psn.get()}};
}

SmcdEndpoint endpoint_from(const AcceptD &fixed)
{
	return {.gid = IsmGid{fixed.gid.get()},
		.dmb_token = DmbToken{fixed.dmb_token.get()},
		.dmbe_index = fixed.dmbe_index,
		.dmbe_size = BufferSize{static_cast<std::uint8_t>(fixed.size >> 4)},
		.link_id = fixed.link_id.get(),
		.chid = {},
		.gid_extension = {}};
}

// Decodes what Accept and Confirm have in common. Version 1 has exact lengths; version 2 has only a
// shortest one, as in Linux, since later releases append.
class AcceptReader {
public:
	// message has no trailer any more.
	AcceptReader(ByteSpan message, const layout::ClcHeader &header, AcceptConfirmBody &out)
		: message_(message), header_(header), out_(out)
	{
	}

	// Returns the offset of what follows.
	Result<std::size_t, ClcError> read()
	{
		out_.version = header_.version();
		out_.first_contact = header_.flag();
		const auto mode = static_cast<ClcMode>(header_.type_v1());
		if (mode == ClcMode::kR)
			return read_smcr();
		if (mode == ClcMode::kD)
			return read_smcd();
		return fail(ClcError::kBadMode);
	}

private:
	Result<std::size_t, ClcError> read_smcr()
	{
		const auto fixed = load<AcceptR>(message_);
		if (!fixed)
			return fail(ClcError::kBadLength);
		const SmcrEndpoint endpoint = endpoint_from(*fixed);
		if (!is_valid(endpoint))
			return fail(ClcError::kBadField);
		out_.endpoint = endpoint;
		if (out_.version == 1)
			return expect_end(kSizeRV1);

		const auto more = load<AcceptRV2>(message_, sizeof(AcceptR));
		if (!more)
			return fail(ClcError::kBadLength);
		out_.eid = more->eid;
		return read_first_contact(sizeof(AcceptR) + sizeof(AcceptRV2));
	}

	Result<std::size_t, ClcError> read_smcd()
	{
		const auto fixed = load<AcceptD>(message_);
		if (!fixed)
			return fail(ClcError::kBadLength);
		SmcdEndpoint endpoint = endpoint_from(*fixed);
		if (out_.version == 1) {
			out_.endpoint = endpoint;
			return expect_end(kSizeDV1);
		}
		const auto more = load<AcceptDV2>(message_, sizeof(AcceptD));
		if (!more)
			return fail(ClcError::kBadLength);
		endpoint.chid = Chid{more->chid.get()};
		// Reserved, and not always zero, for any other kind of device.
		if (is_emulated(endpoint.chid))
			endpoint.gid_extension = IsmGid{more->gid_extension.get()};
		out_.endpoint = endpoint;
		out_.eid = more->eid;
		return read_first_contact(sizeof(AcceptD) + sizeof(AcceptDV2));
	}

	Result<std::size_t, ClcError> expect_end(std::size_t length) const
	{
		if (message_.size() + kClcTrailerSize != length)
			return fail(ClcError::kBadLength);
		return message_.size();
	}

	Result<std::size_t, ClcError> read_first_contact(std::size_t at)
	{
		if (!out_.first_contact)
			return at;
		const auto base = load<FirstContact>(message_, at);
		if (!base)
			return fail(ClcError::kBadLength);
		at += sizeof(FirstContact);

		FirstContactExtension &extension = out_.first_contact_extension;
		extension.v2_direct = (base->flags & 0x80) != 0;
		extension.os = static_cast<ClcOs>(base->os_and_release >> 4);
		extension.release = base->os_and_release & 15;
		extension.host_name = base->host_name;

		// The rest is reserved in release 0; SMC-D senders leave it out then.
		const auto more = load<FirstContactV21>(message_, at);
		if (extension.release > 0) {
			if (!more)
				return fail(ClcError::kBadLength);
			if (out_.smcr() != nullptr) {
				extension.max_conns = more->max_conns;
				extension.max_links = more->max_links;
			}
			extension.feature_mask = more->feature_mask.get();
			extension.vendor_options = more->vendor_options.get();
		}
		return at + (more ? sizeof(FirstContactV21) : 0);
	}

	ByteSpan message_;
	const layout::ClcHeader &header_;
	AcceptConfirmBody &out_;
};

Result<std::size_t, ClcError> read_body(ByteSpan message, ClcType type, AcceptConfirmBody &out)
{
	const auto header = SMC_TRY(layout::open_message(message, type));
	if (!layout::has_trailer(message))
		return fail(ClcError::kBadTrailer);
	AcceptReader reader(message.first(message.size() - kClcTrailerSize), header, out);
	return reader.read();
}

// The list is a hint, which Linux does not even read: a missing list counts as empty, and of a list
// that is longer than we can use the first entries are kept. The entries it announces must be
// there.
Result<void, ClcError> read_gids(ByteSpan message, std::size_t at, Confirm &out)
{
	const auto list = load<GidListHeader>(message, at);
	if (!list)
		return {};
	at += sizeof(GidListHeader);
	for (std::size_t i = 0; i < list->count; i++) {
		const auto gid = load<Gid>(message, at + i * sizeof(Gid));
		if (!gid)
			return fail(ClcError::kBadCount);
		if (!out.gids.full())
			(void)out.gids.push_back(*gid);
	}
	return {};
}

// --- Encoding ------------------------------------------------------------------------------

std::size_t extension_size(const AcceptConfirmBody &body)
{
	if (body.version == 1 || !body.first_contact)
		return 0;
	if (body.smcd() != nullptr && body.first_contact_extension.release == 0)
		return sizeof(FirstContact);
	return sizeof(FirstContact) + sizeof(FirstContactV21);
}

std::size_t gid_list_size(std::size_t count)
{
	return count == 0 ? 0 : sizeof(GidListHeader) + count * sizeof(Gid);
}

bool is_encodable(const AcceptConfirmBody &body)
{
	if (body.version < 1 || body.version > 15 || body.first_contact_extension.release > 15 ||
	    static_cast<unsigned>(body.first_contact_extension.os) > 15)
		return false;
	const SmcrEndpoint *smcr = body.smcr();
	return smcr == nullptr || is_valid(*smcr);
}

AcceptR layout_of(const SmcrEndpoint &endpoint, const layout::ClcHeader &header)
{
	return {.header = header,
		.peer_id = endpoint.peer_id,
		.gid = endpoint.gid,
		.mac = endpoint.mac,
		.qpn = Be24::from(endpoint.qpn.value()),
		.rmb_rkey = Be32::from(endpoint.rmb_rkey.value()),
		.rmbe_index = endpoint.rmbe_index,
		.token = Be32::from(endpoint.token.value()),
		.size_and_mtu = static_cast<std::uint8_t>(endpoint.rmbe_size.code() << 4 |
							  endpoint.mtu.code()),
		.rmb_address = Be64::from(endpoint.rmb_address),
		.psn = Be24::from(endpoint.psn.value())};
}

AcceptD layout_of(const SmcdEndpoint &endpoint, const layout::ClcHeader &header)
{
	return {.header = header,
		.gid = Be64::from(endpoint.gid.value()),
		.dmb_token = Be64::from(endpoint.dmb_token.value()),
		.dmbe_index = endpoint.dmbe_index,
		.size = static_cast<std::uint8_t>(endpoint.dmbe_size.code() << 4),
		.link_id = Be32::from(endpoint.link_id)};
}

void put_extension(layout::Writer &writer, const AcceptConfirmBody &body)
{
	const std::size_t size = extension_size(body);
	if (size == 0)
		return;
	const FirstContactExtension &extension = body.first_contact_extension;
	writer.put(
		FirstContact{.flags = static_cast<std::uint8_t>(extension.v2_direct ? 0x80 : 0),
			     .os_and_release = static_cast<std::uint8_t>(
				     static_cast<unsigned>(extension.os) << 4 | extension.release),
			     .host_name = extension.host_name});
	if (size == sizeof(FirstContact))
		return;
	FirstContactV21 more;
	if (extension.release > 0) {
		if (body.smcr() != nullptr) {
			more.max_conns = extension.max_conns;
			more.max_links = extension.max_links;
		}
		more.feature_mask.set(extension.feature_mask);
		more.vendor_options.set(extension.vendor_options);
	}
	writer.put(more);
}

void put_body(layout::Writer &writer, const AcceptConfirmBody &body, ClcType type,
	      std::size_t tail_size)
{
	const auto header = [&](const layout::Eyecatcher &eyecatcher, ClcMode mode,
				std::size_t length) {
		return layout::make_header(
			eyecatcher, type, length, body.version,
			static_cast<std::uint8_t>((body.first_contact ? 0x08U : 0U) |
						  static_cast<unsigned>(mode)));
	};
	const std::size_t rest = extension_size(body) + tail_size + kClcTrailerSize;

	if (const SmcrEndpoint *smcr = body.smcr()) {
		const std::size_t v2_size = body.version == 1 ? 0 : sizeof(AcceptRV2);
		writer.put(layout_of(*smcr, header(layout::kEyecatcherR, ClcMode::kR,
						   sizeof(AcceptR) + v2_size + rest)));
		if (v2_size != 0)
			writer.put(AcceptRV2{.eid = body.eid});
	} else if (const SmcdEndpoint *smcd = body.smcd()) {
		const bool v1 = body.version == 1;
		const std::size_t more_size =
			v1 ? layout::kAcceptDV1ReservedSize : sizeof(AcceptDV2);
		writer.put(layout_of(*smcd, header(layout::kEyecatcherD, ClcMode::kD,
						   sizeof(AcceptD) + more_size + rest)));
		if (v1)
			writer.put(std::array<std::uint8_t, layout::kAcceptDV1ReservedSize>{});
		else
			writer.put(AcceptDV2{.chid = Be16::from(smcd->chid.value()),
					     .eid = body.eid,
					     .gid_extension =
						     Be64::from(smcd->gid_extension.value())});
	}
	put_extension(writer, body);
}

const layout::Eyecatcher &trailer_of(const AcceptConfirmBody &body)
{
	return body.smcr() != nullptr ? layout::kEyecatcherR : layout::kEyecatcherD;
}

} // namespace

std::size_t encode(const Accept &accept, MutableByteSpan out)
{
	if (!is_encodable(accept))
		return 0;
	layout::Writer writer(out);
	put_body(writer, accept, ClcType::kAccept, 0);
	writer.put(trailer_of(accept));
	return writer.finish();
}

std::size_t encode(const Confirm &confirm, MutableByteSpan out)
{
	if (!is_encodable(confirm))
		return 0;
	if (!confirm.gids.empty() &&
	    (confirm.version == 1 || !confirm.first_contact || confirm.smcr() == nullptr))
		return 0;
	layout::Writer writer(out);
	put_body(writer, confirm, ClcType::kConfirm, gid_list_size(confirm.gids.size()));
	if (!confirm.gids.empty()) {
		writer.put(GidListHeader{.count = static_cast<std::uint8_t>(confirm.gids.size())});
		for (const Gid &gid : confirm.gids)
			writer.put(gid);
	}
	writer.put(trailer_of(confirm));
	return writer.finish();
}

Result<Accept, ClcError> decode_accept(ByteSpan message)
{
	Accept accept;
	SMC_TRY(read_body(message, ClcType::kAccept, accept));
	return accept;
}

Result<Confirm, ClcError> decode_confirm(ByteSpan message)
{
	Confirm confirm;
	const std::size_t end = SMC_TRY(read_body(message, ClcType::kConfirm, confirm));
	if (confirm.first_contact && confirm.version >= 2 && confirm.smcr() != nullptr)
		SMC_TRY(read_gids(message.first(message.size() - kClcTrailerSize), end, confirm));
	return confirm;
}

} // namespace smc::wire
