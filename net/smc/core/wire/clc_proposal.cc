// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <algorithm>
#include <optional>

#include "core/wire/clc_layout.hpp"

namespace smc::wire {

namespace {

using layout::Ipv6Entry;
using layout::IsmEntry;
using layout::Prefix;
using layout::ProposalFixed;
using layout::SmcdV1;
using layout::SmcdV2;
using layout::V2;

// Where the offset fields count from: their own ends.
constexpr std::size_t kPrefixOffsetBase = sizeof(ProposalFixed);
constexpr std::size_t kV2OffsetBase =
	sizeof(ProposalFixed) + offsetof(SmcdV1, v2_offset) + sizeof(Be16);
constexpr std::size_t kSmcdV2OffsetBase = offsetof(V2, smcd_v2_offset) + sizeof(Be16);

// The longest, and in version 2 the only, distance from the fixed part to the prefix area.
constexpr std::size_t kPrefixOffsetMax = sizeof(SmcdV1);

IsmDevice device_from(const IsmEntry &entry)
{
	return {.gid = IsmGid{entry.gid.get()}, .chid = Chid{entry.chid.get()}};
}

IsmEntry entry_from(const IsmDevice &device)
{
	return {.gid = Be64::from(device.gid.value()), .chid = Be16::from(device.chid.value())};
}

// Each read_… decodes one area and returns the offset of its end. An area may lie anywhere behind
// the one before; the last must leave room for the trailer.
class ProposalReader {
public:
	// message has no trailer any more.
	ProposalReader(ByteSpan message, const ProposalFixed &fixed, Proposal &out)
		: message_(message), fixed_(fixed), out_(out)
	{
	}

	Result<void, ClcError> read()
	{
		out_.version = fixed_.header.version();
		out_.mode_v1 = static_cast<ClcMode>(fixed_.header.type_v1());
		out_.peer_id = fixed_.peer_id;
		out_.gid = fixed_.gid;
		out_.mac = fixed_.mac;
		return out_.version == 1 ? read_version1() : read_version2();
	}

private:
	// The SMC-D area may be left out, or cut short, if SMC-D is not offered. Nothing may follow
	// the prefixes: a version 1 sender is as old as the protocol and adds nothing any more.
	Result<void, ClcError> read_version1()
	{
		if (out_.mode_v1 == ClcMode::kNone)
			return fail(ClcError::kBadMode);
		out_.mode_v2 = ClcMode::kNone; // those bits are reserved

		const std::size_t prefix_offset = fixed_.prefix_offset.get();
		if (prefix_offset > kPrefixOffsetMax)
			return fail(ClcError::kBadOffset);
		if (prefix_offset == kPrefixOffsetMax)
			SMC_TRY(read_smcd_v1());
		else if (offers_d(out_.mode_v1))
			return fail(ClcError::kBadOffset);

		if (SMC_TRY(read_prefixes(kPrefixOffsetBase + prefix_offset)) != message_.size())
			return fail(ClcError::kBadLength);
		return {};
	}

	// Bytes behind the last area are let pass: the offset fields are there so that later
	// releases can add areas.
	Result<void, ClcError> read_version2()
	{
		out_.mode_v2 = static_cast<ClcMode>(fixed_.header.type_v2());
		const std::size_t v2_offset = SMC_TRY(read_smcd_v1());

		// Linux sends an offset of 0 if there is no prefix area.
		const std::size_t prefix_offset = fixed_.prefix_offset.get();
		if (prefix_offset > kPrefixOffsetMax)
			return fail(ClcError::kBadOffset);
		std::size_t end = sizeof(ProposalFixed) + sizeof(SmcdV1);
		if (out_.mode_v1 != ClcMode::kNone) {
			if (prefix_offset != kPrefixOffsetMax)
				return fail(ClcError::kBadOffset);
			end = SMC_TRY(read_prefixes(kPrefixOffsetBase + prefix_offset));
		}
		if (out_.mode_v2 == ClcMode::kNone)
			return {};
		if (kV2OffsetBase + v2_offset < end)
			return fail(ClcError::kBadOffset);
		return read_v2(kV2OffsetBase + v2_offset);
	}

	// Returns the field v2_offset, which means something in version 2 only.
	Result<std::size_t, ClcError> read_smcd_v1()
	{
		const auto area = load<SmcdV1>(message_, sizeof(ProposalFixed));
		if (!area)
			return fail(ClcError::kBadLength);
		out_.smcd_v1 = {.device = device_from(area->device),
				.vendor_oui = area->vendor_oui,
				.vendor_options = area->vendor_options};
		return std::size_t{area->v2_offset.get()};
	}

