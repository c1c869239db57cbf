// SPDX-License-Identifier: GPL-2.0-only
#include "smc_packet.hpp"

#include <algorithm>
#include <array>

namespace smc_ctl {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Kind = SmcPacket::Kind;

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kVlanBytes = 4;
constexpr std::size_t kCookedBytes = 16;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40; // as many as RoCE v1's header
constexpr std::size_t kTcpBytes = 20;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kBthBytes = 12;
constexpr std::size_t kIcrcBytes = 4;

constexpr unsigned kTypeIpv4 = 0x0800;
constexpr unsigned kTypeIpv6 = 0x86dd;
constexpr unsigned kTypeVlan = 0x8100;
constexpr unsigned kTypeVlanOutside = 0x88a8;
constexpr unsigned kTypeRoceV1 = 0x8915;
constexpr unsigned kProtocolTcp = 6;
constexpr unsigned kProtocolUdp = 17;
constexpr unsigned kFragmentOffset = 0x1fff;
constexpr unsigned kRoceV2Port = 4791;

// "SMC" in EBCDIC, and then "R" or "D".
constexpr unsigned kEyecatcherUpper = 0xe2d4;
constexpr unsigned kEyecatcherR = 0xc3d9;
constexpr unsigned kEyecatcherD = 0xc3c4;
constexpr std::size_t kEyecatcherBytes = 4;
constexpr std::size_t kClcBytesMin = 8;

constexpr std::uint8_t kCdc = 0xfe;
constexpr unsigned kLlcV2 = 0x20;
constexpr unsigned kLlcResponse = 0x80;
// By their types.
constexpr std::array kLlcNames = {
	"",
	"CONFIRM LINK",
	"ADD LINK",
	"ADD LINK CONTINUATION",
	"DELETE LINK",
	"REQUEST ADD LINK",
	"CONFIRM RKEY",
	"TEST LINK",
	"CONFIRM RKEY CONTINUATION",
	"DELETE RKEY",
};
constexpr std::uint8_t kSmcBytes = 44; // of CDC and of LLC version 1

// Reads a packet from its beginning to its end.
class Reader {
public:
	explicit Reader(Bytes packet) : packet_(packet), end_(packet.size()) {}

