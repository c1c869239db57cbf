// SPDX-License-Identifier: GPL-2.0-only
#include "smc_ctl/smc_packet.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

using namespace smc_ctl;

namespace {

using Kind = SmcPacket::Kind;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kPayload = 60;

Bytes operator+(Bytes one, const Bytes &other)
{
	one.insert(one.end(), other.begin(), other.end());
	return one;
}

Bytes zeros(std::size_t count)
{
	return Bytes(count);
}

Bytes number16(std::size_t value)
{
	return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

Bytes ethernet(std::size_t type, const Bytes &payload)
{
	return zeros(12) + number16(type) + payload;
}

Bytes ipv4(std::uint8_t protocol, const Bytes &payload, std::size_t offset = 0)
{
	return Bytes{0x45, 0} + number16(20 + payload.size()) + zeros(2) + number16(offset) +
	       Bytes{64, protocol} + zeros(10) + payload;
}

Bytes ipv6(std::uint8_t protocol, const Bytes &payload)
{
	return Bytes{0x60, 0, 0, 0} + number16(payload.size()) + Bytes{protocol, 64} + zeros(32) +
	       payload;
}

Bytes udp(std::size_t port, const Bytes &payload)
{
	return zeros(2) + number16(port) + number16(8 + payload.size()) + zeros(2) + payload;
}

Bytes tcp(const Bytes &payload, std::uint8_t option_words = 0)
{
	return zeros(12) + Bytes{static_cast<std::uint8_t>((5 + option_words) << 4), 0x18} +
	       zeros(6 + std::size_t{4} * option_words) + payload;
}

Bytes roce(std::uint8_t opcode, const Bytes &rest)
{
	return Bytes{opcode} + zeros(11) + rest + Bytes{1, 2, 3, 4};
}

Bytes clc(std::size_t length)
{
	return Bytes{0xe2, 0xd4, 0xc3, 0xd9, 1} + number16(length) + zeros(length - 7);
}

Bytes message(std::uint8_t type, std::uint8_t second, std::uint8_t third, std::uint8_t flags)
{
	return Bytes{type, second, third, flags} + zeros(40);
}

SmcPacket of_udp(const Bytes &roce_packet)
{
	return look_at(ethernet(0x0800, ipv4(17, udp(4791, roce_packet))), LinkType::kEthernet);
}

constexpr std::size_t kToBth = 14 + 20 + 8;
constexpr std::size_t kToTcp = 14 + 20;

TEST(SmcPacket, MessagesOfTheHandshakeAreKept)
{
	const auto kept = [](const Bytes &segment) {
		const SmcPacket found =
			look_at(ethernet(0x0800, ipv4(6, segment)), LinkType::kEthernet);

		EXPECT_EQ(found.kind, Kind::kClc);
		return found.without_payload_bytes - kToTcp;
	};

	EXPECT_EQ(kept(tcp(clc(100))), 120U);
	EXPECT_EQ(kept(tcp(clc(100), 3)), 132U);
	// What comes behind it is the application's.
	EXPECT_EQ(kept(tcp(clc(28) + zeros(70))), 48U);
	EXPECT_EQ(kept(tcp(clc(28) + clc(30) + zeros(9))), 78U);
	// Of a message in two segments.
	EXPECT_EQ(kept(tcp(Bytes{0xe2, 0xd4, 0xc3, 0xc4, 1})), 25U);
	EXPECT_EQ(kept(tcp(zeros(30) + Bytes{0xe2, 0xd4, 0xc3, 0xd9})), 54U);
}

TEST(SmcPacket, OtherSegmentsLoseTheirPayload)
{
	for (const Bytes &payload : {zeros(0), zeros(3), zeros(kPayload), zeros(1) + clc(30)}) {
		const SmcPacket found =
			look_at(ethernet(0x86dd, ipv6(6, tcp(payload, 2))), LinkType::kEthernet);

		EXPECT_EQ(found.kind, Kind::kTcp);
		EXPECT_EQ(found.without_payload_bytes, 14U + 40 + 28);
	}
}

TEST(SmcPacket, MessagesOfLinksAndConnectionsAreKept)
{
	const SmcPacket cdc = of_udp(roce(4, message(0xfe, 44, 0, 0)));

	EXPECT_EQ(cdc.kind, Kind::kCdc);
	EXPECT_EQ(cdc.without_payload_bytes, kToBth + 12 + 44 + 4);
	EXPECT_EQ(name_of_message(cdc), "");
	EXPECT_EQ(name_of_message(of_udp(roce(4, message(1, 44, 0, 0)))), "LLC CONFIRM LINK");
	EXPECT_EQ(name_of_message(of_udp(roce(4, message(9, 44, 0, 0x80)))),
		  "LLC DELETE RKEY, response");
	EXPECT_EQ(name_of_message(of_udp(roce(4, message(0x25, 0, 44, 0)))),
		  "LLCv2 REQUEST ADD LINK");
	EXPECT_EQ(name_of_message(of_udp(roce(4, message(0x22, 44, 0, 0x80)))),
		  "LLCv2 ADD LINK, response");
}

TEST(SmcPacket, SendsOfOthersAreNot)
{
	for (const Bytes &payload :
	     {zeros(44), message(1, 45, 0, 0), message(10, 44, 0, 0), message(0xfe, 43, 0, 0),
	      message(0x22, 0xff, 0xff, 0), Bytes{0xfe, 44, 0}}) {
		const SmcPacket found = of_udp(roce(4, payload));

		EXPECT_EQ(found.kind, Kind::kRoce);
		EXPECT_EQ(found.without_payload_bytes, kToBth + 12);
	}
}

TEST(SmcPacket, WritesKeepTheirHeaders)
{
	struct Case {
		std::uint8_t opcode;
		std::size_t header_bytes;
	};

	for (const auto &[opcode, header_bytes] :
	     {Case{6, 16}, Case{7, 0}, Case{8, 0}, Case{9, 4}, Case{10, 16}, Case{11, 20}}) {
		const SmcPacket found = of_udp(roce(opcode, zeros(kPayload)));

		EXPECT_EQ(found.kind, Kind::kRoce);
		EXPECT_EQ(found.without_payload_bytes, kToBth + 12 + header_bytes);
	}
	// An acknowledgement has no payload: nothing is left out.
	EXPECT_EQ(of_udp(roce(0x11, zeros(4))).without_payload_bytes, kToBth + 12 + 4 + 4);
}

TEST(SmcPacket, EachWayToRoce)
{
	const Bytes cdc = roce(4, message(0xfe, 44, 0, 0));
	const Bytes v4 = ipv4(17, udp(4791, cdc));
	const Bytes v6 = ipv6(17, udp(4791, cdc));
	const Bytes tag = number16(7);

	for (const Bytes &frame :
	     {ethernet(0x0800, v4), ethernet(0x86dd, v6), ethernet(0x8915, ipv6(27, cdc)),
	      ethernet(0x8100, tag + number16(0x0800) + v4),
	      ethernet(0x88a8, tag + number16(0x8100) + tag + number16(0x86dd) + v6),
	      ethernet(0x8100, tag + number16(0x8915) + ipv6(27, cdc))})
		EXPECT_EQ(look_at(frame, LinkType::kEthernet).kind, Kind::kCdc);
	EXPECT_EQ(look_at(v4, LinkType::kIp).kind, Kind::kCdc);
	EXPECT_EQ(look_at(v6, LinkType::kIp).kind, Kind::kCdc);
	EXPECT_EQ(look_at(zeros(14) + number16(0x0800) + v4, LinkType::kCooked).kind, Kind::kCdc);
	// What an adapter adds to short frames.
	EXPECT_EQ(look_at(ethernet(0x0800, ipv4(6, tcp({})) + clc(9)), LinkType::kEthernet).kind,
		  Kind::kTcp);
}

TEST(SmcPacket, WhatIsNotUnderstoodKeepsNoPayload)
{
	for (const Bytes &packet : {ipv4(17, udp(53, zeros(kPayload))), ipv4(1, zeros(kPayload)),
				    ipv4(6, tcp(clc(kPayload)), 8)}) {
		const SmcPacket found = look_at(ethernet(0x0800, packet), LinkType::kEthernet);

		EXPECT_EQ(found.kind, Kind::kOther);
		EXPECT_LE(found.without_payload_bytes, 14U + 20 + 8);
	}
	EXPECT_EQ(look_at(ethernet(0x0806, zeros(kPayload)), LinkType::kEthernet)
			  .without_payload_bytes,
		  14U);
}

// Each in memory of its own, so that a byte too far is noticed.
void look_at_all_beginnings(const Bytes &packet)
{
	for (std::size_t length = 0; length <= packet.size(); length++) {
		const Bytes part(packet.begin(),
				 packet.begin() + static_cast<std::ptrdiff_t>(length));

		for (const LinkType type :
		     {LinkType::kEthernet, LinkType::kIp, LinkType::kCooked}) {
			const SmcPacket found = look_at(part, type);

			EXPECT_LE(found.without_payload_bytes, length);
			(void)name_of_message(found);
		}
	}
}

TEST(SmcPacket, CutOffAnywhere)
{
	for (const Bytes &inside :
	     {tcp(clc(50)), tcp(zeros(9) + clc(30)), udp(4791, roce(4, clc(50))),
	      udp(4791, roce(4, message(0x22, 44, 0, 0))), udp(4791, roce(11, zeros(90)))}) {
		look_at_all_beginnings(ethernet(0x0800, ipv4(6, inside)));
		look_at_all_beginnings(ethernet(0x0800, ipv4(17, inside)));
		look_at_all_beginnings(
			ethernet(0x8100, number16(1) + number16(0x86dd) + ipv6(17, inside)));
		look_at_all_beginnings(ipv4(17, inside));
		look_at_all_beginnings(ipv6(6, inside));
	}
	look_at_all_beginnings(ethernet(0x8915, ipv6(27, roce(4, message(1, 44, 0, 0)))));
}

TEST(SmcPacket, WithBitsThatHaveTurned)
{
	std::mt19937 random(4711);
	const std::vector<Bytes> from{
		ethernet(0x0800, ipv4(6, tcp(clc(50)))),
		ethernet(0x0800, ipv4(17, udp(4791, roce(4, message(0x22, 44, 0, 0))))),
		ethernet(0x86dd, ipv6(17, udp(4791, roce(11, zeros(90)))))};

	for (int round = 0; round < 20000; round++) {
		Bytes packet = from[random() % from.size()];

		for (unsigned i = 0; i < 1 + random() % 4; i++)
			packet[random() % packet.size()] = static_cast<std::uint8_t>(random());
		for (const LinkType type :
		     {LinkType::kEthernet, LinkType::kIp, LinkType::kCooked}) {
			const SmcPacket found = look_at(packet, type);

			EXPECT_LE(found.without_payload_bytes, packet.size());
			(void)name_of_message(found);
		}
	}
}

} // namespace
