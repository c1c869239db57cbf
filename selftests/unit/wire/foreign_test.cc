// SPDX-License-Identifier: GPL-2.0-only
#include "wire/foreign.hpp"

#include <gtest/gtest.h>

#include "core/wire/clc.hpp"
#include "wire/hex.hpp"

// Fields are compared with those that the other reader finds in the same bytes (foreign.hpp), and
// our messages with its bytes.
namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::first;
using testing::hex;
using testing::id_from_hex;
using testing::to_hex;
using testing::with;
using testing::with_be16;

constexpr Ipv6Prefix kIpv6Loopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128};

TEST(Foreign, ProposalOfSmcrOverIpv4)
{
	const Proposal proposal{.version = 1,
				.mode_v1 = ClcMode::kR,
				.peer_id = id_from_hex<PeerId>("b1a098039babcdef"),
				.gid = id_from_hex<Gid>("fe800000000000009a039bfffeabcdef"),
				.mac = id_from_hex<Mac>("98039babcdef"),
				.prefixes = {.ipv4 = {{127, 0, 0, 0}, 8}, .ipv6 = {}}};
	EXPECT_EQ(*decode_proposal(hex(foreign::kProposalIpv4)), proposal);
}

TEST(Foreign, ProposalOfSmcrOverIpv6)
{
	const auto proposal = decode_proposal(hex(foreign::kProposalIpv6));
	ASSERT_TRUE(proposal);
	EXPECT_EQ(proposal->version, 1);
	EXPECT_EQ(proposal->mode_v1, ClcMode::kR);
	EXPECT_EQ(proposal->peer_id, id_from_hex<PeerId>("394498039babcdef"));
	EXPECT_EQ(proposal->prefixes.ipv4, Ipv4Prefix{});
	ASSERT_EQ(proposal->prefixes.ipv6.size(), 1U);
	EXPECT_EQ(proposal->prefixes.ipv6.front(), kIpv6Loopback);
}

TEST(Foreign, ProposalsOfSmcd)
{
	const auto only = decode_proposal(hex(foreign::kProposalSmcd));
	ASSERT_TRUE(only);
	EXPECT_EQ(only->mode_v1, ClcMode::kD);
	EXPECT_TRUE(only->gid.is_zero());
	EXPECT_TRUE(only->mac.is_zero());
	EXPECT_EQ(only->smcd_v1.device.gid, IsmGid{81985529216486895U});
	EXPECT_EQ(only->prefixes.ipv4, (Ipv4Prefix{{127, 0, 0, 0}, 8}));

	for (const auto bytes : {foreign::kProposalBothIpv4, foreign::kProposalBothIpv6}) {
		const auto both = decode_proposal(hex(bytes));
		ASSERT_TRUE(both);
		EXPECT_EQ(both->version, 1);
		EXPECT_EQ(both->mode_v1, ClcMode::kBoth);
		EXPECT_EQ(both->mac, id_from_hex<Mac>("98039babcdef"));
		EXPECT_EQ(both->smcd_v1.device.gid, IsmGid{81985529216486895U});
	}
	EXPECT_EQ(decode_proposal(hex(foreign::kProposalBothIpv6))->prefixes.ipv6.front(),
		  kIpv6Loopback);
}

TEST(Foreign, ProposalOfVersion2WithNothingInIt)
{
	const auto proposal = decode_proposal(hex(foreign::kProposalNoV2Ipv4));
	ASSERT_TRUE(proposal);
	EXPECT_EQ(proposal->version, 2);
	EXPECT_EQ(proposal->mode_v1, ClcMode::kBoth);
	EXPECT_EQ(proposal->mode_v2, ClcMode::kNone);
	EXPECT_EQ(proposal->smcd_v1.device.gid, IsmGid{81985529216486895U});
	EXPECT_EQ(proposal->smcd_v1.device.chid, Chid{4660});
	EXPECT_EQ(proposal->prefixes.ipv4, (Ipv4Prefix{{127, 0, 0, 0}, 8}));
}

TEST(Foreign, ProposalsOfLinux510)
{
	const Proposal ipv4{.version = 2,
			    .mode_v1 = ClcMode::kR,
			    .mode_v2 = ClcMode::kNone,
			    .peer_id = id_from_hex<PeerId>("1f2e525400000002"),
			    .gid = id_from_hex<Gid>("fe80000000000000505400fffe000002"),
			    .mac = id_from_hex<Mac>("525400000002"),
			    .prefixes = {.ipv4 = {{10, 9, 0, 0}, 24}, .ipv6 = {}}};
	EXPECT_EQ(*decode_proposal(hex(foreign::kProposal510)), ipv4);
	EXPECT_EQ(to_hex(encoded(ipv4)), foreign::kProposal510);

	Proposal ipv6 = ipv4;
	ipv6.prefixes.ipv4 = {};
	ASSERT_TRUE(ipv6.prefixes.ipv6.push_back({{0xfd, 0x09}, 64}));
	EXPECT_EQ(*decode_proposal(hex(foreign::kProposal510Ipv6)), ipv6);
	EXPECT_EQ(to_hex(encoded(ipv6)), foreign::kProposal510Ipv6);
}