	Result<std::size_t, ClcError> read_prefixes(std::size_t at)
	{
		const auto area = load<Prefix>(message_, at);
		if (!area)
			return fail(ClcError::kBadLength);
		out_.prefixes.ipv4 = {.network = area->ipv4, .length = area->ipv4_length};
		at += sizeof(Prefix);
		for (std::size_t i = 0; i < area->ipv6_count; i++) {
			const auto entry = load<Ipv6Entry>(message_, at);
			if (!entry)
				return fail(ClcError::kBadLength);
			if (!out_.prefixes.ipv6.push_back(
				    {.network = entry->prefix, .length = entry->length}))
				return fail(ClcError::kBadCount);
			at += sizeof(Ipv6Entry);
		}
		return at;
	}

	Result<void, ClcError> read_v2(std::size_t at)
	{
		const auto area = load<V2>(message_, at);
		if (!area)
			return fail(ClcError::kBadOffset);
		out_.v2.release = area->flags >> 4;
		out_.v2.seid_present = (area->flags & 1) != 0;
		out_.v2.roce_gid = area->roce_gid;
		out_.v2.max_conns = area->max_conns;
		out_.v2.max_links = area->max_links;
		out_.v2.feature_mask = area->feature_mask.get();

		std::size_t end = at + sizeof(V2);
		for (std::size_t i = 0; i < area->eid_count; i++) {
			const auto eid = load<Eid>(message_, end);
			if (!eid)
				return fail(ClcError::kBadLength);
			if (!out_.v2.eids.push_back(*eid))
				return fail(ClcError::kBadCount);
			end += sizeof(Eid);
		}
		if (!offers_d(out_.mode_v2))
			return {};
		const std::size_t smcd_at = at + kSmcdV2OffsetBase + area->smcd_v2_offset.get();
		if (smcd_at < end)
			return fail(ClcError::kBadOffset);
		return read_smcd_v2(smcd_at, area->ism_count);
	}

	Result<void, ClcError> read_smcd_v2(std::size_t at, std::size_t device_count)
	{
		const auto area = load<SmcdV2>(message_, at);
		if (!area)
			return fail(ClcError::kBadOffset);
		out_.smcd_v2.system_eid = area->system_eid;
		at += sizeof(SmcdV2);
		for (std::size_t i = 0; i < device_count; i++) {
			const auto entry = load<IsmEntry>(message_, at);
			if (!entry)
				return fail(ClcError::kBadLength);
			if (!out_.smcd_v2.devices.push_back(device_from(*entry)))
				return fail(ClcError::kBadCount);
			at += sizeof(IsmEntry);
		}
		return {};
	}

	ByteSpan message_;
	const ProposalFixed &fixed_;
	Proposal &out_;
};

struct Sizes {
	explicit Sizes(const Proposal &proposal)
	{
		if (proposal.mode_v1 != ClcMode::kNone)
			prefix +=
				sizeof(Prefix) + proposal.prefixes.ipv6.size() * sizeof(Ipv6Entry);
		if (proposal.mode_v2 != ClcMode::kNone)
			v2 += sizeof(V2) + proposal.v2.eids.size() * sizeof(Eid);
		if (offers_d(proposal.mode_v2))
			smcd_v2 +=
				sizeof(SmcdV2) + proposal.smcd_v2.devices.size() * sizeof(IsmEntry);
	}

	[[nodiscard]] std::size_t total() const
	{
		return sizeof(ProposalFixed) + sizeof(SmcdV1) + prefix + v2 + smcd_v2 +
		       kClcTrailerSize;
	}