	[[nodiscard]] std::size_t at() const { return at_; }
	[[nodiscard]] bool has(std::size_t bytes) const { return bytes <= end_ - at_; }
	[[nodiscard]] std::size_t rest_bytes() const { return end_ - at_; }
	// Behind where it is now, which has to be there.
	[[nodiscard]] unsigned get8(std::size_t offset) const { return packet_[at_ + offset]; }
	[[nodiscard]] unsigned get16(std::size_t offset) const
	{
		return get8(offset) << 8 | get8(offset + 1);
	}
	void skip(std::size_t bytes) { at_ += std::min(bytes, end_ - at_); }
	// What is behind that is padding of the layer below.
	void end_after(std::size_t bytes) { end_ = at_ + std::min(bytes, end_ - at_); }

private:
	Bytes packet_;
	std::size_t end_;
	std::size_t at_ = 0;
};

// 0 if it is cut off before.
unsigned skip_link(Reader &reader, LinkType link_type)
{
	if (link_type == LinkType::kIp) {
		if (!reader.has(1))
			return 0;
		return reader.get8(0) >> 4 == 4 ? kTypeIpv4 : kTypeIpv6;
	}
	const std::size_t header_bytes =
		link_type == LinkType::kEthernet ? kEthernetBytes : kCookedBytes;

	if (!reader.has(header_bytes))
		return 0;
	unsigned type = reader.get16(header_bytes - 2);
	reader.skip(header_bytes);
	while ((type == kTypeVlan || type == kTypeVlanOutside) && reader.has(kVlanBytes)) {
		type = reader.get16(2);
		reader.skip(kVlanBytes);
	}
	return type;
}

// The protocol inside; 0 if it is cut off before, or a later fragment.
unsigned skip_ipv4(Reader &reader)
{
	if (!reader.has(kIpv4Bytes))
		return 0;
	const std::size_t header_bytes = std::size_t{4} * (reader.get8(0) & 0x0f);
	const unsigned protocol = reader.get8(9);
	const bool first = (reader.get16(6) & kFragmentOffset) == 0;

	// Of large segments that are divided by the adapter the length may be 0.
	if (const unsigned all_bytes = reader.get16(2); all_bytes >= header_bytes)
		reader.end_after(all_bytes);
	if (!first || header_bytes < kIpv4Bytes || !reader.has(header_bytes))
		return 0;
	reader.skip(header_bytes);
	return protocol;
}

unsigned skip_ipv6(Reader &reader)
{
	if (!reader.has(kIpv6Bytes))
		return 0;
	const unsigned payload_bytes = reader.get16(4);
	const unsigned protocol = reader.get8(6);

	reader.skip(kIpv6Bytes);
	if (payload_bytes != 0)
		reader.end_after(payload_bytes);
	return protocol;
}

bool is_eyecatcher(const Reader &reader, std::size_t offset)
{
	const unsigned lower = reader.get16(offset + 2);

	return reader.get16(offset) == kEyecatcherUpper &&
	       (lower == kEyecatcherR || lower == kEyecatcherD);
}

// Of a segment: messages from its beginning on, or the rest of one that began in another.
SmcPacket look_at_tcp(Reader reader)
{
	if (!reader.has(kTcpBytes))
		return {Kind::kTcp, reader.at()};
	reader.skip(std::max(kTcpBytes, std::size_t{4} * (reader.get8(12) >> 4)));
	SmcPacket found{Kind::kTcp, reader.at()};
	const bool begins = reader.has(kEyecatcherBytes) && is_eyecatcher(reader, 0);

	if (!begins && reader.has(kEyecatcherBytes) &&
	    is_eyecatcher(reader, reader.rest_bytes() - kEyecatcherBytes))
		return {Kind::kClc, reader.at() + reader.rest_bytes()};
	// Of a message that is divided right behind its beginning.
	if (begins)
		found = {Kind::kClc, reader.at() + std::min(kClcBytesMin, reader.rest_bytes())};
	// A server that declines may send its first bytes in the same segment.
	while (reader.has(kClcBytesMin) && is_eyecatcher(reader, 0)) {
		reader.skip(std::max<std::size_t>(kClcBytesMin, reader.get16(5)));
		found = {Kind::kClc, reader.at()};
	}
	return found;
}

// What stands between the base header and the payload, by the opcode. Of one that is not known all
// the rest is taken for payload.
std::size_t further_header_bytes(unsigned opcode)
{
	constexpr std::size_t kImmediate = 4;
	constexpr std::size_t kAck = 4;
	constexpr std::size_t kRemote = 16;
	constexpr std::size_t kAtomic = 28;

	switch (opcode) {
	case 0x03: // send, last, with immediate
	case 0x05: // send, only, with immediate
	case 0x09: // write, last, with immediate
	case 0x16: // send, last, and invalidate
	case 0x17: // send, only, and invalidate
		return kImmediate;
	case 0x06: // write, first
	case 0x0a: // write, only
	case 0x0c: // request to read
		return kRemote;
	case 0x0b: // write, only, with immediate
		return kRemote + kImmediate;
	case 0x0d: // what was read: first
	case 0x0f: // last
	case 0x10: // only
	case 0x11: // acknowledgement
		return kAck;
	case 0x12: // of an atomic operation
		return kAck + 8;
	case 0x13: // compare and swap
	case 0x14: // fetch and add
		return kAtomic;
	case 0x81: // congestion
		return kRemote;
	default: return 0;
	}
}

bool may_begin_message(unsigned opcode)
{
	return opcode == 0x00 || opcode == 0x04;
}

// Version 2 has the length in the byte order of the sender.
bool is_llc_v2(const Reader &reader)
{
	const std::size_t length = reader.get16(1);
	const std::size_t swapped = (length & 0xff) << 8 | length >> 8;
	const auto fits = [&](std::size_t bytes) {
		return bytes >= kClcBytesMin && bytes <= reader.rest_bytes();
	};

	return fits(length) || fits(swapped);
}

// Others use RoCE, too: their messages are payload.
Kind kind_of_message(const Reader &reader)
{
	if (!reader.has(kSmcBytes))
		return Kind::kRoce;
	const unsigned type = reader.get8(0);
	const unsigned name = type & ~kLlcV2;

	if (type == kCdc)
		return reader.get8(1) == kSmcBytes ? Kind::kCdc : Kind::kRoce;
	if (name == 0 || name >= kLlcNames.size())
		return Kind::kRoce;
	if ((type & kLlcV2) != 0)
		return is_llc_v2(reader) ? Kind::kLlc : Kind::kRoce;
	return reader.get8(1) == kSmcBytes ? Kind::kLlc : Kind::kRoce;
}

// From the base transport header on.
SmcPacket look_at_roce(Reader reader)
{
	if (!reader.has(kBthBytes))
		return {Kind::kRoce, reader.at()};
	const unsigned opcode = reader.get8(0);

	reader.skip(kBthBytes);
	reader.skip(further_header_bytes(opcode));
	SmcPacket found{Kind::kRoce, reader.at()};
	// No payload, but the checksum behind it.
	if (reader.rest_bytes() <= kIcrcBytes)
		found.without_payload_bytes += reader.rest_bytes();
	if (!may_begin_message(opcode))
		return found;
	found.kind = kind_of_message(reader);
	if (found.kind == Kind::kRoce)
		return found;
	found.without_payload_bytes = reader.at() + reader.rest_bytes();
	if (found.kind == Kind::kLlc) {
		found.llc_type = static_cast<std::uint8_t>(reader.get8(0));
		found.llc_response = (reader.get8(3) & kLlcResponse) != 0;
	}
	return found;
}

SmcPacket look_at_udp(Reader reader)
{
	if (!reader.has(kUdpBytes) || reader.get16(2) != kRoceV2Port)
		return {Kind::kOther, reader.at()};
	reader.skip(kUdpBytes);
	return look_at_roce(reader);
}

} // namespace

SmcPacket look_at(Bytes packet, LinkType link_type)
{
	Reader reader(packet);
	unsigned protocol = 0;

	switch (skip_link(reader, link_type)) {
	case kTypeIpv4: protocol = skip_ipv4(reader); break;
	case kTypeIpv6: protocol = skip_ipv6(reader); break;
	case kTypeRoceV1: reader.skip(kIpv6Bytes); return look_at_roce(reader);
	default: break;
	}
	switch (protocol) {
	case kProtocolTcp: return look_at_tcp(reader);
	case kProtocolUdp: return look_at_udp(reader);
	default: return {Kind::kOther, reader.at()};
	}
}

std::string name_of_message(const SmcPacket &packet)
{
	if (packet.kind != Kind::kLlc)
		return {};
	return std::string("LLC") + ((packet.llc_type & kLlcV2) != 0 ? "v2 " : " ") +
	       kLlcNames.at(packet.llc_type & ~kLlcV2) + (packet.llc_response ? ", response" : "");
}

} // namespace smc_ctl