TEST(Foreign, AcceptOfSmcr)
{
	Accept accept;
	accept.version = 1;
	accept.first_contact = true;
	accept.endpoint = SmcrEndpoint{.peer_id = id_from_hex<PeerId>("b1a098039babcdef"),
				       .gid = id_from_hex<Gid>("fe800000000000009a039bfffeabcdef"),
				       .mac = id_from_hex<Mac>("98039babcdef"),
				       .qpn = Qpn{228},
				       .rmb_rkey = Rkey{5501},
				       .rmbe_index = 1,
				       .token = Token{5},
				       .rmbe_size = BufferSize{2},
				       .mtu = QpMtu{3},
				       .rmb_address = 0xf0a60000,
				       .psn = Psn{7534078}};
	EXPECT_EQ(*decode_accept(hex(foreign::kAcceptFirst)), accept);
	EXPECT_EQ(to_hex(encoded(accept)), foreign::kAcceptFirst);
	EXPECT_EQ(accept.smcr()->rmbe_size.bytes(), 65536U);
	EXPECT_EQ(accept.smcr()->mtu.bytes(), 1024U);
}

TEST(Foreign, ConfirmOfSmcr)
{
	Confirm confirm;
	confirm.version = 1;
	confirm.first_contact = false;
	confirm.endpoint = SmcrEndpoint{.peer_id = id_from_hex<PeerId>("b1a098039babcdef"),
					.gid = id_from_hex<Gid>("fe800000000000009a039bfffeabcdef"),
					.mac = id_from_hex<Mac>("98039babcdef"),
					.qpn = Qpn{229},
					.rmb_rkey = Rkey{6271},
					.rmbe_index = 1,
					.token = Token{6},
					.rmbe_size = BufferSize{2},
					.mtu = QpMtu{3},
					.rmb_address = 0xf0a40000,
					.psn = Psn{887204}};
	EXPECT_EQ(*decode_confirm(hex(foreign::kConfirmFirst)), confirm);
	EXPECT_EQ(to_hex(encoded(confirm)), foreign::kConfirmFirst);
}

TEST(Foreign, AcceptAndConfirmOfSmcd)
{
	const SmcdEndpoint endpoint{.gid = IsmGid{81985529216486895U},
				    .dmb_token = DmbToken{81985529216486895U},
				    .dmbe_index = 255,
				    .dmbe_size = BufferSize{1},
				    .link_id = 4294967295U,
				    .chid = {},
				    .gid_extension = {}};
	const auto accept = decode_accept(hex(foreign::kAcceptSmcd));
	const auto confirm = decode_confirm(hex(foreign::kConfirmSmcd));
	ASSERT_TRUE(accept && accept->smcd() != nullptr);
	ASSERT_TRUE(confirm && confirm->smcd() != nullptr);
	EXPECT_EQ(*accept->smcd(), endpoint);
	EXPECT_EQ(*confirm->smcd(), endpoint);
	EXPECT_FALSE(accept->first_contact);
	EXPECT_EQ(to_hex(encoded(*accept)), foreign::kAcceptSmcd);
	EXPECT_EQ(to_hex(encoded(*confirm)), foreign::kConfirmSmcd);
}

TEST(Foreign, AcceptAndConfirmOfLinux510)
{
	Accept accept;
	accept.version = 1;
	accept.first_contact = true;
	accept.endpoint = SmcrEndpoint{.peer_id = id_from_hex<PeerId>("3d4c525400000001"),
				       .gid = id_from_hex<Gid>("fe80000000000000505400fffe000001"),
				       .mac = id_from_hex<Mac>("525400000001"),
				       .qpn = Qpn{0x123},
				       .rmb_rkey = Rkey{0x1a2b},
				       .rmbe_index = 1,
				       .token = Token{7},
				       .rmbe_size = BufferSize{2},
				       .mtu = QpMtu{3},
				       .rmb_address = 0x112340000,
				       .psn = Psn{0xabcdef}};
	EXPECT_EQ(*decode_accept(hex(foreign::kAccept510First)), accept);
	EXPECT_EQ(to_hex(encoded(accept)), foreign::kAccept510First);
	accept.first_contact = false;
	EXPECT_EQ(to_hex(encoded(accept)), foreign::kAccept510Later);

	Confirm confirm;
	confirm.version = 1;
	confirm.first_contact = true;
	confirm.endpoint = SmcrEndpoint{.peer_id = id_from_hex<PeerId>("1f2e525400000002"),
					.gid = id_from_hex<Gid>("fe80000000000000505400fffe000002"),
					.mac = id_from_hex<Mac>("525400000002"),
					.qpn = Qpn{0x345},
					.rmb_rkey = Rkey{0x3c4d},
					.rmbe_index = 1,
					.token = Token{9},
					.rmbe_size = BufferSize{2},
					.mtu = QpMtu{3},
					.rmb_address = 0x256780000,
					.psn = Psn{0x123456}};
	EXPECT_EQ(*decode_confirm(hex(foreign::kConfirm510First)), confirm);
	EXPECT_EQ(to_hex(encoded(confirm)), foreign::kConfirm510First);
	confirm.first_contact = false;
	EXPECT_EQ(to_hex(encoded(confirm)), foreign::kConfirm510Later);
}