	std::size_t prefix = 0;
	std::size_t v2 = 0;
	std::size_t smcd_v2 = 0;
};

static_assert(sizeof(ProposalFixed) + sizeof(SmcdV1) + sizeof(Prefix) +
		      kClcIpv6PrefixesMax * sizeof(Ipv6Entry) + sizeof(V2) +
		      kClcEidsMax * sizeof(Eid) + sizeof(SmcdV2) +
		      kClcIsmDevicesMax * sizeof(IsmEntry) + kClcTrailerSize ==
	      kClcEncodedSizeMax);

// Linux tests the eighth byte of the "prefix area" for a count of at most 8 even if there is no
// such area. With an offset of 0, as Linux sends it then, that byte is the last one of the ISM GID.
// If the GID would fail that test, point into the reserved bytes behind it.
std::size_t unused_prefix_offset(const Proposal &proposal)
{
	const std::uint64_t gid_low_byte = proposal.smcd_v1.device.gid.value() & 0xff;
	return gid_low_byte > kClcIpv6PrefixesMax ? offsetof(SmcdV1, reserved) : 0;
}

bool is_encodable(const Proposal &proposal)
{
	if (proposal.version == 1)
		return proposal.mode_v1 != ClcMode::kNone && proposal.mode_v2 == ClcMode::kNone;
	return proposal.version >= 2 && proposal.version <= 15 && proposal.v2.release <= 15;
}

void put_prefixes(layout::Writer &writer, const PrefixArea &prefixes)
{
	writer.put(Prefix{.ipv4 = prefixes.ipv4.network,
			  .ipv4_length = prefixes.ipv4.length,
			  .ipv6_count = static_cast<std::uint8_t>(prefixes.ipv6.size())});
	for (const Ipv6Prefix &prefix : prefixes.ipv6)
		writer.put(Ipv6Entry{.prefix = prefix.network, .length = prefix.length});
}

void put_v2(layout::Writer &writer, const Proposal &proposal, const Sizes &sizes)
{
	const bool smcd = offers_d(proposal.mode_v2);
	V2 area{.eid_count = static_cast<std::uint8_t>(proposal.v2.eids.size()),
		.flags = static_cast<std::uint8_t>(proposal.v2.release << 4 |
						   (proposal.v2.seid_present ? 1 : 0)),
		.roce_gid = proposal.v2.roce_gid,
		.max_conns = proposal.v2.max_conns,
		.max_links = proposal.v2.max_links,
		.feature_mask = Be16::from(proposal.v2.feature_mask)};
	if (smcd) {
		area.ism_count = static_cast<std::uint8_t>(proposal.smcd_v2.devices.size());
		area.smcd_v2_offset.set(static_cast<std::uint16_t>(sizes.v2 - kSmcdV2OffsetBase));
	}
	writer.put(area);
	for (const Eid &eid : proposal.v2.eids)
		writer.put(eid);
	if (!smcd)
		return;
	writer.put(SmcdV2{.system_eid = proposal.smcd_v2.system_eid});
	for (const IsmDevice &device : proposal.smcd_v2.devices)
		writer.put(entry_from(device));
}

} // namespace

std::size_t encode(const Proposal &proposal, MutableByteSpan out)
{
	if (!is_encodable(proposal))
		return 0;
	const Sizes sizes(proposal);
	const bool v1 = proposal.mode_v1 != ClcMode::kNone;
	const bool v2 = proposal.mode_v2 != ClcMode::kNone;
	// The bits of typev2 are reserved in version 1.
	const unsigned types =
		(proposal.version >= 2 ? static_cast<unsigned>(proposal.mode_v2) << 2 : 0U) |
		static_cast<unsigned>(proposal.mode_v1);
	const std::size_t prefix_offset = v1 ? kPrefixOffsetMax : unused_prefix_offset(proposal);
	const std::size_t v2_at = sizeof(ProposalFixed) + sizeof(SmcdV1) + sizes.prefix;

	layout::Writer writer(out);
	writer.put(ProposalFixed{
		.header =
			layout::make_header(layout::kEyecatcherR, ClcType::kProposal, sizes.total(),
					    proposal.version, static_cast<std::uint8_t>(types)),
		.peer_id = proposal.peer_id,
		.gid = proposal.gid,
		.mac = proposal.mac,
		.prefix_offset = Be16::from(static_cast<std::uint16_t>(prefix_offset))});
	writer.put(SmcdV1{
		.device = entry_from(proposal.smcd_v1.device),
		.v2_offset = Be16::from(static_cast<std::uint16_t>(v2 ? v2_at - kV2OffsetBase : 0)),
		.vendor_oui = proposal.smcd_v1.vendor_oui,
		.vendor_options = proposal.smcd_v1.vendor_options});
	if (v1)
		put_prefixes(writer, proposal.prefixes);
	if (v2)
		put_v2(writer, proposal, sizes);
	writer.put(layout::kEyecatcherR);
	return writer.finish();
}

Result<Proposal, ClcError> decode_proposal(ByteSpan message)
{
	const auto header = layout::open_message(message, ClcType::kProposal);
	if (!header)
		return fail(header.error());
	if (!layout::has_trailer(message))
		return fail(ClcError::kBadTrailer);
	const auto fixed = load<ProposalFixed>(message);

	// Filled in place: a Proposal is too large to be copied about on a kernel stack.
	Result<Proposal, ClcError> result{std::in_place};
	ProposalReader reader(message.first(message.size() - kClcTrailerSize), *fixed, *result);
	const auto read = reader.read();
	if (!read)
		result = fail(read.error());
	return result;
}

} // namespace smc::wire