TEST(Foreign, DeclinesOfVersion1)
{
	const Decline decline{.version = 1,
			      .peer_id = id_from_hex<PeerId>("2525252525252500"),
			      .reason = DeclineReason::kNoSmcDev,
			      .os = ClcOs::kUnknown};
	EXPECT_EQ(*decode_decline(hex(foreign::kDecline)), decline);
	EXPECT_EQ(to_hex(encoded(decline)), foreign::kDecline);

	const Decline linux510{.version = 1,
			       .peer_id = id_from_hex<PeerId>("1f2e525400000002"),
			       .reason = DeclineReason::kNoSmcDev,
			       .os = ClcOs::kUnknown};
	EXPECT_EQ(*decode_decline(hex(foreign::kDecline510)), linux510);
	EXPECT_EQ(to_hex(encoded(linux510)), foreign::kDecline510);
	Decline lost = linux510;
	lost.out_of_sync = true;
	lost.reason = DeclineReason::kSyncErr;
	EXPECT_EQ(*decode_decline(hex(foreign::kDecline510OutOfSync)), lost);
	EXPECT_EQ(to_hex(encoded(lost)), foreign::kDecline510OutOfSync);
}

// The operating system is a field of version 2. In version 1 its bytes are reserved: we ignore
// them, and send zeros.
TEST(Foreign, DeclineOfVersion1NamesNoSystem)
{
	EXPECT_EQ(decode_decline(with(hex(foreign::kDecline), 20, 0x20))->os, ClcOs::kUnknown);
	EXPECT_EQ(to_hex(encoded(Decline{.version = 1,
					 .peer_id = id_from_hex<PeerId>("2525252525252500"),
					 .reason = DeclineReason::kNoSmcDev,
					 .os = ClcOs::kLinux})),
		  foreign::kDecline);
}

TEST(Foreign, ShortDeclinesOfVersion2)
{
	const Decline decline{.version = 2,
			      .peer_id = id_from_hex<PeerId>("2525252525252500"),
			      .reason = DeclineReason::kNoSmcDev,
			      .os = ClcOs::kLinux};
	const Decline linux510{.version = 2,
			       .peer_id = id_from_hex<PeerId>("1f2e525400000002"),
			       .reason = DeclineReason::kTimeoutCl,
			       .os = ClcOs::kLinux};
	const auto read = decode_decline(hex(foreign::kDeclineShortV2));
	const auto read510 = decode_decline(hex(foreign::kDecline510V2));
	ASSERT_TRUE(read && read510);
	EXPECT_EQ(*read, decline);
	EXPECT_EQ(*read510, linux510);
}

TEST(Foreign, DeclinesThatAreCutAreNone)
{
	for (const auto text : foreign::kDeclines) {
		const Bytes whole = hex(text);
		for (std::size_t size = 0; size < whole.size(); size++)
			EXPECT_FALSE(decode_decline(first(whole, size)));
	}
}

// --- Which Decline a peer can read --------------------------------------------------------------

TEST(DeclineVersion, IsOneForThoseThatDoNotOfferSmcrV2)
{
	for (const auto text : foreign::kProposals)
		EXPECT_EQ(decline_version(hex(text)), 1) << text;
	for (const unsigned typev2 : {0U, 1U, 2U, 3U}) {
		const Bytes proposal = with(hex(foreign::kProposal510), 7,
					    static_cast<std::uint8_t>(0x20 | typev2 << 2));
		EXPECT_EQ(decline_version(proposal), typev2 == 0 || typev2 == 3 ? 2 : 1) << typev2;
	}
}

TEST(DeclineVersion, IsThatOfAnAcceptOrConfirm)
{
	for (const auto text : foreign::kAccepts)
		EXPECT_EQ(decline_version(hex(text)), 1);
	for (const auto text : foreign::kConfirms)
		EXPECT_EQ(decline_version(hex(text)), 1);
	for (const unsigned flags : {0x20U, 0x21U, 0x28U, 0x29U, 0x38U})
		EXPECT_EQ(decline_version(with(hex(foreign::kAcceptFirst), 7,
					       static_cast<std::uint8_t>(flags))),
			  2);
}

TEST(DeclineVersion, IsOneForWhatIsNoMessage)
{
	EXPECT_EQ(decline_version({}), 1);
	EXPECT_EQ(decline_version(first(hex(foreign::kProposal510), 7)), 1);
}

} // namespace
} // namespace smc::wire
